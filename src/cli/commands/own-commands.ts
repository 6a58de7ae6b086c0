/**
 * The commands that are not one operation of the desk: `serve` and those that read files, processes or
 * the log itself, and those that call operations of the desk several times.
 */
import { type Command, Option } from 'commander';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { PROCESS_ROLES } from '#src/wiring/process-roles.ts';
import { EVENTS_PAGE_MAX } from '#contracts/limits.ts';
import { addCommonOptions, jsonOption, keyOption, wholeNumber } from '../options.ts';
import { wrap } from '../terminal/help.ts';

export type OwnCommand = {
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
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    usage: 'status',
    about: 'Show the addresses and keys of the running service, or check what it needs',
    flags: [
      new Option('--check', 'Check versions, settings, disk, permissions, lock and log instead'),
    ],
    help: 'With --check no service has to run. Exit status 4: a check found a fault.',
    load: async () => (await import('./status.ts')).showStatus,
  },
  {
    usage: 'demo-reset',
    about: 'Remove the data directory of a demo that no server runs on',
    load: async () => (await import('./demo-reset.ts')).resetDemo,
  },
  {
    usage: 'catalog import <file>',
    about: 'Publish the products of a CSV, TSV or NDJSON feed',
    calls: 'importProducts',
    flags: [new Option('--strict', 'Import nothing if any line is bad'), keyOption()],
    help:
      'Prints each bad line with its number and reason, and imports the good ones: the exit status is 0 ' +
      'unless every line is bad. An unchanged product appends nothing, so an import can be repeated.',
    load: async () => (await import('./catalog-import.ts')).importCatalog,
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
    load: async () => (await import('./events.ts')).tailEvents,
  },
  {
    usage: 'events show <stream-or-owner>',
    about: 'Show all events of a stream or of an owner',
    calls: 'readEvents',
    flags: [numberFlag('--at <n>', 'As of this position of the log', wholeNumber(1, POSITION_MAX))],
    help: 'With --json it prints one object a line.',
    load: async () => (await import('./events.ts')).showEvents,
  },
  {
    usage: 'mail list',
    about: 'List the messages in the data directory, which were not sent by SMTP',
    load: async () => (await import('./mail.ts')).listMail,
  },
  {
    usage: 'mail show <id>',
    about: 'Show one of these messages',
    load: async () => (await import('./mail.ts')).showMail,
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
    load: async () => (await import('./audit-check.ts')).checkAudit,
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
    ],
    help:
      'The same range gives the same bytes. Personal data stays encrypted without --reason. A file from the start ' +
      'answers everything; one with --from has the history only.',
    load: async () => (await import('./audit-export.ts')).exportAudit,
  },
  {
    usage: 'projections rebuild [name]',
    about: 'Rebuild a read model, or all of them, beside the live rows, and switch',
    calls: 'rebuildProjection',
    load: async () => (await import('./projections.ts')).rebuildProjections,
  },
  {
    usage: 'projections verify [name]',
    about: 'Compare the live rows of a read model, or of all, with a fresh fold of the log',
    calls: 'verifyProjection',
    load: async () => (await import('./projections.ts')).verifyProjections,
  },
  {
    usage: 'log verify',
    about: 'Read every event and every index, and check its checksum',
    load: async () => (await import('./log-verify.ts')).verifyEvents,
  },
  {
    usage: 'log adopt <known> <found>',
    about: 'Make the data directory and Redis belong to the log that the server has now',
    help:
      'known is the log that the data directory or Redis belongs to; found is the log on the server, or none. A ' +
      'process that refuses to start because its log was replaced prints both. Run it for each data directory, with ' +
      'all processes stopped. It empties what was built from the known log, and halts outreach.',
    load: async () => (await import('./log-adopt.ts')).adoptRemoteLog,
  },
  {
    usage: 'log copy <from> <to>',
    about: 'Make one log the same as another, event by event',
    hasNoData: true,
    help:
      'A log is sqlite:DIRECTORY (a data directory; the source may be in use) or esdb://HOST. ' +
      'The keys of personal data are also copied; both logs need the same ROOT_KEY.',
    load: async () => (await import('./log-copy.ts')).copyLogs,
  },
];

/** Adds flags, help and the action of an own command, whose arguments its usage has added. */
export const defineOwnCommand = (command: Command, own: OwnCommand): void => {
  const { about, flags = [], hasNoData, help, load } = own;
  for (const flag of flags) command.addOption(flag);
  if (hasNoData) command.addOption(jsonOption());
  else addCommonOptions(command);
  command.description(about).action(async (...input) => (await load())(...(input as never[])));
  if (help !== undefined) command.addHelpText('after', `\n${wrap(help)}`);
};
