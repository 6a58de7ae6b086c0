/**
 * The commands that are not one operation of the desk: `serve` and those that read files, processes or
 * the log itself, and those that call operations of the desk several times.
 */
import { type Command, Option } from 'commander';
import type { DeskOperationId } from '#contracts/desk/index.ts';
import { PROCESS_ROLES } from '#src/wiring/process-roles.ts';
import { addCommonOptions, addKeyOption, wholeNumber } from '../options.ts';
import { importCatalog } from './catalog-import.ts';
import { resetDemo } from './demo-reset.ts';
import { diagnose } from './doctor.ts';
import { EVENTS_PAGE_MAX, showEvents, tailEvents } from './events.ts';
import { copyLogs } from './log-copy.ts';
import { verifyEvents } from './log-verify.ts';
import { rebuildProjections, verifyProjections } from './projections.ts';
import { showStatus } from './status.ts';

export type OwnCommand = {
  words: string;
  about: string;
  /** The operation of the desk that the command calls several times, in place of a derived command. */
  calls?: DeskOperationId;
  help?: string;
  /** Adds arguments, flags and the action. */
  define(command: Command): Command;
};

const TAIL_EVENTS = 20;
const POSITION_MAX = 2 ** 52;

export const OWN_COMMANDS: readonly OwnCommand[] = [
  {
    words: 'serve',
    about: 'Start the service',
    define: (command) =>
      addCommonOptions(command)
        .option(
          '--port <n>',
          'Port; 0 selects a free one (default: PORT, otherwise 3000)',
          wholeNumber(0, 65_535),
        )
        .option('--host <host>', 'Address (default: HOST, otherwise 127.0.0.1)')
        .option('--demo', 'Add demo data and a demo key, and print examples; loopback only')
        .addOption(
          new Option('--role <role>', 'What this process does, of several on one log')
            .choices(PROCESS_ROLES)
            .default('all'),
        )
        // Loaded here, because no other command needs the whole service.
        .action(async (options) => (await import('./serve.ts')).serve(options)),
    help:
      'Roles: api serves and reads; projector folds its partitions of the read models in Redis; dispatcher ' +
      'sends approved outreach; all does everything. projector and dispatcher need a log on a server ' +
      '(EVENT_LOG_URL=esdb://HOST). Each process has a data directory of its own.\n\n' +
      'With --json the first line on stdout, printed when the service is ready, is one object: url, port, ' +
      'owner, agent, api_key (of the demo, otherwise null), desk_token, data, review_url (demo).\n\n' +
      'On SIGTERM and SIGINT the service finishes pending requests and stops within 10 s.',
  },
  {
    words: 'status',
    about: 'Show the addresses and keys of the running service',
    define: (command) => addCommonOptions(command).action(showStatus),
  },
  {
    words: 'doctor',
    about: 'Check versions, settings, disk, permissions, lock and log',
    define: (command) => addCommonOptions(command).action(diagnose),
  },
  {
    words: 'demo-reset',
    about: 'Remove the data directory of a demo that no server runs on',
    define: (command) => addCommonOptions(command).action(resetDemo),
  },
  {
    words: 'catalog import',
    about: 'Publish the products of a CSV, TSV or NDJSON feed',
    calls: 'importProducts',
    define: (command) =>
      addCommonOptions(addKeyOption(command.argument('<file>')))
        .option('--strict', 'Import nothing if any line is bad')
        .action(importCatalog),
    help:
      'Prints each bad line with its number and reason, and imports the good ones: the exit status is 0 ' +
      'unless every line is bad. An unchanged product appends nothing, so an import can be repeated.',
  },
  {
    words: 'events tail',
    about: 'Show the newest events',
    calls: 'readEvents',
    define: (command) =>
      addCommonOptions(command)
        .option('-o, --owner <id>', 'Events of this promoter')
        .option('--stream <name>', 'Events of this stream')
        .option('-f, --follow', 'Continue with new events until interrupted')
        .option(
          '-n, --limit <n>',
          'How many of the present events',
          wholeNumber(1, EVENTS_PAGE_MAX),
          TAIL_EVENTS,
        )
        .action(tailEvents),
    help: 'With --json it prints one object a line.',
  },
  {
    words: 'events show',
    about: 'Show all events of a stream or of an owner',
    calls: 'readEvents',
    define: (command) =>
      addCommonOptions(command.argument('<stream-or-owner>'))
        .option('--at <position>', 'As of this position of the log', wholeNumber(1, POSITION_MAX))
        .action(showEvents),
    help: 'With --json it prints one object a line.',
  },
  {
    words: 'projections rebuild',
    about: 'Rebuild a read model, or all of them, beside the live rows, and switch',
    calls: 'rebuildProjection',
    define: (command) => addCommonOptions(command.argument('[name]')).action(rebuildProjections),
  },
  {
    words: 'projections verify',
    about: 'Compare the live rows of a read model, or of all, with a fresh fold of the log',
    calls: 'verifyProjection',
    define: (command) => addCommonOptions(command.argument('[name]')).action(verifyProjections),
  },
  {
    words: 'log verify',
    about: 'Read every event and every index, and check its checksum',
    define: (command) => addCommonOptions(command).action(verifyEvents),
  },
  {
    words: 'log copy',
    about: 'Make one log the same as another, event by event',
    define: (command) =>
      command
        .argument('<from>')
        .argument('<to>')
        .option('--json', 'Print one JSON object as the last line on stdout')
        .action(copyLogs),
    help:
      'A log is sqlite:DIRECTORY (a data directory; the source may be in use) or esdb://HOST. ' +
      'The keys of personal data are copied, too; both logs need the same ROOT_KEY.',
  },
];
