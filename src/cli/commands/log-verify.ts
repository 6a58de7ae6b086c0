import { isRemoteLog } from '#src/config.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { commandLogger } from '#src/wiring/logger.ts';
import { type CommonOptions, configFor } from '../options.ts';
import { hasLog, noDataError } from '../service/data-directory.ts';
import { findServer } from '../service/server-file.ts';
import { unreadableSubjects, unreadableText } from '../service/unreadable.ts';
import { CommandError, EXIT, formatPlural, printResult } from '../terminal/output.ts';
import { startProgress } from '../terminal/progress.ts';

const faultText = (reason: string, events: number): string =>
  `the log is damaged: ${reason.replace(/\.$/, '')}. No accidental damage was found in ` +
  `${formatPlural(events, 'event')} before that.`;

/** Checksums show accidents only: a person who can write the file can also write fitting checksums. */
const successText = (events: number): string =>
  `${formatPlural(events, 'event')}: no accidental damage found. Deliberate changes are not detected.`;

/** Reads every byte of the log and looks for accidental damage. */
export const verifyEvents = async (options: CommonOptions): Promise<void> => {
  const config = configFor(options);
  const { dataDirectory: directory } = config;
  const server = await findServer(directory);
  if (server)
    throw new CommandError(
      EXIT.cannotStart,
      `a server (process ${server.pid}) runs on ${directory}, and reading the whole log would slow it ` +
        'down. Stop it first, or verify a copy of the directory.',
    );
  if (!hasLog(config)) throw noDataError(config);
  const logger = commandLogger(config.logLevel);
  // A copy without its secrets can also be verified.
  const opened = await openEventLog(config, { logger, directory: 'inspect', checkedAtOpen: 0 });
  try {
    const { position } = await opened.log.head();
    const bar = startProgress({ label: 'log', total: position, unit: 'events' });
    const { events, fault } = await opened
      .verify((done) => bar.update(done))
      .finally(() => bar.stop());
    const report = { intact: fault === null, events, fault };
    if (fault) throw new CommandError(EXIT.differs, faultText(fault.reason, events), report);
    const unreadable = isRemoteLog(config) ? null : await unreadableSubjects(directory, opened.log);
    printResult(
      options,
      { ...report, unreadable_subjects: unreadable },
      `${successText(events)}${unreadable ? ` ${unreadableText(unreadable)}` : ''}`,
    );
  } finally {
    await opened.close();
  }
};
