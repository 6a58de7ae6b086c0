/**
 * P-memory, P-sqlite: rebuilding all read models from logs of 10,000 to a million events; the control is the smallest log,
 * so that the ratio is the growth.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fill } from '#projections/engine/fill.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import { Skips } from '#projections/engine/fold.ts';
import { openTarget } from '#projections/engine/target.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { memoryStore } from '../../support/memory-read-model.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { filesOf } from '#src/stores/sqlite/rows/read-model-file.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { fillsInThreads } from '#src/wiring/fill-threads.ts';
import { REMOTE_PROJECTIONS } from '#src/wiring/read-models.ts';
import type { Bench, Million } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { interleaved, middleOf } from '../measure.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Args = { directory: string; events: number };
type Details = { perSecond: number; peakMb: number };
type Rebuilt = Details & { rowsBytes: number; logBytes: number };

const PAGE_EVENTS = 4_000;
/** Small enough that parsed events never leave the young generation. */
const BARE_ROWS = 256;
const ROUNDS = 2;

const timed = async (
  directory: string,
  events: number,
  act: (log: EventLog) => Promise<void>,
): Promise<Details> => {
  const log = sqliteEventLog({ directory });
  const startedAt = performance.now();
  await act(log);
  const seconds = (performance.now() - startedAt) / 1_000;
  await log.close();
  // The maximum resident set size, in KiB on Linux.
  return { perSecond: events / seconds, peakMb: process.resourceUsage().maxRSS / 1_024 };
};

/** Rebuilds in memory, or with `into` in a SQLite store in that directory. */
export const rebuildOnce: Role<Args & { into?: string }, Rebuilt> = async (args) => {
  const { directory, events, into } = args;
  const file = join(into ?? '', 'views.db');
  const details = await timed(directory, events, async (log) => {
    if (into === undefined) {
      await rebuildAll({ log, stores: [{ store: memoryStore(), projections: PROJECTIONS }] });
      return;
    }
    const store = sqliteStore({ file, log: log.id });
    const skips = new Skips();
    const inThreads = fillsInThreads({ directory, store, skips, isServing: () => false });
    await rebuildAll({ log, stores: [{ store, projections: PROJECTIONS }], inThreads });
    await store.close();
  });
  const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const logBytes = bytesOf(join(directory, 'log.db'));
  const files = into === undefined ? [] : filesOf(file);
  const rowsBytes = files.reduce((sum, path) => sum + bytesOf(path), 0);
  return { details: { ...details, rowsBytes, logBytes } };
};

export const foldOnce: Role<Args, Details> = async ({ directory, events }) => ({
  details: await timed(directory, events, async (log) => {
    let after = 0;
    for (;;) {
      const last = (await log.readFold({ after, limit: PAGE_EVENTS })).at(-1);
      if (!last) return;
      after = last.position;
    }
  }),
});

/** Measures reading alone, without checks and folds. */
export const bareOnce: Role<Args, Details> = async ({ directory, events }) => ({
  details: await timed(directory, events, async () => {
    const db = new DatabaseSync(join(directory, 'log.db'), { readOnly: true });
    const rows = db.prepare(
      'SELECT type, data FROM events WHERE position > ? ORDER BY position LIMIT ?',
    );
    rows.setReturnArrays(true);
    for (let after = 0; after < events; after += BARE_ROWS)
      for (const [, data] of rows.all(after, BARE_ROWS) as unknown as [string, string][])
        JSON.parse(data);
    db.close();
  }),
});

/** Measures the read models that the service can store in Redis. */
export const remoteOnce: Role<Args & { url?: string }, Details> = async ({ url, ...args }) => ({
  details: await timed(args.directory, args.events, async (log) => {
    const store = url ? await redisStore({ url: new URL(url), log: log.id }) : memoryStore();
    const targets = await Promise.all(
      REMOTE_PROJECTIONS.map((projection) =>
        openTarget(store, { projection: projection, space: `${projection.name}@1.1` }),
      ),
    );
    await fill({ log, targets, upTo: args.events });
    await store.close();
  }),
});

export const once = async <Taken = Details>(role: string, args: object): Promise<Taken> => {
  const child = await start<Taken>(role, args);
  await child.stop();
  return child.details;
};

const usOf = ({ perSecond }: Details): number => 1e6 / perSecond;

type Sized = { events: number; taken: Rebuilt[] };

/** Rebuilds from each log; the largest, which has the goals, comes first. */
const rebuilds = async (million: Million, { toDisk }: { toDisk: boolean }): Promise<Sized[]> => {
  const sized: Sized[] = [];
  for (const events of [million.events, million.events / 10, million.events / 100]) {
    const directory = await million.logOf(events);
    const run = (): Promise<Rebuilt> => {
      const into = toDisk ? { into: temporaryDirectory() } : {};
      return once('rebuild', { directory, events, ...into });
    };
    // Files take long, and vary less.
    const { taken } = await interleaved({ taken: run }, toDisk ? 1 : ROUNDS);
    sized.push({ events, taken });
  }
  return sized;
};

const rowsOf = (
  named: { id: string; what: string; goals: [us: number, mb: number] },
  sized: Sized[],
) => {
  const { id, goals } = named;
  const smallest = sized.at(-1);
  const control = middleOf(smallest?.taken ?? [], usOf);
  const timeRows = sized.slice(0, -1).map(({ events, taken }, index) => {
    const count = `${events.toLocaleString('en')} events`;
    const what =
      index === 0
        ? `${named.what}, ${count}, wall time each, vs ${smallest?.events.toLocaleString('en')}`
        : `  ${count}`;
    const row = { id, what, value: middleOf(taken, usOf), unit: 'us', control } as const;
    return rowOf(row, index === 0 ? { of: 'value', atMost: goals[0] } : undefined);
  });
  const peak = Math.max(...(sized[0]?.taken ?? []).map(({ peakMb }) => peakMb));
  const memory = {
    id,
    what: '  peak memory (RSS) of the largest',
    value: peak,
    unit: 'MB',
  } as const;
  return [...timeRows, rowOf(memory, { of: 'value', atMost: goals[1] })];
};

export const benchMemoryRebuild: Bench = async ({ million }) => {
  const { directory, events } = million;
  const id = 'P-memory';
  const sized = await rebuilds(million, { toDisk: false });
  const args = { directory, events };
  const reads = await interleaved(
    { fold: () => once('fold', args), bare: () => once('bare', args) },
    ROUNDS,
  );
  const fold = middleOf(reads.fold, usOf);
  return [
    ...rowsOf({ id, what: 'rebuild in memory', goals: [10, 1_000] }, sized),
    rowOf({
      id,
      what: '  readFold alone, vs SELECT type, data and JSON.parse',
      value: fold,
      unit: 'us',
      control: middleOf(reads.bare, usOf),
    }),
  ];
};

export const benchSqliteRebuild: Bench = async ({ million }) => {
  const id = 'P-sqlite';
  const sized = await rebuilds(million, { toDisk: true });
  const { rowsBytes = 0, logBytes = 0 } = sized[0]?.taken[0] ?? {};
  const { directory, events } = million;
  const reads = await interleaved({ bare: () => once('bare', { directory, events }) }, ROUNDS);
  const bare = {
    id,
    what: '  the same, vs SELECT type, data and JSON.parse',
    value: middleOf(sized[0]?.taken ?? [], usOf),
    unit: 'us',
    control: middleOf(reads.bare, usOf),
  } as const;
  const file = {
    id,
    what: '  views.db, vs log.db',
    value: rowsBytes / 1e6,
    unit: 'MB',
    control: logBytes / 1e6,
  } as const;
  return [
    ...rowsOf({ id, what: 'rebuild in SQLite', goals: [30, 1_000] }, sized),
    rowOf(bare, { of: 'ratio', atMost: 10 }),
    rowOf(file, { of: 'ratio', atMost: 2 }),
  ];
};
