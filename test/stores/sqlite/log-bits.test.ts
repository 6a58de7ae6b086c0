/**
 * Flips single bits in each kind of page of log.db and streams.db, with the log open or closed. Nothing is answered that
 * the records do not support, and no append that was acknowledged runs again.
 */
import { cpSync, openSync, closeSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LogCorrupted, LogUnavailable, NO_STREAM, type NewEvent } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { sqliteEventLog, type SqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { bound } from '../../conformance/log-events.ts';
import { directories } from '../../support/processes/directories.ts';
import { seedOr } from '../../support/seed.ts';

const { fresh, removeAll } = directories('log-bits-');
afterAll(removeAll);

const FLIPS = Number(env['FLIPS'] ?? 40);
const SEED = seedOr(1);
const PAGE_BYTES = 4_096;
const OWNERS = ['anna', 'ben', 'cora'];
const STREAMS_EACH = 600;

/** A generator of numbers below `n` (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed;
  return (n: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n);
  };
};

type Stream = { name: string; owner: string; first: NewEvent; position: number };
const streams: Stream[] = [];
const pages: { file: string; kind: string; page: number }[] = [];
let base: string;

const idsOf = async (log: SqliteEventLog, owner: string, limit = 700): Promise<string[]> => {
  const ids: string[] = [];
  for (let after = 0; ; ) {
    const events = await log.readOwner(owner, { after, limit });
    ids.push(...events.map(({ id }) => id));
    const last = events.at(-1);
    if (!last) return ids;
    after = last.position;
  }
};

const expected = new Map<string, string[]>();
const positions = new Map<string, number>();
const isBetween = (id: string, after: number, upTo: number): boolean => {
  const position = positions.get(id) ?? 0;
  return position > after && position <= upTo;
};

beforeAll(async () => {
  base = fresh();
  const log = sqliteEventLog({ directory: base, streamsInMemoryMax: 100 });
  for (let n = 0; n < STREAMS_EACH; n += 1)
    await Promise.all(
      OWNERS.map(async (owner) => {
        const name = `${owner}-lead_${n}`;
        const first = bound(`text ${n} `.repeat(10));
        const made = await log.append(name, NO_STREAM, [first]);
        if (made.outcome !== 'appended') throw new Error(`${name} exists`);
        streams.push({ name, owner, first, position: made.position });
        if (n % 2 > 0) await log.append(name, 0, [bound('second'), bound('third')]);
      }),
    );
  for (const owner of OWNERS) expected.set(owner, await idsOf(log, owner));
  for (const { id, position } of await log.readAll({ after: 0, limit: 10_000 }))
    positions.set(id, position);
  await log.close();
  for (const file of ['log.db', 'streams.db']) {
    const db = new DatabaseSync(join(base, file), { readOnly: true });
    const rows = db.prepare('SELECT name, pagetype, pageno FROM dbstat').all();
    for (const row of rows)
      pages.push({
        file,
        kind: `${String(row['name'])} ${String(row['pagetype'])}`,
        page: Number(row['pageno']),
      });
    db.close();
  }
});

const flip = (path: string, at: number, bit: number): void => {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
};

/** An error that names damage, or what it prevents, is no silent answer. */
const orRefused = async <T>(answer: Promise<T>): Promise<T | 'refused'> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof LogCorrupted || error instanceof LogUnavailable) return 'refused';
    throw error;
  }
};

/** Returns every answer that the acknowledged appends do not support. */
const silentIn = async (log: SqliteEventLog, random: (n: number) => number): Promise<string[]> => {
  const silent: string[] = [];
  const { position: head } = await log.head();
  for (const owner of OWNERS) {
    const all = expected.get(owner) ?? [];
    const read = await orRefused(idsOf(log, owner, 100 + random(900)));
    if (read !== 'refused' && read.join() !== all.join()) silent.push(`events of ${owner}`);
    const [after, upTo] = [random(head), random(head)].sort((a, b) => a - b) as [number, number];
    const between = all.filter((id) => isBetween(id, after, upTo)).length;
    const part = await orRefused(log.readOwnerFold(owner, { after, upTo, limit: head }));
    if (part !== 'refused' && part.length !== between) silent.push(`part of events of ${owner}`);
    const newest = await orRefused(log.readBack({ upTo: head, limit: 30, owner }));
    if (newest !== 'refused' && newest.map(({ id }) => id).join() !== all.slice(-30).join())
      silent.push(`newest events of ${owner}`);
  }
  for (let n = 0; n < 60; n += 1) {
    const { name, first, position } = streams[random(streams.length)] as Stream;
    const stored = await orRefused(log.readStream(name));
    const length = Number(name.split('_')[1]) % 2 > 0 ? 3 : 1;
    if (stored !== 'refused' && (stored.length !== length || stored[0]?.id !== first.id))
      silent.push(`stream ${name}`);
    const again = await orRefused(log.append(name, NO_STREAM, [first]));
    if (again !== 'refused' && (again.outcome !== 'appended' || again.position !== position))
      silent.push(`${name} ran again`);
  }
  const ofType = await orRefused(log.readAll({ after: 0, limit: 10_000, types: ['RequestBound'] }));
  if (ofType !== 'refused' && ofType.length !== head) silent.push('events of a type');
  return silent;
};

/** What became of a damaged log: an answer that is silent, or how it was noticed. */
const outcomeOf = async (directory: string, run: (log: SqliteEventLog) => Promise<string[]>) => {
  let log: SqliteEventLog;
  try {
    log = sqliteEventLog({ directory });
  } catch (error) {
    if (error instanceof StartupError) return [];
    throw error;
  }
  try {
    return await run(log);
  } finally {
    await log.close();
  }
};

test(`None of ${FLIPS} flipped bits gives a wrong answer, with the log open or closed`, async () => {
  const random = randomOf(SEED);
  const kinds = [...new Set(pages.map(({ file, kind }) => `${file} ${kind}`))];
  const silent: string[] = [];
  for (let n = 0; n < FLIPS; n += 1) {
    const kind = kinds[n % kinds.length];
    const those = pages.filter((page) => `${page.file} ${page.kind}` === kind);
    const { file, page } = those[random(those.length)] as (typeof pages)[number];
    const at = (page - 1) * PAGE_BYTES + random(PAGE_BYTES);
    const bit = random(8);
    const directory = fresh();
    cpSync(base, directory, { recursive: true });
    const damage = () => flip(join(directory, file), at, bit);
    const isRunning = random(2) > 0;
    if (!isRunning) damage();
    const found = await outcomeOf(directory, (log) => {
      if (isRunning) damage();
      return silentIn(log, random);
    });
    const what = `${kind}, byte ${at}, bit ${bit}, ${isRunning ? 'running' : 'stopped'}`;
    silent.push(...found.map((one) => `${what}: ${one}`));
  }
  expect(silent, `SEED=${SEED}`).toEqual([]);
});

test.each([
  ['hides events of an owner', 'UPDATE owners SET events = events + 1'],
  ['ends before the last event of a stream', 'UPDATE heads SET revision = 3 WHERE stream_id < 99'],
])('An index that %s is named, refused, and built again while the log runs', async (_what, sql) => {
  const directory = fresh();
  cpSync(base, directory, { recursive: true });
  const db = new DatabaseSync(join(directory, 'log.db'));
  db.exec(sql);
  db.close();
  const log = sqliteEventLog({ directory });
  expect(log.trouble?.()).toBeUndefined();
  await log.check(0);
  expect(log.trouble?.()).toMatchObject({
    reason: 'log_index_damaged',
    detail: expect.stringContaining('log index damaged') as string,
  });
  while (log.trouble?.() !== undefined) await turn();
  for (const owner of OWNERS) expect(await idsOf(log, owner)).toEqual(expected.get(owner));
  expect(await silentIn(log, randomOf(SEED))).toEqual([]);
  await log.close();
});
