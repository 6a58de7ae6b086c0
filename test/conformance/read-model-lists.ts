/** The part of the definition of the port `ProjectionStore` about the lists of a scope. */
import { expect, test } from 'vitest';
import {
  type ListEntry,
  type ListQuery,
  partitionOf,
  type ProjectionStore,
  type RowWrite,
} from '#src/ports/read-model.ts';
import type { StoreUnderTest } from './read-model.ts';

const SPACE = 'things@1.1';
const NEXT = 'things@1.2';
const ANNA = partitionOf('anna');

const put = (
  key: string,
  sort: number,
  added: readonly ListEntry[],
  removed: readonly ListEntry[] = [],
): RowWrite => ({ scope: 'anna', key, row: { key }, sort, added, removed });

export const listConformance = (underTest: () => StoreUnderTest): void => {
  const commit = (
    store: ProjectionStore,
    from: number,
    writes: readonly RowWrite[],
    space = SPACE,
  ) => store.commit(space, [{ partition: ANNA, from, to: from + 1, writes }]);
  const keys = async (query: Partial<ListQuery>): Promise<string[]> => {
    const all = { scope: 'anna', limit: 10, ...query };
    return (await underTest().readModels.list('things', all)).map(({ key }) => key);
  };

  test('A read model store lists the rows of each list apart, in the order of the entries', async () => {
    const { store } = underTest();
    await store.commit(SPACE, [
      {
        partition: partitionOf('ann'),
        from: 0,
        to: 1,
        writes: [{ ...put('x', 9, [['even', 9]]), scope: 'ann' }],
      },
    ]);
    await commit(store, 0, [
      put('a', 1, [['odd', 1]]),
      put('b', 2, [
        ['even', 2],
        ['time', 70],
      ]),
      put('c', 3, [
        ['odd', 3],
        ['time', 60],
      ]),
      put('d', 4, [
        ['even', 4],
        ['time', 70],
      ]),
    ]);
    await store.goLive(SPACE);
    expect(await keys({})).toEqual(['d', 'c', 'b', 'a']);
    expect(await keys({ list: 'even' })).toEqual(['d', 'b']);
    expect(await keys({ list: 'odd', before: 3 })).toEqual(['a']);
    expect(await keys({ list: 'odd', before: 4, downTo: 2 })).toEqual(['c']);
    expect(await keys({ list: 'ev' })).toEqual([]);
    expect(await keys({ list: 'time' })).toEqual(['d', 'b', 'c']);
    expect(await keys({ list: 'time', before: 70 })).toEqual(['c']);
    expect(await keys({ list: 'time', before: 70, beforeKey: 'd' })).toEqual(['b', 'c']);
    expect(await keys({ list: 'time', limit: 1, isAscending: true })).toEqual(['c']);
    expect(await keys({ list: 'time', downTo: 61, limit: 1, isAscending: true })).toEqual(['b']);
    expect(await keys({ list: 'time', downTo: 71, limit: 1, isAscending: true })).toEqual([]);
    const first = { scope: 'anna', list: 'time', limit: 1 };
    expect(await underTest().readModels.list('things', first)).toEqual([
      { row: { key: 'd' }, sort: 70, key: 'd' },
    ]);
  });

  test('A read model store moves a row between lists, and removes a deleted row from all of them', async () => {
    const { store } = underTest();
    await commit(store, 0, [put('a', 1, [['new', 1]]), put('b', 2, [['new', 2]])]);
    await store.goLive(SPACE);
    await commit(store, 1, [put('b', 2, [['old', 2]], [['new', 2]])]);
    expect([await keys({ list: 'new' }), await keys({ list: 'old' })]).toEqual([['a'], ['b']]);
    await commit(store, 2, [put('b', 2, [['new', 2]], [['old', 2]])]);
    await commit(store, 3, [
      { scope: 'anna', key: 'a', row: null, sort: null, removed: [['new', 1]] },
    ]);
    expect([await keys({ list: 'new' }), await keys({ list: 'old' })]).toEqual([['b'], []]);
    await commit(store, 4, [put('a', 3, [['new', 3]])]);
    expect(await keys({ list: 'new' })).toEqual(['a', 'b']);
  });

  test('A read model store changes no list for a batch that begins at another checkpoint', async () => {
    const { store } = underTest();
    await commit(store, 0, [put('a', 1, [['new', 1]])]);
    await store.goLive(SPACE);
    expect(await commit(store, 5, [put('a', 1, [['old', 1]], [['new', 1]])])).toEqual(['stale']);
    expect([await keys({ list: 'new' }), await keys({ list: 'old' })]).toEqual([['a'], []]);
  });

  test('A read model store includes the entries of lists in a digest, in any order of writing', async () => {
    const { store } = underTest();
    const entries: ListEntry[] = [
      ['new', 1],
      ['time', 9],
    ];
    await commit(store, 0, [put('a', 1, entries), put('b', 2, entries)]);
    await commit(store, 0, [put('b', 2, entries)], NEXT);
    await commit(store, 1, [put('a', 1, [])], NEXT);
    expect((await store.digest(NEXT, ANNA)).digest).not.toBe(
      (await store.digest(SPACE, ANNA)).digest,
    );
    await commit(store, 2, [put('a', 1, entries.toReversed())], NEXT);
    expect((await store.digest(NEXT, ANNA)).digest).toBe((await store.digest(SPACE, ANNA)).digest);
  });

  test('A read model store drops the lists of a space with its rows', async () => {
    const { store } = underTest();
    await commit(store, 0, [put('a', 1, [['new', 1]])]);
    await store.drop(SPACE);
    await commit(store, 0, [put('b', 2, [['new', 2]])]);
    await store.goLive(SPACE);
    expect(await keys({ list: 'new' })).toEqual(['b']);
  });
};
