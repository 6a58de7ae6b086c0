import type { Command } from 'commander';
import type { Common } from './command.ts';
import { configOf, leaf } from './command.ts';
import { EXIT, Failure } from './exit.ts';
import { logCopyCommand } from './log-copy.ts';
import { finish, plural } from './output.ts';
import { progress } from './progress.ts';
import { findServer } from './server-file.ts';

const verify = async (options: Common): Promise<void> => {
  const config = configOf(options);
  const server = await findServer(config.dataDirectory);
  if (server)
    throw new Failure(
      EXIT.cannotStart,
      `a server (process ${server.pid}) runs on ${config.dataDirectory}, and a full pass over the ` +
        'log would hold it up. Stop it first, or verify a copy of the directory.',
    );
  const { openForCommand } = await import('#src/core.ts');
  const core = await openForCommand(config);
  try {
    const { position } = await core.deps.log.head();
    const shown = progress('log', position, 'events');
    const { events, fault } = await core
      .verifyLog((at) => shown.update(at))
      .finally(() => shown.stop());
    const report = { intact: fault === null, events, fault };
    if (fault)
      throw new Failure(
        EXIT.differs,
        `the log is damaged at position ${fault.position}: ${fault.reason}. ` +
          `${plural(events, 'event')} before it are intact.`,
        report,
      );
    finish(options, report, `${plural(events, 'event')}: every one is what was written.`);
  } finally {
    await core.close();
  }
};

/** The scrub: every byte of the log, read. */
export const logCommands = (program: Command): void => {
  const log = program.command('log').description('the event log');
  leaf(log, 'verify', 'read every event and every index against its checksum').action(verify);
  logCopyCommand(log);
};
