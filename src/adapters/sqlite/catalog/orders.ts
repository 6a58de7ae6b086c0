import { lowerBound } from '#src/adapters/lower-bound.ts';
import { addRow, type Bits, bitsFor, hasRow, removeRow } from './bits.ts';

/**
 * A column put in order, and the sets of its first rows at 32 places: which rows lie between two
 * values is then two sets and a few rows, not a walk over all products.
 */
export type Order = {
  column: Float64Array;
  /** Rising by value; between equals, by id. */
  rows: Uint32Array;
  heads: Bits[];
  step: number;
};

const HEADS = 32;

/** `rows` in the order of their values, equals as they were: counted out, which compares nothing. */
const sorted = (rows: Uint32Array, column: Float64Array): Uint32Array => {
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
    let low = 0;
    for (let high = distinct; low + 1 < high; ) {
      const middle = (low + high) >>> 1;
      if ((ranks[middle] ?? 0) <= value) low = middle;
      else high = middle;
    }
    codes[i] = low;
    places[low + 1] = (places[low + 1] ?? 0) + 1;
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

/** `rows` by id; `end` is above the highest of them. */
export const orderBy = (column: Float64Array, byId: Uint32Array, end: number): Order => {
  const rows = sorted(byId, column);
  const step = Math.max(1, Math.ceil(rows.length / HEADS));
  const heads = [bitsFor(end)];
  for (let from = 0; from + step <= rows.length; from += step) {
    const head = (heads.at(-1) ?? bitsFor(end)).slice();
    for (let i = from; i < from + step; i += 1) addRow(head, rows[i] ?? 0);
    heads.push(head);
  }
  return { column, rows, heads, step };
};

/** How many rows have less than `value`; with `orEqual`, not more than it. */
const below = ({ column, rows }: Order, value: number, orEqual: boolean): number =>
  lowerBound(rows.length, (place) => {
    const at = column[rows[place] ?? 0] ?? 0;
    return at < value || (orEqual && at === value);
  });

/** The rows with a value from `low` to `high`. */
export const rowsBetween = (order: Order, low: number, high: number): Bits => {
  const { rows, heads, step } = order;
  const from = below(order, low, false);
  const to = below(order, high, true);
  const bits = new Uint32Array(heads[0]?.length ?? 0);
  if (to - from <= 2 * step) {
    for (let i = from; i < to; i += 1) addRow(bits, rows[i] ?? 0);
    return bits;
  }
  const first = Math.floor(from / step);
  const last = Math.floor(to / step);
  const [without, within] = [heads[first] ?? bits, heads[last] ?? bits];
  for (let i = 0; i < bits.length; i += 1) bits[i] = (within[i] ?? 0) & ~(without[i] ?? 0);
  for (let i = first * step; i < from; i += 1) removeRow(bits, rows[i] ?? 0);
  for (let i = last * step; i < to; i += 1) addRow(bits, rows[i] ?? 0);
  return bits;
};

/** The first `count` of `bits`, in the order; as many as there are when there are fewer. */
export const firstOf = (bits: Bits, { rows }: Order, count: number): Uint32Array => {
  const first = new Uint32Array(count);
  let found = 0;
  for (let i = 0; i < rows.length && found < count; i += 1) {
    const row = rows[i] ?? 0;
    if (hasRow(bits, row)) first[found++] = row;
  }
  return first.slice(0, found);
};
