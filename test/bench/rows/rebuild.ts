/** P: folding all read models from a million events, compared with reading the same log. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fill } from '#projections/engine/fill.ts';
import { rebuildAll } from '#projections/engine/rebuild.ts';
import { openTarget } from '#projections/engine/target.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { redisStore } from '#src/adapters/redis/read-model.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/adapters/sqlite/rows/read-model.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { REMOTE_PROJECTIONS } from '#src/wiring/read-models.ts';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { interleaved, middleOf } from '../measure.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Args = { directory: string; events: number };
type Details = { perSecond: number; peakMb: number };

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

export const rebuildOnce: Role<Args, Details> = async ({ directory, events }) => ({
  details: await timed(directory, events, async (log) => {
    await rebuildAll({ log, store: memoryStore(), projections: PROJECTIONS });
  }),
});

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
    await fill({ log, store, targets, upTo: args.events });
    await store.close();
  }),
});

/** Measures the first events only, because a million would take longer than all other benchmarks. */
const SQLITE_EVENTS = 100_000;

export const sqliteOnce: Role<{ directory: string; into: string }, Details> = async (args) => ({
  details: await timed(args.directory, SQLITE_EVENTS, async (log) => {
    const store = sqliteStore({ file: join(args.into, 'views.db'), log: log.id });
    const targets = await Promise.all(
      PROJECTIONS.map((projection) =>
        openTarget(store, { projection: projection, space: `${projection.name}@1.1` }),
      ),
    );
    await fill({ log, store, targets, upTo: SQLITE_EVENTS });
    await store.close();
  }),
});

export const once = async (role: string, args: object): Promise<Details> => {
  const child = await start<Details>(role, args);
  await child.stop();
  return child.details;
};

export const benchRebuild: Bench = async ({ million }) => {
  const { directory, events } = million;
  const args = { directory, events };
  await million.log();
  const taken = await interleaved(
    {
      rebuild: () => once('rebuild', args),
      fold: () => once('fold', args),
      bare: () => once('bare', args),
    },
    ROUNDS,
  );
  const sqlite = await once('sqlite', { directory, into: temporaryDirectory() });
  const control = middleOf(taken.fold, ({ perSecond }) => perSecond);
  const what = `rebuild of all read models, ${events.toLocaleString('en')} events`;
  return [
    rowOf(
      {
        id: 'P',
        what: `${what}, memory, vs bare readFold`,
        value: middleOf(taken.rebuild, ({ perSecond }) => perSecond),
        unit: '1/s',
        control,
      },
      { of: 'value', atLeast: 300_000 },
    ),
    rowOf(
      {
        id: 'P',
        what: '  its peak memory (RSS)',
        value: Math.max(...taken.rebuild.map(({ peakMb }) => peakMb)),
        unit: 'MB',
        control: Math.max(...taken.fold.map(({ peakMb }) => peakMb)),
      },
      { of: 'value', atMost: 1_500 },
    ),
    rowOf({
      id: 'P',
      what: '  bare readFold, vs SELECT type, data and JSON.parse',
      value: control,
      unit: '1/s',
      control: middleOf(taken.bare, ({ perSecond }) => perSecond),
    }),
    rowOf({
      id: 'P',
      what: `  of ${SQLITE_EVENTS.toLocaleString('en')} into the SQLite store`,
      value: sqlite.perSecond,
      unit: '1/s',
      control,
    }),
  ];
};
