import type { Command } from 'commander';
import { isRemoteLog } from '#src/config.ts';
import { type Common, configOf, leaf } from '../command.ts';
import { hasLog, noData } from '../service/data-directory.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { logCopyCommand } from './log-copy.ts';
import { finish, plural } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';
import { findServer } from '../service/server-file.ts';
import { unreadableSubjects, unreadableText } from '../service/unreadable.ts';

/** Reasons come with a full stop and without. */
const faultText = (reason: string, events: number): string =>
  `the log is damaged: ${reason.replace(/\.$/, '')}. ${plural(events, 'event')} before that are intact.`;

const verify = async (asked: Common): Promise<void> => {
  const config = configOf(asked);
  const { dataDirectory: directory } = config;
  const server = await findServer(directory);
  if (server)
    throw new Failure(
      EXIT.cannotStart,
      `a server (process ${server.pid}) runs on ${directory}, and a full pass over the ` +
        'log would hold it up. Stop it first, or verify a copy of the directory.',
    );
  if (!hasLog(config)) throw noData(config);
  // A copy is as good as its records, whether or not its secrets lie beside it.
  const { openEventLog } = await import('#src/wiring/event-log.ts');
  const { commandLogger } = await import('#src/wiring/logger.ts');
  const logger = commandLogger(config.logLevel);
  const options = { logger, holdsDirectory: false, checkedAtOpen: 0 };
  const { log, verify: scrub, close } = await openEventLog(config, options);
  try {
    const { position } = await log.head();
    const shown = progress('log', position, 'events');
    const { events, fault } = await scrub((at) => shown.update(at)).finally(() => shown.stop());
    const report = { intact: fault === null, events, fault };
    if (fault) throw new Failure(EXIT.differs, faultText(fault.reason, events), report);
    const unreadable = isRemoteLog(config) ? null : await unreadableSubjects(directory, log);
    const lost = unreadable ? ` ${unreadableText(unreadable)}` : '';
    finish(
      asked,
      { ...report, unreadable_subjects: unreadable },
      `${plural(events, 'event')}: every one is what was written.${lost}`,
    );
  } finally {
    await close();
  }
};

/** The scrub: every byte of the log, read. */
export const logCommands = (program: Command): void => {
  const log = program.command('log').description('the event log');
  leaf(log, 'verify', 'read every event and every index against its checksum').action(verify);
  logCopyCommand(log);
};
