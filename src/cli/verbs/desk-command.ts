/** A command of the desk, built from its operation's definition and its row in the table of verbs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { DESK_BASE } from '#contracts/places.ts';
import { everyPage } from '#src/reading/listing.ts';
import { withDesk } from '../desk/desk-client.ts';
import type { Desk } from '#src/cli/desk/desk-transport.ts';
import { addCommonOptions, keyOption, parseList, wholeNumber } from '../options.ts';
import { wrap } from '../terminal/help.ts';
import { print, printNotice, printResult } from '../terminal/output.ts';
import { formatAnswer } from '../texts/answer-text.ts';
import { type CommandField, commandFieldsOf, isJson } from './fields.ts';
import type { VerbOptions } from './verb.ts';
import { verbOf } from './verb-table.ts';
import { localizer, type Registry } from './words.ts';

type Parser = (text: string, previous?: unknown) => unknown;

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON.');
  }
};

/** Chooses how the text of a field is read; the operation checks what else its schema requires. */
const parserOf = ({ schema, form }: CommandField): Parser => {
  if (form.parse) return form.parse;
  if (schema instanceof z.ZodNumber)
    return wholeNumber(schema.minValue ?? 0, schema.maxValue ?? Number.MAX_SAFE_INTEGER);
  if (isJson(schema)) return parseJson;
  return schema instanceof z.ZodArray ? parseList : (text) => text;
};

/** Adds a field to the command; the result reads its value after the command line is parsed. */
const addField = (command: Command, field: CommandField, description: string): (() => unknown) => {
  const { word, flags, isArgument, isRequired, value, form } = field;
  if (isArgument) {
    const index = command.registeredArguments.length;
    command.argument<unknown>(word, description, parserOf(field));
    return () => command.processedArgs[index];
  }
  const option = new Option(flags, description).makeOptionMandatory(isRequired);
  if (value === undefined) option.argParser<unknown>(parserOf(field));
  command.addOption(option);
  return () => {
    const given: unknown = command.getOptionValue(option.attributeName());
    return given === undefined ? form.fallback : (value ?? given);
  };
};

type Page = { data: unknown[]; next_before: number | null };

/** Prints each row of a page on a line, and the rest of the answer on the last one. */
const printRows = ({ data, ...rest }: Page): void => {
  for (const row of data) print(JSON.stringify(row));
  print(JSON.stringify(rest));
};

/** Calls an operation whose input is known at run time only. */
const callDesk = async (desk: Desk, { id }: DeskOperation, request: object): Promise<object> => {
  const call = (input: object) => desk.call(id as DeskOperationId, input);
  if (!verbOf(id).readsAllPages) return call(request);
  return everyPage(
    async (before) => (await call({ ...request, limit: LIMITS.PAGE_ROWS_MAX, before })) as Page,
  );
};

/** Adds to a command the arguments, flags, help and action of its operation. */
export const defineDeskCommand = (
  command: Command,
  operation: DeskOperation,
  registry: Registry,
): void => {
  const { id, kind, http, roles, summary, guidance } = operation;
  const { flags = {}, help, complete, notice, text, columns, hasJsonRows, ...verb } = verbOf(id);
  const { awaitAnswer, follow } = verb;
  const fields = commandFieldsOf(operation);
  const localize = localizer(fields, registry);
  const readers = fields.map(
    (field) => [field.name, addField(command, field, localize(field.description))] as const,
  );
  for (const [flag, description] of Object.entries(flags)) command.option(flag, description);
  if (kind === 'command') command.addOption(keyOption());
  addCommonOptions(command)
    .description(localize(summary))
    .addHelpText(
      'after',
      `\n${wrap(localize(help ?? guidance))}\n\nDesk operation: ${id}, ${http.method} ${DESK_BASE}${http.path}\n` +
        `Roles:          ${roles.join(', ')}`,
    )
    .action(async () => {
      const options = command.opts<VerbOptions>();
      const input = Object.fromEntries(readers.map(([name, read]) => [name, read()]));
      await withDesk(options, async (desk) => {
        const request = (await complete?.(desk, input, options)) ?? input;
        const asked = callDesk(desk, operation, request);
        const answer = await (awaitAnswer?.(desk, request, asked) ?? asked);
        if (notice && !options.json) printNotice(notice(answer));
        if (hasJsonRows && options.json) printRows(answer as Page);
        else printResult(options, answer, text?.(answer) ?? formatAnswer(answer, columns));
        if (options.follow) await follow?.(desk, request, { answer, options });
      });
    });
};
