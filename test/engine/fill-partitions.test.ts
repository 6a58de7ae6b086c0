/** Rows that are folded in memory and written once are those that batches make, also in threads and after a stop. */
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { fill } from '#projections/engine/fill.ts';
import { fillPartitions } from '#projections/engine/folded-rows.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import { Skips } from '#projections/engine/fold.ts';
import { openTarget } from '#projections/engine/target.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { ALL_PARTITIONS, type ProjectionStore } from '#src/ports/read-model.ts';
import { memoryStore } from '../support/memory-read-model.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { fillsInThreads } from '#src/wiring/fill-threads.ts';
import { logMaker } from '../bench/rows/million.ts';
import { directories } from '../support/processes/directories.ts';

const temporary = directories('tributary-fill-');
afterAll(() => temporary.removeAll());

const spaceOf = (name: string): string => `${name}@1.1`;

/** A log of so many events, and the digests of its rows as batches make them. */
const history = async (events: number) => {
  const directory = temporary.fresh();
  await logMaker({ directory, events });
  const log = sqliteEventLog({ directory });
  const head = (await log.head()).position;
  const { fillPartition: _none, ...store } = memoryStore();
  await fill({ log, targets: await targetsOf(store) });
  return { directory, log, head, right: await digestsOf(store) };
};

const targetsOf = (store: ProjectionStore) =>
  Promise.all(
    PROJECTIONS.map((projection) =>
      openTarget(store, { projection, space: spaceOf(projection.name) }),
    ),
  );

const digestsOf = async (store: ProjectionStore, nameOf = spaceOf) => {
  const digests: Record<string, { rows: number; digest: string }> = {};
  for (const { name } of PROJECTIONS)
    for (const partition of ALL_PARTITIONS) {
      const { rows, digest } = await store.digest(nameOf(name), partition);
      if (rows > 0) digests[`${name} ${partition}`] = { rows, digest };
    }
  return digests;
};

/** The number of partitions of `handoffs` that are filled. */
const filledOf = async (store: ProjectionStore, head: number): Promise<number> =>
  (await store.checkpoints(spaceOf('handoffs'))).filter((at) => at === head).length;

describe('A fill of empty partitions', () => {
  test('A fill of empty partitions makes the rows that batches make, however few fit into memory at a time', async () => {
    const { log, head, right } = await history(3_000);
    expect(Object.keys(right).length).toBeGreaterThan(200);
    const spaces = PROJECTIONS.map((projection) => ({
      projection,
      space: spaceOf(projection.name),
    }));
    const readingsOf: number[] = [];
    for (const rowsMax of [Infinity, 1_000, 1]) {
      const store = sqliteStore({ file: join(temporary.fresh(), 'rows.db') });
      let readings = 0;
      const shares: number[] = [];
      await fillPartitions({
        log: {
          readFold: (page) => {
            if (page.after === 0) readings += 1;
            return log.readFold(page);
          },
        },
        spaces,
        partitions: ALL_PARTITIONS,
        upTo: head,
        rowsMax,
        onProgress: (share) => void shares.push(share),
        write: ({ space, partition, ...filled }) =>
          store.fillPartition?.(space, partition, filled) ?? Promise.reject(new Error('none')),
      });
      expect(await digestsOf(store), `${rowsMax} rows`).toEqual(right);
      expect(shares.at(-1)).toBe(1);
      for (const { space } of spaces) {
        expect(await store.checkpoints(space)).toEqual(ALL_PARTITIONS.map(() => head));
        for (const partition of ALL_PARTITIONS) await store.check?.(space, partition);
      }
      await store.close();
      readingsOf.push(readings);
    }
    // Read again for each part of the partitions; a part can be a single one, whatever its size.
    const [all = 0, some = 0, each = 0] = readingsOf;
    expect([all, some > 1, each > some, each <= 64]).toEqual([1, true, true, true]);
    await log.close();
  });

  test('A fill of empty partitions reads a log of large events a few times, and leaves out a partition that alone is too large', async () => {
    const { log, head, right } = await history(3_000);
    const filled = async (options: { events: number; rowsMax?: number }) => {
      const store = sqliteStore({ file: join(temporary.fresh(), 'rows.db') });
      const targets = await targetsOf(store);
      let readings = 0;
      await fillPartitions({
        log: {
          // A page ends early where events are large.
          readFold: ({ after }) => {
            if (after === 0) readings += 1;
            return log.readFold({ after, limit: options.events });
          },
        },
        spaces: targets,
        partitions: ALL_PARTITIONS,
        upTo: head,
        rowsMax: options.rowsMax,
        leavesOutLarge: true,
        onProgress: () => {},
        write: ({ space, partition, ...rows }) =>
          store.fillPartition?.(space, partition, rows) ?? Promise.reject(new Error('none')),
      });
      const leftOut = ALL_PARTITIONS.length - (await filledOf(store, head));
      for (const target of targets) target.checkpoints = await store.checkpoints(target.space);
      await fill({ log, targets });
      expect(await digestsOf(store)).toEqual(right);
      await store.close();
      return { readings, leftOut };
    };
    expect(await filled({ events: 5 })).toEqual({ readings: 2, leftOut: 0 });
    const { readings, leftOut } = await filled({ events: 1_000, rowsMax: 400 });
    expect([readings < 64, leftOut > 0, leftOut < 64]).toEqual([true, true, true]);
    await log.close();
  });

  test('A fill of empty partitions runs in threads where events are many, and continues with what an interrupted one left', async () => {
    const { directory, log, head, right } = await history(21_000);
    const file = join(temporary.fresh(), 'views.db');
    const rebuilt = async (stopped?: AbortController): Promise<void> => {
      const store = sqliteStore({ file });
      const inThreads = fillsInThreads({
        directory,
        store,
        skips: new Skips(),
        isServing: () => false,
      });
      let threads = 0;
      const rebuilding = rebuildAll({
        log,
        stores: [{ store, projections: PROJECTIONS }],
        inThreads: (order) => {
          threads += 1;
          const onProgress = (share: number): void => {
            if (share > 0.5) stopped?.abort(new Error('stopped'));
          };
          return inThreads({ ...order, signal: stopped?.signal, onProgress });
        },
      });
      try {
        await rebuilding;
      } finally {
        await store.close();
      }
      expect(threads).toBe(1);
    };
    const stopped = new AbortController();
    await expect(rebuilt(stopped)).rejects.toThrow('stopped');
    await rebuilt();
    const store = sqliteStore({ file });
    const live = (name: string): string => store.live(name) ?? '';
    expect(await digestsOf(store, live)).toEqual(right);
    for (const { name } of PROJECTIONS)
      expect(await store.checkpoints(live(name))).toEqual(ALL_PARTITIONS.map(() => head));
    await store.close();
    await log.close();
  });
});
