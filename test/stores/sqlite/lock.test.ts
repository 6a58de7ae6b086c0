/** If the lock file is removed, a second process can start, and the first one ends. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { readConfig } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { directories } from '../../support/processes/directories.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { bound } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('sqlite-lock-');
afterAll(removeAll);
const { server } = onStandIn();

describe('The lock of a data directory', () => {
  test("A data directory's lock refuses a second lock until it is released", () => {
    const directory = fresh();
    const lock = lockDirectory(directory);
    expect(() => lockDirectory(directory, 0)).toThrow(StartupError);
    lock.release();
    lockDirectory(directory, 0).release();
  });

  test("A data directory's lock reports once that its file was removed", async () => {
    const directory = fresh();
    const lock = lockDirectory(directory);
    const loss = Promise.withResolvers<string>();
    lock.watch(loss.resolve);
    rmSync(join(directory, 'lock'));
    expect(await loss.promise).toContain(`${join(directory, 'lock')} was removed or replaced`);
    lock.release();
  });

  test("A data directory's lock stops the log that held it when it is removed, and a second log continues", async () => {
    const directory = fresh();
    const fatal = Promise.withResolvers<string>();
    const first = sqliteEventLog({ directory, onFatal: ({ message }) => fatal.resolve(message) });
    await first.append('own-lead_1', NO_STREAM, [bound('1')]);
    rmSync(join(directory, 'lock'));
    const second = sqliteEventLog({ directory });
    expect(await fatal.promise).toContain('another process may have the directory by now');
    const late = first.append('own-lead_2', NO_STREAM, [bound('2')]);
    await expect(late).rejects.toMatchObject({ reason: 'fault', applied: 'no' });
    expect(await second.append('own-lead_3', NO_STREAM, [bound('3')])).toMatchObject({
      outcome: 'appended',
      position: 2,
    });
    await first.close();
    await second.close();
    expect(existsSync(join(directory, 'lock'))).toBe(true);
  });

  test("A data directory's lock stops a process with a remote log when it is removed", async () => {
    const config = { ...readConfig({}), dataDirectory: fresh(), eventLogUrl: server().url };
    const fatal = Promise.withResolvers<string>();
    const onFatal = ({ message }: Error): void => fatal.resolve(message);
    const { close } = await openEventLog(config, { logger: pino({ level: 'silent' }), onFatal });
    rmSync(join(config.dataDirectory, 'lock'));
    expect(await fatal.promise).toContain('was removed or replaced');
    await close();
  });
});
