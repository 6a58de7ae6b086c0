/** log.mark: what a start knows about the end of the log after a crash, and when the mark itself is damaged. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  sqliteEventLog,
  type SqliteEventLog,
  sqliteLogSource,
} from '#src/stores/sqlite/log/event-log.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { bound } from '../../conformance/log-events.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('sqlite-mark-');
afterAll(removeAll);

const APPENDS = 30;
const SLOT_BYTES = 4_096;

const append = (log: SqliteEventLog, n: number) =>
  log.append(`own-lead_${n}`, NO_STREAM, [bound(`text ${n} `.repeat(20))]);

/** Copies the files as a kill at this moment would leave them: the kernel has every page that was written. */
const crashed = (directory: string): string => {
  const copy = fresh();
  for (const name of ['log.db', 'log.db-wal', 'log.mark'])
    cpSync(join(directory, name), join(copy, name));
  return copy;
};

/** Returns a log of APPENDS acknowledged appends, and what a kill right after the last one would leave. */
const filled = async () => {
  const directory = fresh();
  const log = sqliteEventLog({ directory });
  for (let n = 1; n <= APPENDS; n += 1) await append(log, n);
  const copy = crashed(directory);
  await log.close();
  return { directory, copy };
};

const headOf = async (directory: string): Promise<number> => {
  const log = sqliteEventLog({ directory });
  const { position } = await log.head();
  await log.close();
  return position;
};

describe('A start after a kill', () => {
  test('A start after a kill refuses the log wherever one bit of the write-ahead log is flipped', async () => {
    const { copy } = await filled();
    const wal = readFileSync(join(copy, 'log.db-wal'));
    // The last quarter has commits of much less than a second.
    for (let at = Math.floor((wal.length * 3) / 4); at < wal.length; at += 1_021) {
      const damaged = fresh();
      cpSync(copy, damaged, { recursive: true });
      const bytes = Buffer.from(wal);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(join(damaged, 'log.db-wal'), bytes);
      expect(() => sqliteEventLog({ directory: damaged }), `byte ${at}`).toThrow(
        /acknowledged events are missing/,
      );
      expect(() => sqliteLogSource(damaged), `byte ${at}`).toThrow(StartupError);
    }
    expect(await headOf(copy)).toBe(APPENDS);
  });

  test('A start after a kill accepts a log that is ahead of its mark, because its last commit was not acknowledged', async () => {
    const { directory, copy } = await filled();
    const log = sqliteEventLog({ directory });
    await append(log, APPENDS + 1);
    await log.close();
    cpSync(join(copy, 'log.mark'), join(directory, 'log.mark'));
    expect(await headOf(directory)).toBe(APPENDS + 1);
  });
});

describe('log.mark', () => {
  test('`log.mark` survives a flipped bit anywhere in it', async () => {
    const { directory } = await filled();
    const file = join(directory, 'log.mark');
    const mark = readFileSync(file);
    const texts = [...mark].flatMap((byte, at) => (byte === 0x20 ? [] : [at]));
    expect(texts.length).toBeGreaterThan(100);
    for (const at of [...texts, SLOT_BYTES - 2, mark.length - 2]) {
      const bytes = Buffer.from(mark);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, bytes);
      const source = sqliteLogSource(directory);
      expect(await source.head(), `byte ${at}`).toMatchObject({ position: APPENDS });
      await source.close();
    }
  });

  test('`log.mark` holds the commit before the last if the last slot was torn, and is written again', async () => {
    const { directory } = await filled();
    const file = join(directory, 'log.mark');
    for (const slot of [0, 1]) {
      const bytes = readFileSync(file);
      bytes.fill(0, slot * SLOT_BYTES, slot * SLOT_BYTES + 100);
      writeFileSync(file, bytes);
      const log = sqliteEventLog({ directory });
      const { position } = await log.head();
      await append(log, position + 1);
      await log.close();
      const [first = '', second = ''] = [0, SLOT_BYTES].map((from) =>
        readFileSync(file, 'utf8').slice(from, from + SLOT_BYTES),
      );
      expect(
        [first, second].filter((text) => text.includes(`"position":${position + 1},`)),
      ).toHaveLength(1);
    }
  });

  test('`log.mark` is refused if both slots are damaged', async () => {
    const { directory } = await filled();
    writeFileSync(join(directory, 'log.mark'), Buffer.alloc(2 * SLOT_BYTES, 0xa5));
    expect(() => sqliteEventLog({ directory })).toThrow(/log\.mark is unreadable/);
  });

  test('The `log.mark` of another log is refused', async () => {
    const { directory } = await filled();
    const other = fresh();
    await (await filledAgain(other)).close();
    cpSync(join(other, 'log.mark'), join(directory, 'log.mark'));
    expect(() => sqliteEventLog({ directory })).toThrow(/another log/);
  });
});

const filledAgain = async (directory: string): Promise<SqliteEventLog> => {
  const log = sqliteEventLog({ directory });
  await append(log, 1);
  return log;
};
