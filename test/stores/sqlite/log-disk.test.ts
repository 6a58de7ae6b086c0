/** Effects of a bad disk on the embedded log: flipped bits, a truncated file, no space. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteEventLog, type SqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import {
  type EventLog,
  LogCorrupted,
  LogIndexDamaged,
  LogUnavailable,
  NO_STREAM,
} from '#src/ports/event-log.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound } from '../../conformance/log-events.ts';

const { fresh, removeAll } = directories('sqlite-disk-');
afterAll(removeAll);

const STREAMS = 40;
const nameOf = (n: number): string => `own${n % 3}-lead_${n}`;

const fill = async (log: EventLog): Promise<void> => {
  for (let n = 0; n < STREAMS; n += 1) {
    await log.append(nameOf(n), NO_STREAM, [bound(`a${n}`.repeat(20)), bound(`b${n}`)]);
  }
};

/** Creates one closed copy, and one as after a crash, with everything in the write-ahead log. */
const prepared = async () => {
  const [closed, crashed] = [fresh(), fresh()];
  const log = sqliteEventLog({ directory: closed });
  await fill(log);
  for (const name of ['log.db', 'log.db-wal', 'log.mark'])
    cpSync(join(closed, name), join(crashed, name));
  const good = await everything(log);
  await log.close();
  return { closed, crashed, good };
};

const reads = (log: EventLog): Promise<unknown>[] => [
  log.readAll({ after: 0, limit: 1_000 }),
  log.readFold({ after: 0, limit: 1_000 }),
  log.readAll({ after: 0, limit: 1_000, types: ['RequestBound'] }),
  ...['own0', 'own1', 'own2'].flatMap((owner) => [
    log.readOwner(owner, { after: 0, limit: 1_000 }),
    log.readOwnerFold(owner, { after: 0, limit: 1_000 }),
  ]),
  ...[{}, { owner: 'own1' }].map((of) => log.readBack({ upTo: 1_000, limit: 1_000, ...of })),
  ...Array.from({ length: STREAMS }, (_, n) => log.readStream(nameOf(n))),
];

const everything = (log: EventLog) => Promise.allSettled(reads(log));

const random =
  (seed: number) =>
  (below: number): number => {
    // The generator of Park and Miller, which gives the same numbers everywhere.
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };

/** Returns null if the log refuses to open. */
const opened = (directory: string, checkedAtOpen: number): SqliteEventLog | null => {
  try {
    return sqliteEventLog({ directory, checkedAtOpen });
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError);
    return null;
  }
};

const expectHonest = async (log: SqliteEventLog, good: Awaited<ReturnType<typeof everything>>) => {
  let harmed = false;
  let isIndex = false;
  for (const [index, read] of (await everything(log)).entries()) {
    const right = good[index];
    if (read.status === 'rejected') {
      harmed = true;
      isIndex ||= read.reason instanceof LogIndexDamaged;
      expect([LogCorrupted, LogIndexDamaged, LogUnavailable]).toContain(read.reason.constructor);
      continue;
    }
    const served = read.value as unknown[];
    const all = right?.status === 'fulfilled' ? (right.value as unknown[]) : [];
    // No record is hidden, or changed.
    expect(served, `read ${index}`).toEqual(all);
  }
  const { fault } = await log.verify().catch((error: unknown) => ({ fault: error }));
  // A damaged index is repaired meanwhile.
  if (harmed && !isIndex) expect(fault).not.toBeNull();
  return { harmed: harmed || fault !== null };
};

describe('A log with flipped bits', () => {
  test('A log with flipped bits returns no changed record', async () => {
    const seed = Number(env['SEED'] ?? (process.hrtime.bigint() % 2_147_483_646n) + 1n);
    const draw = random(seed);
    const { closed, crashed, good } = await prepared();
    const seen = { refused: 0, harmed: 0, unaffected: 0 };
    for (let round = 0; round < 100; round += 1) {
      const directory = fresh();
      const [from, name] = round % 2 ? [closed, 'log.db'] : [crashed, 'log.db-wal'];
      cpSync(from, directory, { recursive: true });
      const bytes = readFileSync(join(directory, name));
      const [at, bit] = [draw(bytes.length), draw(8)];
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      writeFileSync(join(directory, name), bytes);
      const log = opened(directory, round % 4 < 2 ? 10 : 1_000);
      if (!log) {
        seen.refused += 1;
        continue;
      }
      const result = await expectHonest(log, good).catch((cause: unknown) => {
        throw new Error(`seed=${seed} round=${round} ${name} byte ${at} bit ${bit}`, { cause });
      });
      seen[result.harmed ? 'harmed' : 'unaffected'] += 1;
      await log.close();
    }
    // Otherwise no flip reached a record, and the test proves nothing.
    const reached = seen.refused > 20 && seen.harmed > 1;
    expect({ seed, reached, ...seen }).toMatchObject({ reached: true });
  });
});

describe('A log with a truncated write-ahead log', () => {
  test('A log with a truncated write-ahead log is refused and not changed, so that the rest can be recovered', async () => {
    const { crashed, good } = await prepared();
    const path = join(crashed, 'log.db-wal');
    const whole = readFileSync(path);
    for (const cut of [1, 511, 4_096, 8_192, whole.length - 32, whole.length]) {
      writeFileSync(path, whole);
      truncateSync(path, whole.length - cut);
      expect(() => sqliteEventLog({ directory: crashed })).toThrow(/acknowledged|another log/);
      expect(existsSync(path) ? readFileSync(path).length : 0).toBe(whole.length - cut);
    }
    writeFileSync(path, Buffer.concat([whole, Buffer.alloc(5_000, 7)]));
    const log = sqliteEventLog({ directory: crashed });
    expect(await everything(log)).toEqual(good);
    await log.close();
  });
});

const mounting = fresh();
const mount = (...options: string[]) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options.join(), 'tmpfs', mounting]).status === 0;
const mounted = mount('size=2m');
afterAll(() => {
  if (mounted) spawnSync('umount', ['--lazy', mounting]);
});

describe.skipIf(!mounted)('A log on a full disk (needs the right to mount a tmpfs)', () => {
  test('A log on a full disk refuses appends as full, answers reads, and appends again once there is space', async () => {
    const directory = join(mounting, 'data');
    const fatal: Error[] = [];
    const log = sqliteEventLog({ directory, onFatal: (error) => fatal.push(error) });
    let stored = 0;
    const fillUp = async () => {
      for (; stored < 1_000; stored += 1) {
        await log.append(nameOf(stored), NO_STREAM, [bound('x'.repeat(20_000))]);
      }
    };
    const refused = await fillUp().catch((error: unknown) => error);
    expect(refused).toMatchObject({ reason: 'full', applied: 'no' });
    const big = [bound('x'.repeat(500_000)), bound('y'.repeat(500_000))];
    const waiting = [1, 2].map((n) => log.append(`big-lead_${n}`, NO_STREAM, big));
    for (const attempt of waiting) await expect(attempt).rejects.toMatchObject({ reason: 'full' });
    expect(await log.readAll({ after: 0, limit: 10_000 })).toHaveLength(stored);
    expect(await log.head()).toMatchObject({ position: stored });
    expect(await log.readStream('big-lead_1')).toEqual([]);

    expect(mount('remount', 'size=16m')).toBe(true);
    const result = await log.append('big-lead_1', NO_STREAM, big);
    expect(result).toEqual({ outcome: 'appended', revision: 1, position: stored + 2 });
    expect(await log.readStream('big-lead_1')).toHaveLength(2);
    expect(fatal).toEqual([]);
    await log.close();
    const again = sqliteEventLog({ directory });
    expect(await again.verify()).toEqual({ events: stored + 2, fault: null });
    await again.close();
  });
});
