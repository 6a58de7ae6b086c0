/** The definition of the port `ProjectionStore`. Every adapter passes all of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ListEntry,
  type ProjectionStore,
  type ReadModels,
  type Row,
  type RowWrite,
  PARTITIONS,
  partitionOf,
} from '#src/ports/read-model.ts';
import { listConformance } from './read-model-lists.ts';

export type StoreUnderTest = {
  store: ProjectionStore;
  /** What readers see of the store. */
  readModels: ReadModels;
  /** Reopens the store after a kill. Absent if the store does not survive its process. */
  reopenAfterKill?: () => Promise<{ store: ProjectionStore; readModels: ReadModels }>;
  cleanup(): Promise<void>;
};

const SPACE = 'things@1.1';
const NEXT = 'things@1.2';
const ANNA = partitionOf('anna');
const BORIS = partitionOf('boris');

const put = (scope: string, key: string, row: Row, sort: number | null = null): RowWrite => ({
  scope,
  key,
  row,
  sort,
});
const gone = (scope: string, key: string): RowWrite => ({ scope, key, row: null, sort: null });
const batch = (scope: string, from: number, to: number, writes: RowWrite[] = []) => ({
  partition: partitionOf(scope),
  from,
  to,
  writes,
});

/** `outlives`: the store keeps its rows after its process was killed. */
export const readModelConformance = (
  name: string,
  open: () => Promise<StoreUnderTest>,
  { outlives = false } = {},
): void => {
  describe(`read models: ${name}`, () => {
    let under: StoreUnderTest;
    let store: ProjectionStore;
    const load = async (scope: string, key: string, space = SPACE) =>
      (await store.load(space, [{ scope, key }]))?.[0];
    const list = (before?: number, limit = 10) =>
      under.readModels.list('things', { scope: 'anna', limit, ...(before && { before }) });

    beforeEach(async () => {
      under = await open();
      store = under.store;
    });
    afterEach(() => under.cleanup());

    test('A read model store starts with nothing folded', async () => {
      expect(await store.checkpoints(SPACE)).toEqual(new Array(PARTITIONS).fill(0));
      expect(await store.spaces('things')).toEqual({ live: null, all: [] });
      expect(await load('anna', 'a')).toBeUndefined();
    });

    test('A read model store commits rows and checkpoint of a partition together', async () => {
      expect(
        await store.commit(SPACE, [batch('anna', 0, 5, [put('anna', 'a', { n: 1 })])]),
      ).toEqual(['committed']);
      expect((await store.checkpoints(SPACE))[ANNA]).toBe(5);
      expect(await load('anna', 'a')).toEqual({ n: 1 });
    });

    test('A read model store commits large batches together, decides on each by itself, and answers in their order', async () => {
      const owners = ['anna', 'boris', 'carla', 'dora'];
      const large = (scope: string, from: number) => {
        const rows = Array.from({ length: 700 }, (_, n) => put(scope, `k${n}`, { scope, n }, n));
        return batch(scope, from, from + 10, rows);
      };
      const batches = owners.map((scope) => large(scope, scope === 'carla' ? 5 : 0));
      expect(await store.commit(SPACE, batches)).toEqual([
        'committed',
        'committed',
        'stale',
        'committed',
      ]);
      expect(await store.count(SPACE)).toBe(2_100);
      for (const scope of owners)
        expect(await load(scope, 'k699')).toEqual(
          scope === 'carla' ? undefined : { scope, n: 699 },
        );
    });

    test('A read model store changes nothing for a batch that begins at another checkpoint', async () => {
      await store.commit(SPACE, [batch('anna', 0, 5, [put('anna', 'a', { n: 1 })])]);
      for (const from of [0, 4, 6]) {
        const late = batch('anna', from, 9, [
          put('anna', 'a', { n: 2 }),
          put('anna', 'b', { n: 3 }),
        ]);
        expect(await store.commit(SPACE, [late])).toEqual(['stale']);
      }
      expect((await store.checkpoints(SPACE))[ANNA]).toBe(5);
      expect(await load('anna', 'a')).toEqual({ n: 1 });
      expect(await load('anna', 'b')).toBeUndefined();
    });

    test('A read model store decides on each partition of a commit by itself', async () => {
      expect(ANNA).not.toBe(BORIS);
      const answers = await store.commit(SPACE, [
        batch('anna', 3, 5, [put('anna', 'a', { n: 1 })]),
        batch('boris', 0, 7, [put('boris', 'b', { n: 2 })]),
      ]);
      expect(answers).toEqual(['stale', 'committed']);
      expect(await load('anna', 'a')).toBeUndefined();
      expect(await load('boris', 'b')).toEqual({ n: 2 });
    });

    test('A read model store moves a checkpoint without rows', async () => {
      await store.commit(SPACE, [batch('anna', 0, 8)]);
      expect((await store.checkpoints(SPACE))[ANNA]).toBe(8);
      expect(await store.commit(SPACE, [batch('anna', 8, 9)])).toEqual(['committed']);
    });

    test('A read model store loads rows in the order of their keys, with gaps for missing ones', async () => {
      await store.commit(SPACE, [
        batch('anna', 0, 5, [put('anna', 'a', { n: 1 }), put('anna', 'b', { n: 2 })]),
      ]);
      const keys = ['b', 'none', 'a'].map((key) => ({ scope: 'anna', key }));
      expect(await store.load(SPACE, keys)).toEqual([{ n: 2 }, undefined, { n: 1 }]);
    });

    test('A read model store loads nothing if a partition is at another checkpoint', async () => {
      await store.commit(SPACE, [batch('anna', 0, 5, [put('anna', 'a', { n: 1 })])]);
      const at = await store.checkpoints(SPACE);
      const keys = [
        { scope: 'anna', key: 'a' },
        { scope: 'boris', key: 'b' },
      ];
      expect(await store.load(SPACE, keys, at)).toEqual([{ n: 1 }, undefined]);
      for (const other of [0, 4, 6])
        expect(await store.load(SPACE, keys, at.with(ANNA, other))).toBeUndefined();
      expect(await store.load(SPACE, keys, at.with(BORIS, 1))).toBeUndefined();
    });

    test('A read model store replaces and deletes rows', async () => {
      await store.commit(SPACE, [
        batch('anna', 0, 1, [put('anna', 'a', { n: 1 }, 1), put('anna', 'b', { n: 2 }, 2)]),
      ]);
      await store.commit(SPACE, [
        batch('anna', 1, 2, [
          put('anna', 'a', { n: 9 }, 1),
          gone('anna', 'b'),
          gone('anna', 'none'),
        ]),
      ]);
      await store.goLive(SPACE);
      expect(await list()).toEqual([{ row: { n: 9 }, sort: 1, key: 'a' }]);
      await store.commit(SPACE, [batch('anna', 2, 3, [gone('anna', 'a')])]);
      await store.commit(SPACE, [batch('anna', 3, 4, [put('anna', 'a', { n: 5 }, 7)])]);
      expect(await list()).toEqual([{ row: { n: 5 }, sort: 7, key: 'a' }]);
      expect(await under.readModels.get('things', 'anna', 'b')).toBeUndefined();
    });

    test('A read model store lists a scope newest first, in pages, whatever the order of writing', async () => {
      const order = [4, 1, 7, 3, 6, 2, 5];
      const writes = order.map((n) => put('anna', `k${n}`, { n }, n * 2 ** 40));
      await store.commit(SPACE, [
        batch('anna', 0, 9, [...writes, put('anna', 'unlisted', { n: 0 })]),
        batch('boris', 0, 9, [put('boris', 'k9', { n: 9 }, 9)]),
      ]);
      await store.goLive(SPACE);
      const first = await list(undefined, 3);
      expect(first.map(({ key }) => key)).toEqual(['k7', 'k6', 'k5']);
      const second = await list(first.at(-1)?.sort, 3);
      expect(second.map(({ key }) => key)).toEqual(['k4', 'k3', 'k2']);
      expect(await list(second.at(-1)?.sort, 3)).toEqual([
        { row: { n: 1 }, sort: 2 ** 40, key: 'k1' },
      ]);
      expect(await list(2 ** 40, 3)).toEqual([]);
      const between = { scope: 'anna', before: 6 * 2 ** 40, downTo: 4 * 2 ** 40, limit: 10 };
      const some = await under.readModels.list('things', between);
      expect(some.map(({ key }) => key)).toEqual(['k5', 'k4']);
      expect(await under.readModels.get('things', 'anna', 'unlisted')).toEqual({ n: 0 });
    });

    test('A read model store has the same digest for equal rows in any order of writing', async () => {
      const writes = ['c', 'a', 'b'].map((key, n) =>
        put('anna', key, { key, list: [n, 'x', null] }, n),
      );
      await store.commit(SPACE, [batch('anna', 0, 4, writes)]);
      const again = [...writes].reverse();
      for (const [i, write] of again.entries())
        await store.commit(NEXT, [batch('anna', i, i + 1, [write])]);
      expect(await store.count(SPACE)).toBe(3);
      expect(await store.count('never@1.1')).toBe(0);
      const one = await store.digest(SPACE, ANNA);
      expect(one).toEqual({ checkpoint: 4, rows: 3, digest: expect.any(String) });
      expect(await store.digest(NEXT, ANNA)).toEqual({ ...one, checkpoint: 3 });
    });

    test('A read model store is filled with whole partitions as with commits', async () => {
      const lists: ListEntry[] = [
        ['new', 1],
        ['old', 2],
      ];
      const rows = Array.from({ length: 1_200 }, (_, n) => ({
        ...put('anna', `k${String(n).padStart(4, '0')}`, { n }, n % 3 === 0 ? null : n),
        added: lists.slice(0, n % 3),
      }));
      await store.commit(SPACE, [batch('anna', 0, 8, rows)]);
      await store.fillPartition?.(NEXT, ANNA, { position: 8, rows });
      expect(await store.digest(NEXT, ANNA)).toEqual(await store.digest(SPACE, ANNA));
      await store.check?.(NEXT, ANNA);
      await store.goLive(NEXT);
      expect((await list(undefined, 2)).map(({ key }) => key)).toEqual(['k1199', 'k1198']);
      const listed = await under.readModels.list('things', {
        scope: 'anna',
        list: 'old',
        limit: 9,
      });
      expect(listed).toHaveLength(9);
      expect(await store.commit(NEXT, [batch('anna', 8, 9, [gone('anna', 'k0001')])])).toEqual([
        'committed',
      ]);
      expect(await store.count(NEXT)).toBe(1_199);
      await store.fillPartition?.(NEXT, BORIS, { position: 9, rows: [] });
      expect((await store.checkpoints(NEXT))[BORIS]).toBe(9);
    });

    test('A read model store includes every value in a digest, and nothing of other partitions', async () => {
      const empty = (await store.digest(SPACE, ANNA)).digest;
      await store.commit(SPACE, [batch('boris', 0, 1, [put('boris', 'a', { n: 1 })])]);
      expect((await store.digest(SPACE, ANNA)).digest).toBe(empty);
      await store.commit(SPACE, [batch('anna', 0, 1, [put('anna', 'a', { n: 1 })])]);
      const one = (await store.digest(SPACE, ANNA)).digest;
      await store.commit(SPACE, [batch('anna', 1, 2, [put('anna', 'a', { n: 2 })])]);
      expect(new Set([empty, one, (await store.digest(SPACE, ANNA)).digest]).size).toBe(3);
    });

    test('A read model store reads the rows of a partition with its checkpoint, and none of other partitions', async () => {
      const listed = { ...put('anna', 'b', { n: 2 }, 7), added: [['new', 2] as const] };
      await store.commit(SPACE, [batch('anna', 0, 3, [put('anna', 'a', { n: 1 }), listed])]);
      const { checkpoint, rows } = await store.partitionRows(SPACE, ANNA);
      expect(checkpoint).toBe(3);
      expect(rows.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
        { scope: 'anna', key: 'a', json: '{"n":1}', entries: [] },
        {
          scope: 'anna',
          key: 'b',
          json: '{"n":2}',
          entries: [
            ['', 7],
            ['new', 2],
          ],
        },
      ]);
      expect(await store.partitionRows(SPACE, (ANNA + 1) % 64)).toEqual({
        checkpoint: 0,
        rows: [],
      });
    });

    test('A read model store includes the JSON of a row in a digest', async () => {
      const row = { text: 'ü "quoted"', list: [1.5, null], none: undefined, at: 1_790e9 };
      await store.commit(SPACE, [batch('anna', 0, 1, [put('anna', 'a', row)])]);
      await store.commit(NEXT, [
        batch('anna', 0, 1, [put('anna', 'a', JSON.parse(JSON.stringify(row)))]),
      ]);
      expect(await store.digest(NEXT, ANNA)).toEqual(await store.digest(SPACE, ANNA));
    });

    test('A read model store separates spaces and switches readers in one step', async () => {
      await store.commit(SPACE, [batch('anna', 0, 1, [put('anna', 'a', { n: 1 }, 1)])]);
      await store.goLive(SPACE);
      await store.commit(NEXT, [batch('anna', 0, 1, [put('anna', 'a', { n: 2 }, 1)])]);
      await store.commit('others@1.1', [batch('anna', 0, 1)]);
      expect(await under.readModels.get('things', 'anna', 'a')).toEqual({ n: 1 });
      const { live, all } = await store.spaces('things');
      expect([live, all.toSorted()]).toEqual([SPACE, [SPACE, NEXT]]);
      await store.goLive(NEXT);
      expect(await under.readModels.get('things', 'anna', 'a')).toEqual({ n: 2 });
      expect((await store.spaces('things')).live).toBe(NEXT);
    });

    test('A read model store drops a space with rows and checkpoints, and starts it empty again', async () => {
      for (const space of [SPACE, NEXT])
        await store.commit(space, [batch('anna', 0, 1, [put('anna', 'a', { n: 1 }, 1)])]);
      await store.goLive(NEXT);
      await store.drop(SPACE);
      expect(await store.spaces('things')).toEqual({ live: NEXT, all: [NEXT] });
      expect((await store.checkpoints(SPACE))[ANNA]).toBe(0);
      expect(await load('anna', 'a')).toBeUndefined();
      expect(await load('anna', 'a', NEXT)).toEqual({ n: 1 });
      await store.commit(SPACE, [batch('anna', 0, 2)]);
      expect(await load('anna', 'a')).toBeUndefined();
      await store.drop(NEXT);
      expect((await store.spaces('things')).live).toBeNull();
    });

    listConformance(() => under);

    if (!outlives) return;
    test('A read model store keeps flushed rows after a kill, and no rows beyond its checkpoint', async () => {
      if (!under.reopenAfterKill)
        throw new Error('a store that outlives must say how to reopen it');
      await store.goLive(SPACE);
      await store.commit(SPACE, [batch('anna', 0, 5, [put('anna', 'a', { n: 5 }, 5)])]);
      await store.flush();
      await store.commit(SPACE, [
        batch('anna', 5, 6, [put('anna', 'a', { n: 6 }, 5), put('anna', 'b', { n: 6 }, 6)]),
      ]);
      const after = await under.reopenAfterKill();
      store = after.store;
      const reached = (await store.checkpoints(SPACE))[ANNA] ?? 0;
      expect(reached).toBeGreaterThanOrEqual(5);
      expect(await load('anna', 'a')).toEqual({ n: reached });
      expect(await load('anna', 'b')).toEqual(reached === 6 ? { n: 6 } : undefined);
      expect(await after.readModels.get('things', 'anna', 'a')).toEqual({ n: reached });
      expect((await store.spaces('things')).live).toBe(SPACE);
    });
  });
};
