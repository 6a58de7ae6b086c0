/** Arguments and flags of a command, derived from the schema of its operation's input. */
import { z } from 'zod';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import type { FieldForm } from './verb.ts';
import { verbOf } from './verb-table.ts';

/** Names on the command line, where the name of the field without `_id` does not read well. */
const NAMES: Readonly<Record<string, string>> = {
  approvals_required: 'approvals',
  as_of: 'at',
  channels: 'channel',
  content_sha256: 'sha256',
  environment: 'test',
  expires_in_days: 'days',
  last: 'limit',
  outbound_id: 'request',
  up_to: 'at',
};

const SHORT_FLAGS: Readonly<Record<string, string>> = {
  limit: '-n, ',
  owner: '-o, ',
  reason: '-r, ',
};

/** Choices that are longer in the usage are in the description only. */
const CHOICES_CHARS_MAX = 24;

export type CommandField = {
  name: string;
  /** Name on the command line: `<agent>` for an argument, otherwise `--agent`. */
  word: string;
  isArgument: boolean;
  isRequired: boolean;
  /** Schema of the value, without its optional and default wrappers. */
  schema: z.ZodType;
  /** The flag with its short form and its value. */
  flags: string;
  description: string;
  /** Value that the flag sends, if it is a switch. */
  value: unknown;
  form: FieldForm;
};

/** Whether a value can be written as JSON only. */
export const isJson = (schema: z.ZodType): boolean =>
  (schema instanceof z.ZodArray ? schema.element : schema) instanceof z.ZodObject;

const choicesOf = (schema: z.ZodType): string[] => {
  const item = schema instanceof z.ZodArray ? schema.element : schema;
  return item instanceof z.ZodEnum ? item.options.map(String) : [];
};

const placeholderOf = (name: string, schema: z.ZodType): string => {
  const choices = choicesOf(schema);
  if (isJson(schema)) return 'json';
  if (schema instanceof z.ZodNumber) return 'n';
  if (schema instanceof z.ZodArray) return 'list';
  const inUsage = choices.join('|');
  if (inUsage !== '') return inUsage.length <= CHOICES_CHARS_MAX ? inUsage : 'word';
  return name.endsWith('_id') ? 'id' : 'text';
};

/** The schema without its optional and default wrappers, its default and its description. */
const unwrap = (wrapped: z.ZodType) => {
  let schema = wrapped;
  let { description } = schema;
  let fallback: unknown;
  while (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    if (schema instanceof z.ZodDefault) fallback = schema.def.defaultValue;
    schema = schema.unwrap() as z.ZodType;
    description ??= schema.description;
  }
  return { schema, description, fallback };
};

const fieldOf = (name: string, wrapped: z.ZodType, { id, http }: DeskOperation): CommandField => {
  const { args, fields } = verbOf(id);
  const form = (fields as Readonly<Record<string, FieldForm>> | undefined)?.[name] ?? {};
  const { schema, ...derived } = unwrap(wrapped);
  const isArgument =
    args?.includes(name) ?? (name !== 'owner_id' && http.path.includes(`{${name}}`));
  const plain = name.replace(/_id$/, '');
  const word = NAMES[name] ?? plain.replaceAll('_', '-');
  const { placeholder = placeholderOf(name, schema), fallback = derived.fallback } = form;
  const value = form.value ?? (schema instanceof z.ZodBoolean ? true : undefined);
  const sentence = plain.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const about = form.about ?? derived.description ?? (isArgument ? '' : sentence);
  const choices = placeholder === 'list' || placeholder === 'word' ? choicesOf(schema) : [];
  return {
    name,
    schema,
    value,
    form,
    isArgument,
    word: isArgument ? `<${word}>` : `--${word}`,
    isRequired: schema === wrapped && !form.isOptional && form.fallback === undefined,
    flags: `${SHORT_FLAGS[word] ?? ''}--${word}${value === undefined ? ` <${placeholder}>` : ''}`,
    description:
      about +
      (choices.length > 0 ? `: ${choices.join(', ')}` : '') +
      (fallback !== undefined && value === undefined
        ? ` (default: ${JSON.stringify(fallback)})`
        : ''),
  };
};

/** Lists the fields of an operation's input in the order of its schema, without the idempotency key. */
export const commandFieldsOf = (operation: DeskOperation): CommandField[] => {
  const { readsAllPages } = verbOf(operation.id);
  const omitted = ['idempotency_key', ...(readsAllPages ? ['limit', 'before'] : [])];
  return Object.entries(operation.input.shape as Record<string, z.ZodType>)
    .filter(([name]) => !omitted.includes(name))
    .map(([name, schema]) => fieldOf(name, schema, operation));
};

/**
 * Names the field that a JSON Pointer into an input names, as it is on the command line: `<agent>`,
 * `--scopes, no. 2`. Returns the pointer where no flag carries the field.
 */
export const formatPointer = (pointer: string, id?: DeskOperationId): string => {
  const [, name = '', ...inside] = pointer.split('/');
  if (name === 'idempotency_key') return '--idempotency-key';
  const field = id && commandFieldsOf(deskOperations[id]).find((one) => one.name === name);
  if (!field || (!field.form.parse && isJson(field.schema))) return pointer || '/';
  const places = inside.map((part) => (/^\d+$/.test(part) ? `no. ${Number(part) + 1}` : part));
  return [field.word, ...places].join(', ');
};
