import { lowerBound } from '#src/ports/lower-bound.ts';
import { addRow, emptyRowSet, removeRow, type RowSet } from './row-set.ts';

/**
 * A sorted column, with the sets of its first rows at 32 points: the rows between two values are then
 * the difference of two sets and a few rows, without a pass over all products.
 */
export type SortedColumn = {
  column: Float64Array;
  /** Rising by value; between equals, by id. */
  rows: Uint32Array;
  /** `heads[n]` has the first `n * step` rows. */
  heads: RowSet[];
  step: number;
};

const HEADS = 32;

/** Sorts `rows` by value, stably, by counting instead of comparing. */
const sortRows = (rows: Uint32Array, column: Float64Array): Uint32Array => {
  const values = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i += 1) values[i] = column[rows[i] ?? 0] ?? 0;
  const ranks = values.slice().sort();
  let distinct = 0;
  for (let i = 0; i < ranks.length; i += 1) {
    if (i === 0 || ranks[i] !== ranks[i - 1]) ranks[distinct++] = ranks[i] ?? 0;
  }
  const codes = new Uint32Array(rows.length);
  const places = new Uint32Array(distinct + 1);
  for (let i = 0; i < rows.length; i += 1) {
    const value = values[i] ?? 0;
    let code = 0;
    // lowerBound() calls a function per step, which makes this a fifth slower.
    for (let high = distinct; code + 1 < high; ) {
      const middle = (code + high) >>> 1;
      if ((ranks[middle] ?? 0) <= value) code = middle;
      else high = middle;
    }
    codes[i] = code;
    places[code + 1] = (places[code + 1] ?? 0) + 1;
  }
  for (let i = 1; i <= distinct; i += 1) places[i] = (places[i] ?? 0) + (places[i - 1] ?? 0);
  const ordered = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i += 1) {
    const place = places[codes[i] ?? 0] ?? 0;
    ordered[place] = rows[i] ?? 0;
    places[codes[i] ?? 0] = place + 1;
  }
  return ordered;
};

/** `byId` has the rows in the order of their ids; `end` is above the highest row. */
export const sortColumn = (column: Float64Array, byId: Uint32Array, end: number): SortedColumn => {
  const rows = sortRows(byId, column);
  const step = Math.max(1, Math.ceil(rows.length / HEADS));
  const heads = [emptyRowSet(end)];
  for (let from = 0; from + step <= rows.length; from += step) {
    const head = (heads.at(-1) ?? emptyRowSet(end)).slice();
    for (let i = from; i < from + step; i += 1) addRow(head, rows[i] ?? 0);
    heads.push(head);
  }
  return { column, rows, heads, step };
};

/** Counts the rows with a value below `value`, or, with `orEqual`, at most `value`. */
const countBelow = ({ column, rows }: SortedColumn, value: number, orEqual: boolean): number =>
  lowerBound(rows.length, (index) => {
    const other = column[rows[index] ?? 0] ?? 0;
    return other < value || (orEqual && other === value);
  });

/** Returns the rows with a value from `low` to `high` (inclusive). */
export const rowsBetween = (sorted: SortedColumn, low: number, high: number): RowSet => {
  const { rows, heads, step } = sorted;
  const from = countBelow(sorted, low, false);
  const to = countBelow(sorted, high, true);
  const set = new Uint32Array(heads[0]?.length ?? 0);
  if (to - from <= 2 * step) {
    for (let i = from; i < to; i += 1) addRow(set, rows[i] ?? 0);
    return set;
  }
  const first = Math.floor(from / step);
  const last = Math.floor(to / step);
  const [without, within] = [heads[first] ?? set, heads[last] ?? set];
  for (let i = 0; i < set.length; i += 1) set[i] = (within[i] ?? 0) & ~(without[i] ?? 0);
  for (let i = first * step; i < from; i += 1) removeRow(set, rows[i] ?? 0);
  for (let i = last * step; i < to; i += 1) addRow(set, rows[i] ?? 0);
  return set;
};
