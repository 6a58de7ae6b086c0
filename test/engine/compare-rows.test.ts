import { expect, test } from 'vitest';
import { addDifferences, compareRows } from '#projections/engine/compare-rows.ts';

const rowsOf = (rows: Record<string, object>) =>
  Object.entries(rows).map(([key, row]) => ({
    scope: 'anna',
    key,
    json: JSON.stringify(row),
    entries: [],
  }));

test('Equal rows have no differences, in whatever order they are', () => {
  const rows = rowsOf({ a: { count: 1 }, b: { count: 2 } });
  const none = { rows: 0, onlyBefore: 0, onlyAfter: 0, fields: {}, first: [] };
  expect(compareRows(rows, rows.toReversed())).toEqual(none);
});

test('Differences are counted by member, and rows of one side apart', () => {
  const before = rowsOf({ a: { n: 1, m: 1 }, b: { n: 1 }, c: { n: 1 }, gone: { n: 1 } });
  const after = rowsOf({ a: { n: 2, m: 2 }, b: { n: 2, o: 1 }, c: { n: 1 }, come: { n: 1 } });
  const found = compareRows(before, after);
  expect(found).toMatchObject({
    rows: 4,
    onlyBefore: 1,
    onlyAfter: 1,
    fields: { n: 2, m: 1, o: 1 },
  });
  expect(found.first.map(({ key, before: had, after: has }) => [key, had, has])).toEqual([
    ['a', '{"n":1,"m":1}', '{"n":2,"m":2}'],
    ['b', '{"n":1}', '{"n":2,"o":1}'],
    ['come', null, '{"n":1}'],
    ['gone', '{"n":1}', null],
  ]);
});

test('The first ten differences of all partitions are kept in order of scope and key', () => {
  const numbered = (from: number, n: number) =>
    rowsOf(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${from + at}`, { n }])));
  const total = compareRows(numbered(30, 1), numbered(30, 2));
  addDifferences(total, compareRows(numbered(10, 1), numbered(10, 2)));
  expect(total).toMatchObject({ rows: 24, fields: { n: 24 } });
  expect(total.first.map(({ key }) => key)).toEqual(
    Array.from({ length: 10 }, (_, at) => `k${10 + at}`),
  );
});

test('Rows differ that are in other lists, or at other places of them', () => {
  const row = { scope: 'anna', key: 'a', json: '{"n":1}' };
  const [old, moved] = [
    { ...row, entries: [['', 1] as const] },
    { ...row, entries: [['', 2] as const] },
  ];
  expect(compareRows([old], [moved])).toMatchObject({
    rows: 1,
    fields: { lists: 1 },
    first: [{ before: '{"lists":[["",1]]}', after: '{"lists":[["",2]]}', fields: ['lists'] }],
  });
  const both = { ...moved, json: '{"n":2}' };
  expect(compareRows([old], [both]).first[0]).toMatchObject({
    before: row.json,
    after: both.json,
    fields: ['n', 'lists'],
  });
});
