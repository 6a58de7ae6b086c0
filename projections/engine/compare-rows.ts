/** Compares two sets of rows of a read model, for builds that wait for an operator's decision. */
import type { RowJson, RowKey } from '#src/ports/read-model.ts';

/** A row that differs; null where one side has none. Where its lists alone differ, both sides are its entries in them. */
export type RowChange = RowKey & {
  before: string | null;
  after: string | null;
  /** The members that differ in a row that both sides have, and `lists` if its entries do. */
  fields: string[];
};

export type RowDifferences = {
  /** How many rows differ, with those that one side alone has. */
  rows: number;
  onlyBefore: number;
  onlyAfter: number;
  /** How many rows that both sides have differ in each member of the row. */
  fields: Record<string, number>;
  /** The first of them, in order of scope and key. */
  first: RowChange[];
};

const FIRST_MAX = 10;

export const noDifferences = (): RowDifferences => ({
  rows: 0,
  onlyBefore: 0,
  onlyAfter: 0,
  fields: {},
  first: [],
});

/** Compares the rows of a partition, both as of the same position. */
export const compareRows = (
  before: readonly RowJson[],
  after: readonly RowJson[],
): RowDifferences => {
  const found = noDifferences();
  const [befores, afters] = [before, after].map(
    (rows) => new Map(rows.map((row) => [nameOfRow(row), row])),
  ) as [Map<string, RowJson>, Map<string, RowJson>];
  const changes: RowChange[] = [];
  for (const [name, row] of befores) {
    const { scope, key, json } = row;
    const other = afters.get(name);
    if (!other) {
      changes.push({ scope, key, before: json, after: null, fields: [] });
      found.onlyBefore += 1;
      continue;
    }
    const change = changeOf(row, other);
    if (!change) continue;
    changes.push(change);
    for (const field of change.fields) addCount(found.fields, field, 1);
  }
  for (const [name, { scope, key, json }] of afters) {
    if (befores.has(name)) continue;
    changes.push({ scope, key, before: null, after: json, fields: [] });
    found.onlyAfter += 1;
  }
  found.rows = changes.length;
  found.first = changes.toSorted(byName).slice(0, FIRST_MAX);
  return found;
};

/** Adds the differences of another partition to a total. */
export const addDifferences = (total: RowDifferences, part: RowDifferences): void => {
  total.rows += part.rows;
  total.onlyBefore += part.onlyBefore;
  total.onlyAfter += part.onlyAfter;
  for (const [field, count] of Object.entries(part.fields)) addCount(total.fields, field, count);
  total.first = [...total.first, ...part.first].toSorted(byName).slice(0, FIRST_MAX);
};

export const nameOfRow = ({ scope, key }: RowKey): string => JSON.stringify([scope, key]);

/** How a row that both sides have differs; undefined if it does not. */
const changeOf = (had: RowJson, has: RowJson): RowChange | undefined => {
  const { scope, key } = had;
  const [listed, lists] = [had, has].map(({ entries }) => JSON.stringify({ lists: entries })) as [
    string,
    string,
  ];
  const fields = listed === lists ? [] : ['lists'];
  if (had.json === has.json)
    return fields.length > 0 ? { scope, key, before: listed, after: lists, fields } : undefined;
  fields.unshift(...changedFields(had.json, has.json));
  return { scope, key, before: had.json, after: has.json, fields };
};

const byName = (one: RowKey, other: RowKey): number => {
  if (one.scope !== other.scope) return one.scope < other.scope ? -1 : 1;
  return Number(one.key > other.key) - Number(one.key < other.key);
};

const addCount = (counts: Record<string, number>, name: string, count: number): void => {
  counts[name] = (counts[name] ?? 0) + count;
};

/** Names the members of two rows that differ. Rows that differ in the order of their members alone differ in none. */
const changedFields = (before: string, after: string): string[] => {
  const [had, has] = [before, after].map((json) => JSON.parse(json) as Record<string, unknown>);
  const names = new Set([...Object.keys(had ?? {}), ...Object.keys(has ?? {})]);
  return [...names].filter((name) => JSON.stringify(had?.[name]) !== JSON.stringify(has?.[name]));
};
