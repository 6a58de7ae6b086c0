import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scanLists } from '#src/reading/lists.ts';
import type { ReadModels } from '#src/ports/read-model.ts';

type Listed = { sort: number; lists: string[]; isMatch: boolean };

/** Rows at random places, each in one of two lists or in both. */
const rowsAtPlaces = fc
  .uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 })
  .chain((places) =>
    fc.tuple(
      ...places.map((sort) =>
        fc.record({
          sort: fc.constant(sort),
          lists: fc.subarray(['a', 'b'], { minLength: 1 }),
          isMatch: fc.boolean(),
        }),
      ),
    ),
  );

/** The list of each row is its only content that a store would know. */
const readersOver = (rows: readonly Listed[]): Pick<ReadModels, 'list'> => ({
  list: (async (_name, { list = '', before = Infinity, downTo = 0, limit, isAscending }) =>
    rows
      .filter(({ sort, lists }) => lists.includes(list) && sort < before && sort >= downTo)
      .sort((x, y) => (isAscending ? x.sort - y.sort : y.sort - x.sort))
      .slice(0, limit)
      .map((row) => ({ row, sort: row.sort, key: `${row.sort}` }))) as ReadModels['list'],
});

it('A scan of two lists has every match once and in order, in pages of any size and in both directions', async () => {
  const property = fc.asyncProperty(
    rowsAtPlaces,
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 5, max: 20 }),
    fc.boolean(),
    async (rows, limit, rowsMax, isAscending) => {
      const found: number[] = [];
      for (let after: number | undefined; ; ) {
        const { rows: page, next } = await scanLists<Listed>(readersOver(rows), {
          name: 'things',
          scope: 'all',
          ranges: [{ list: 'a' }, { list: 'b' }],
          isAscending,
          after,
          isMatch: (row) => row.isMatch,
          limit,
          rowsMax,
        });
        found.push(...page.map(({ sort }) => sort));
        if (next === null) break;
        after = next;
      }
      const matches = rows.filter(({ isMatch }) => isMatch).map(({ sort }) => sort);
      expect(found).toEqual(matches.sort((a, b) => (isAscending ? a - b : b - a)));
    },
  );
  await fc.assert(property);
});
