/**
 * The commands of `tributary`: those derived from operations of the desk, and its own. `runCommand` runs one, and makes of its
 * error what the user reads and the exit status.
 */
import { Command, Option, InvalidArgumentError, CommanderError } from 'commander';
import { z } from 'zod';
import { EVENTS_PAGE_MAX, LIMITS } from '#contracts/limits.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { DESK_BASE } from '#contracts/places.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { PROCESS_ROLES, ConfigError } from '#src/config.ts';
import { everyPage } from '#src/reading/lists.ts';
import { withDesk } from './desk.ts';
import { confirmEffect, mayAsk } from './effects.ts';
import {
  addCommonOptions,
  addMachineOptions,
  contextOption,
  interval,
  jsonOption,
  keyOption,
  parseList,
  urlOption,
  wholeNumber,
} from './options.ts';
import {
  wrap,
  print,
  printNotice,
  printResult,
  addHelpCommand,
  HELP,
  VERSION,
  EXIT_HELP,
  CommandError,
  EXIT,
  style,
} from './terminal.ts';
import { nameRecords } from './named-records.ts';
import { hasWebPage, openPage, pageAddress } from './web-pages.ts';
import { formatAnswer } from './texts.ts';
import type { Desk } from './transport.ts';
import {
  type CommandField,
  commandFieldsOf,
  isJson,
  type VerbOptions,
  verbOf,
  localizer,
  type Registry,
  TOPICS,
  topicOf,
  commandWordsOf,
} from './verbs.ts';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';

type OwnCommand = {
  /** Words and arguments of the command. */
  usage: string;
  about: string;
  /** The operation of the desk that the command calls several times, in place of a derived command. */
  calls?: DeskOperationId;
  flags?: readonly Option[];
  /** The command does not use a data directory. */
  hasNoData?: boolean;
  help?: string;
  /** Imports the code of the command when it runs, because other commands need little of it. */
  load(): Promise<(...input: never[]) => void | Promise<void>>;
};

const TAIL_EVENTS = 20;
const POSITION_MAX = 2 ** 52;

const numberFlag = (flags: string, about: string, parse: (text: string) => number): Option =>
  new Option(flags, about).argParser(parse);

const SERVE_FLAGS = [
  numberFlag(
    '--port <n>',
    'Port; 0 selects a free one (default: PORT, otherwise 3000)',
    wholeNumber(0, 65_535),
  ),
  new Option('--host <host>', 'Address (default: HOST, otherwise 127.0.0.1)'),
  new Option('--demo', 'Add demo data and a demo key, and print examples; loopback only'),
  new Option('--role <role>', 'What this process does, of several on one log')
    .choices(PROCESS_ROLES)
    .default('all'),
];

/**
 * The commands that are not one operation of the desk: `serve` and those that read files, processes or the log itself,
 * and those that call operations of the desk several times.
 */
export const OWN_COMMANDS: readonly OwnCommand[] = [
  {
    usage: 'serve',
    about: 'Start the service',
    flags: SERVE_FLAGS,
    help:
      'Roles: api serves and reads; projector folds its partitions of the read models in Redis; dispatcher ' +
      'sends approved outreach and mail; all does everything. projector and dispatcher need a log on a server ' +
      '(EVENT_LOG_URL=esdb://HOST). Each process has a data directory of its own.\n\n' +
      'With --json the first line on stdout, printed when the service is ready, is one object: url, port, ' +
      'owner, agent, api_key (of the demo, otherwise null), desk_token (at the start that issues it, otherwise ' +
      'null; desk.token in the data directory has it), data, review_url (demo).\n\n' +
      'On SIGTERM and SIGINT the service finishes pending requests and stops within 10 s. A second SIGINT or ' +
      'a third SIGTERM ends it at once.',
    load: async () => (await import('#src/cli/commands/serve.ts')).serve,
  },
  {
    usage: 'login <url>',
    about: 'Sign in as yourself at a service, on any machine',
    flags: [new Option('--context <name>', 'Name of the login (default: the host of the URL)')],
    hasNoData: true,
    help:
      'Shows a code, which you type on the page /device of the service, where you are signed in. Commands then act as you, ' +
      'with your roles, for 30 days or until logout. A command acts on what --data, --url or --context names; otherwise on ' +
      'DATA_DIR, or ./data if a service is there; otherwise with the current context. A token goes to https and to this ' +
      'machine only.',
    load: async () => (await import('#src/cli/commands/login.ts')).logIn,
  },
  {
    usage: 'logout',
    about: 'End a login at its service, and forget it here',
    flags: [contextOption(), urlOption()],
    hasNoData: true,
    help: 'Without flags it ends the current one.',
    load: async () => (await import('#src/cli/commands/login.ts')).logOut,
  },
  {
    usage: 'context list',
    about: 'List your logins on this machine; * marks the current one',
    hasNoData: true,
    load: async () => (await import('#src/cli/commands/login.ts')).listContexts,
  },
  {
    usage: 'context use <name>',
    about: 'Make a login the current one',
    hasNoData: true,
    load: async () => (await import('#src/cli/commands/login.ts')).useContext,
  },
  {
    usage: 'context remove <name>',
    about: 'Forget a login here; its token still works until logout or its end',
    hasNoData: true,
    load: async () => (await import('#src/cli/commands/login.ts')).removeContext,
  },
  {
    usage: 'status',
    about: 'Show the addresses and keys of the running service, or check what it needs',
    flags: [
      new Option('--check', 'Check versions, settings, disk, permissions, lock and log instead'),
    ],
    help: 'With --check no service has to run. Exit status 4: a check found a fault.',
    load: async () => (await import('#src/cli/commands/status.ts')).showStatus,
  },
  {
    usage: 'demo-reset',
    about: 'Remove the data directory of a demo that no server runs on',
    load: async () => (await import('#src/cli/commands/demo-reset.ts')).resetDemo,
  },
  {
    usage: 'catalog import <file>',
    about: 'Publish the products of a CSV, TSV or NDJSON feed',
    calls: 'importProducts',
    flags: [
      new Option('--dry-run', 'Write nothing; show what would change'),
      new Option('--strict', 'Import nothing if any line is bad'),
      new Option('--source <name>', 'Name of the feed, stored with each product'),
      new Option(
        '--ends-absent',
        'Withdraw the products of the source that the feed no longer has',
      ),
      new Option('--yes', 'End them without asking if they are more than a fifth of the source'),
      new Option('--replace', 'Remove what the file has no column for'),
      new Option('--allow-free', 'Accept prices of 0'),
      keyOption(),
    ],
    help:
      'Prints each bad line with its number and reason, and imports the others; the exit status is then 4, and 1 if ' +
      'every line is bad. A column that the file does not have leaves what is stored, and an empty cell removes it. An ' +
      'unchanged product appends nothing, so an import can be repeated.',
    load: async () => (await import('#src/cli/commands/catalog-import.ts')).importCatalog,
  },
  {
    usage: 'events tail',
    about: 'Show the newest events',
    calls: 'readEvents',
    flags: [
      new Option('-o, --owner <id>', 'Events of this promoter'),
      new Option('--stream <name>', 'Events of this stream'),
      new Option('-f, --follow', 'Continue with new events until interrupted'),
      numberFlag(
        '-n, --limit <n>',
        'How many of the present events',
        wholeNumber(1, EVENTS_PAGE_MAX),
      ).default(TAIL_EVENTS),
    ],
    help: 'With --json it prints one object a line.',
    load: async () => (await import('#src/cli/commands/events.ts')).tailEvents,
  },
  {
    usage: 'events show <stream-or-owner>',
    about: 'Show all events of a stream or of an owner',
    calls: 'readEvents',
    flags: [numberFlag('--at <n>', 'As of this position of the log', wholeNumber(1, POSITION_MAX))],
    help: 'With --json it prints one object a line.',
    load: async () => (await import('#src/cli/commands/events.ts')).showEvents,
  },
  {
    usage: 'mail list',
    about: 'List the messages in the data directory, which were not sent by SMTP',
    load: async () => (await import('#src/cli/commands/mail.ts')).listMail,
  },
  {
    usage: 'mail show <id>',
    about: 'Show one of these messages',
    load: async () => (await import('#src/cli/commands/mail.ts')).showMail,
  },
  {
    usage: 'audit check',
    about:
      'Compare live rows with a fold of the log, byte for byte, and name the first that differs',
    calls: 'auditCheck',
    flags: [
      new Option('-o, --owner <id>', 'The rows of this owner'),
      new Option('--all', 'The rows of all owners'),
      numberFlag('--sample <n>', 'One of so many partitions', wholeNumber(1, 64)),
    ],
    help: 'Exit status 0: equal; 4: different. It can run while the service writes.',
    load: async () => (await import('#src/cli/commands/audit.ts')).checkAudit,
  },
  {
    usage: 'audit export <file>',
    about: "Write an owner's events to a file that answers audits by itself",
    calls: 'auditExport',
    flags: [
      new Option('-o, --owner <id>', 'The owner').makeOptionMandatory(),
      new Option('--from <moment>', 'Only events after this position, time or day'),
      new Option('--to <moment>', 'No events after this position, time or day (default: now)'),
      new Option(
        '-r, --reason <text>',
        'Write personal data in plain text; the reason is recorded',
      ),
      new Option(
        '--checkpoint <note>',
        'A file with a checkpoint that you kept: the export proves that it continues it',
      ),
    ],
    help:
      'The same range gives the same records; `audit verify` checks them. Personal data stays encrypted without --reason. A file from the start ' +
      'answers everything; one with --from has the history only.',
    load: async () => (await import('#src/cli/commands/audit.ts')).exportAudit,
  },
  {
    usage: 'audit verify <file>',
    about: 'Verify an exported file without the service: nothing altered, nothing missing, signed',
    flags: [
      new Option(
        '--key <key...>',
        'The keys that you trust, of the service and of witnesses, <name>+<id>+<key>: each must have signed',
      ),
      new Option(
        '--checkpoint <note>',
        'A file with a checkpoint that you kept: the export must continue it',
      ),
    ],
    help: 'Exit status 0: intact; 1: altered; 2: malformed; 3: incomplete. `/verify` does the same in a browser.',
    load: async () => (await import('#src/cli/commands/audit.ts')).verifyFile,
  },
  {
    usage: 'projections rebuild [name]',
    about: 'Rebuild a read model, or all of them, beside the live rows, and switch',
    calls: 'rebuildProjection',
    flags: [
      new Option('--hold', 'Fill and compare one read model, and do not switch: you decide then'),
      new Option(
        '-o, --owner <id>',
        'Replace the live rows of this owner alone, in one read model',
      ),
    ],
    help:
      'Ctrl-C ends the command with exit status 130. A running service then continues the rebuild; without one it stops, and ' +
      'the next run continues from what is committed.',
    load: async () => (await import('#src/cli/commands/projections.ts')).rebuildProjections,
  },
  {
    usage: 'projections watch [name]',
    about: 'Show how far the running rebuilds and other fills are, until they end',
    calls: 'rebuildProjection',
    load: async () => (await import('#src/cli/commands/projections.ts')).watchProjections,
  },
  {
    usage: 'projections switch <name>',
    about: 'Make the held build of a read model the live one',
    calls: 'switchBuild',
    flags: [keyOption()],
    load: async () => (await import('#src/cli/commands/projections.ts')).switchProjection,
  },
  {
    usage: 'projections pause',
    about: 'Pause the running rebuilds and other fills of read models',
    calls: 'limitFills',
    flags: [keyOption()],
    load: async () => (await import('#src/cli/commands/projections.ts')).pauseFills,
  },
  {
    usage: 'projections resume',
    about: 'Resume the fills that were paused',
    calls: 'limitFills',
    flags: [keyOption()],
    load: async () => (await import('#src/cli/commands/projections.ts')).resumeFills,
  },
  {
    usage: 'projections throttle <events-per-second>',
    about: 'Limit the running fills to so many events a second; 0 removes the limit',
    calls: 'limitFills',
    flags: [keyOption()],
    load: async () => (await import('#src/cli/commands/projections.ts')).throttleFills,
  },
  {
    usage: 'projections verify [name]',
    about: 'Compare the live rows of a read model, or of all, with a fresh fold of the log',
    calls: 'verifyProjection',
    load: async () => (await import('#src/cli/commands/projections.ts')).verifyProjections,
  },
  {
    usage: 'log verify',
    about: 'Read every event and every index, and check its checksum and the tree of the log',
    flags: [
      new Option(
        '--checkpoint <note>',
        'A file with a checkpoint that you kept: the log must have its tree',
      ),
    ],
    help:
      'The tree is built again, and compared with the published one in proof.db; the first event that differs is named. ' +
      'A person who can write proof.db as well is caught only by a checkpoint that somebody else kept.',
    load: async () => (await import('#src/cli/commands/log.ts')).verifyEvents,
  },
  {
    usage: 'notary rotate',
    about: 'Write a new key that signs checkpoints to the file NOTARY_KEY, before the present ones',
    flags: [new Option('--end-others', 'Write no key, and remove all but the newest')],
    help: 'Present keys sign as well until --end-others, so that those who verify have time to get the new one.',
    load: async () => (await import('#src/cli/commands/witness.ts')).rotateNotary,
  },
  {
    usage: 'root-key rotate',
    about: 'Replace the root key, which wraps the secrets of the service',
    flags: [
      new Option(
        '--new <file>',
        'A file with the new root key, created if there is none; needed where the root key is not in the data directory',
      ),
      new Option('--compromised', 'Replace the secrets as well, with every process stopped'),
      new Option('--yes', 'Do not ask'),
    ],
    help:
      'Without --compromised the secrets stay the same, and the service can run meanwhile. After an interruption, run it ' +
      'again.',
    load: async () => (await import('#src/cli/commands/root-key.ts')).rotateRootKey,
  },
  {
    usage: 'witness <file>',
    about:
      'Run a witness, which cosigns the checkpoints of other services and refuses a history that was changed',
    hasNoData: true,
    flags: [
      new Option('--name <name>', 'The name of a new witness, for example its address').default(
        'witness',
      ),
      new Option(
        '--log <key...>',
        'Public keys of the notaries that it watches',
      ).makeOptionMandatory(),
      numberFlag('--port <n>', 'Where it listens', wholeNumber(0, 65_535)).default(8_080),
      new Option('--host <host>', 'The address that it listens on').default('127.0.0.1'),
    ],
    help:
      'The file has its key, and the newest checkpoint of each log; it is made by the first start. Lose it, and the witness ' +
      'accepts any history. Two parties who each run one watch each other.',
    load: async () => (await import('#src/cli/commands/witness.ts')).runWitness,
  },
  {
    usage: 'backup <directory>',
    about: 'Copy log and keys, also while the service runs, into a directory that can be restored',
    flags: [
      new Option('--with-root-key', 'Put root.key into it: it opens everything in the backup'),
      new Option('--every <interval>', 'Stay, and make one each 30m, 24h or 7d').argParser(
        interval,
      ),
      numberFlag('--keep <n>', 'How many of --every to keep', wholeNumber(1, 10_000)).default(7),
    ],
    help: 'With --every, each backup is a directory inside, named by its time.',
    load: async () => (await import('#src/cli/commands/backup.ts')).backUp,
  },
  {
    usage: 'restore <backup>',
    about: 'Make a data directory from a backup, after comparing every file with its manifest',
    flags: [
      new Option('--erasures <file>', 'The list of erasures of the live directory: erasures.jsonl'),
      new Option('--without-erasures', 'The list is lost: nobody is erased again'),
      new Option('--root-key <file>', 'The root key, unless the backup or ROOT_KEY has it'),
    ],
    help:
      '--data names the new directory, which must be empty. Exit status 4: a file is not what was backed up. Outreach and ' +
      'mail are halted in the restored log.',
    load: async () => (await import('#src/cli/commands/backup.ts')).restore,
  },
  {
    usage: 'log adopt <known> <found>',
    about: 'Make the data directory and Redis belong to the log that the server has now',
    help:
      'known is the log that the data directory or Redis belongs to; found is the log on the server, or none. A ' +
      'process that refuses to start because its log was replaced prints both. Run it for each data directory, with ' +
      'all processes stopped. It empties what was built from the known log, and halts outreach.',
    load: async () => (await import('#src/cli/commands/log.ts')).adoptRemoteLog,
  },
  {
    usage: 'log copy <from> <to>',
    about: 'Make one log the same as another, event by event',
    hasNoData: true,
    help:
      'A log is sqlite:DIRECTORY (a data directory; the source may be in use) or esdb://HOST. ' +
      'The keys of personal data are also copied; both logs need the same ROOT_KEY.',
    load: async () => (await import('#src/cli/commands/log.ts')).copyLogs,
  },
];

/** Adds flags, help and the action of an own command, whose arguments its usage has added. */
const defineOwnCommand = (command: Command, own: OwnCommand): void => {
  const { about, flags = [], hasNoData, help, load } = own;
  for (const flag of flags) command.addOption(flag);
  if (hasNoData) command.addOption(jsonOption());
  else if (own.calls) addCommonOptions(command);
  else addMachineOptions(command);
  command.description(about).action(async (...input) => (await load())(...(input as never[])));
  if (help !== undefined) command.addHelpText('after', `\n${wrap(help)}`);
};

type Parser = (text: string, previous?: unknown) => unknown;

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON.');
  }
};

const parseBoolean = (text: string): boolean => {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('It must be true or false.');
};

/** Chooses how the text of a field is read; the operation checks what else its schema requires. */
const parserOf = ({ schema, form }: CommandField): Parser => {
  if (form.parse) return form.parse;
  if (schema instanceof z.ZodNumber)
    return wholeNumber(schema.minValue ?? 0, schema.maxValue ?? Number.MAX_SAFE_INTEGER);
  if (schema instanceof z.ZodBoolean) return parseBoolean;
  if (isJson(schema)) return parseJson;
  return schema instanceof z.ZodArray ? parseList : (text) => text;
};

/** Adds the owner as an argument, with the flag that it is in all other commands. */
const addOwner = (command: Command, flags: string, description: string): (() => unknown) => {
  command.argument('[owner]', description).addOption(new Option(flags).hideHelp());
  return () =>
    command.getOptionValue('owner') ??
    command.processedArgs[0] ??
    command.error("error: missing required argument 'owner'");
};

/** Adds a field to the command; the result reads its value after the command line is parsed. */
const addField = (command: Command, field: CommandField, description: string): (() => unknown) => {
  const { name, word, flags, isArgument, isRequired, value, form } = field;
  if (isArgument && name === 'owner_id') return addOwner(command, flags, description);
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

/** Calls an operation whose input is known only at run time. */
const callDesk = async (desk: Desk, { id }: DeskOperation, request: object): Promise<object> => {
  const call = (input: object) => desk.call(id as DeskOperationId, input);
  if (!verbOf(id).readsAllPages) return call(request);
  return everyPage(
    async (before) => (await call({ ...request, limit: LIMITS.PAGE_ROWS_MAX, before })) as Page,
  );
};

/** Adds to a command the arguments, flags, help and action of its operation. */
const defineDeskCommand = (
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
    (field) =>
      [field.name, addField(command, field, localize(field.description) + field.values)] as const,
  );
  for (const [flag, description] of Object.entries(flags)) command.option(flag, description);
  if (kind === 'command') command.addOption(keyOption());
  const operationId = id as DeskOperationId;
  if (hasWebPage(operationId))
    command.option('--web', 'Open the page of it in your browser, and print its address');
  if (mayAsk(id)) command.option('--yes', 'Do it without asking');
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
        const completed = (await complete?.(desk, input, options)) ?? input;
        const request =
          options.file === undefined ? await nameRecords(desk, operation, completed) : completed;
        if (options.web) return openPage(options, await pageAddress(desk, operationId, request));
        await confirmEffect(desk, operationId, { request, options });
        const asked = callDesk(desk, operation, request);
        const answer = await (awaitAnswer?.(desk, request, asked) ?? asked);
        if (notice && !options.json) printNotice(notice(answer));
        if (hasJsonRows && options.json) printRows(answer as Page);
        else printResult(options, answer, text?.(answer, options) ?? formatAnswer(answer, columns));
        if (options.follow) await follow?.(desk, request, { answer, options });
      });
    });
};

/** A command: its usage, and what adds the rest to it. */
type Entry = { usage: string; define(command: Command): void };

const ownEntry = (own: OwnCommand): Entry => ({
  usage: own.usage,
  define: (command) => defineOwnCommand(command, own),
});

/** Lists the own commands and, for each operation, its derived command or the own ones that call it. */
const entriesOf = (registry: Registry): Entry[] => {
  const own = Map.groupBy(OWN_COMMANDS, ({ calls }) => calls);
  const derived = Object.values(registry).flatMap((operation) => {
    if (operation.isOnPage) return [];
    const callers = own.get(operation.id as DeskOperationId);
    if (callers) return callers.map(ownEntry);
    const define = (command: Command) => defineDeskCommand(command, operation, registry);
    return { usage: commandWordsOf(operation), define };
  });
  return [...(own.get(undefined) ?? []).map(ownEntry), ...derived];
};

/** Names the own commands that call the desk, or those that do not. */
const namesOf = (callDesk: boolean): string =>
  OWN_COMMANDS.filter(({ calls }) => (calls !== undefined) === callDesk)
    .map(({ usage }) => usage.replace(/ [<[].*/, ''))
    .join(', ');

const ROOT_HELP = `
${wrap(`These commands act on this machine: ${namesOf(false)}.`)}
${wrap(`These call the desk several times: ${namesOf(true)}.`)}
${wrap('Every other command is one operation of the desk; its help names the operation and the roles.')}
`;

/** Adds an entry, in the group of its first word unless it has no other word. */
const addEntry = (root: Command, { usage, define }: Entry): void => {
  const [, first = '', rest = ''] = /^(\S+) ?(.*)$/.exec(usage) ?? [];
  const [name, { section, about = `Commands of ${first}`, alias }] = topicOf(first);
  if (rest === '' || rest.startsWith('<')) {
    define(root.command(`${name} ${rest}`.trim()).helpGroup(section));
    return;
  }
  let group = root.commands.find((command) => command.name() === name);
  if (!group) {
    group = root.command(name).helpGroup(section).description(about);
    if (alias !== undefined) group.alias(alias);
  }
  define(group.command(rest));
};

/** Makes the program. Faults of the command line are thrown, so that one place sets the exit status. */
export const program = (registry: Registry = deskOperations): Command => {
  const root = new Command('tributary')
    .description(
      'Attributed wholesale promotion for software agents, over one append-only log.\n' +
        'Commands call the service where you are signed in, or the one of the data directory here.',
    )
    .version(VERSION, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand(false)
    .configureHelp(HELP)
    .showSuggestionAfterError()
    .addHelpText('after', ROOT_HELP + EXIT_HELP)
    .exitOverride();
  const order = Object.keys(TOPICS);
  const rank = ({ usage }: Entry): number => {
    const at = order.indexOf(topicOf(usage.split(' ')[0] ?? '')[0]);
    return at < 0 ? order.length : at;
  };
  for (const entry of entriesOf(registry).toSorted((a, b) => rank(a) - rank(b)))
    addEntry(root, entry);
  addHelpCommand(root);
  return root;
};

const OTHER_USER = 'Run this as the user that runs the service.';
const WRONG_KIND = 'Something else has the place of that file or directory: move it away.';
const NO_ROOM = 'Make room on the disk, and run the command again.';

/** What the user can do about an error of the file system. */
const FILE_HINTS: Readonly<Record<string, string>> = {
  EACCES: OTHER_USER,
  EPERM: OTHER_USER,
  EISDIR: WRONG_KIND,
  ENOTDIR: WRONG_KIND,
  ELOOP: WRONG_KIND,
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
};

/** Says the way forward after an error of the file system; returns any other error as it is. */
const withHint = (error: unknown): unknown => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const hint = FILE_HINTS[code];
  return hint === undefined ? error : new StartupError(`${message}. ${hint}`);
};

/** Returns the exit status of an error; throws a bug again. */
const exitStatusOf = (error: unknown): number => {
  if (error instanceof CommandError) return error.exit;
  if (error instanceof StartupError || error instanceof ConfigError) return EXIT.cannotStart;
  if (error instanceof LogCorrupted) return EXIT.differs;
  throw error;
};

/** Runs the command of these words, and says on stderr why it failed. Returns its exit status; throws a bug. */
export const runCommand = async (words: readonly string[]): Promise<number> => {
  try {
    await program().parseAsync(words, { from: 'user' });
    return EXIT.ok;
  } catch (failure) {
    const error = withHint(failure);
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const exit = exitStatusOf(error);
    const { message, name } = error as Error;
    printNotice(`${style('red', 'tributary:', process.stderr)} ${message}`);
    if (words.includes('--json')) {
      const report = error instanceof CommandError ? error.report : undefined;
      print(JSON.stringify(report ?? { code: name, detail: message }));
    }
    return exit;
  }
};
