import type { ProductSearch } from '#src/ports/catalog.ts';
import type { Columns, Field } from './columns.ts';
import type { Coded, Counted } from './facts.ts';

/**
 * Categories are asked for by their exact names, so a whole catalog's are listed. As the contract
 * publishes it (FACET_VALUES_MAX, FACET_CATEGORIES_MAX).
 */
export const facetValuesMax = (field: Coded): number => (field === 'category' ? 500 : 50);

/** A product passes whose value of the field, or price at the quantity, lies in the range. */
export type Condition = {
  field: Exclude<Field, 'tiers'> | 'price_at';
  quantity?: number | undefined;
  low: number;
  high: number;
};

/**
 * Rows whose value lies in the range, written into `kept`, which may be what is read. Loops by
 * index here and in the other files of searching: iterators and from() over typed arrays were
 * measured at ten times the cost.
 */
const within = (
  rows: Uint32Array,
  { column, low, high }: { column: Float64Array; low: number; high: number },
  kept: Uint32Array,
): Uint32Array => {
  let count = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const value = column[row] ?? 0;
    kept[count] = row;
    // Without a branch, which a filter on half the rows mispredicts: a third of the time.
    count += Number(value >= low) & Number(value <= high);
  }
  return kept.subarray(0, count);
};

const equals = (query: ProductSearch): [Coded, string | undefined][] => [
  ['category', query.category],
  ['brand', query.brand],
  ['ship_from', query.ship_from],
  ['origin', query.origin],
  ['currency', query.currency],
];

/** An unknown lead time is infinite in its column, and never at most something. */
const ranges = (query: ProductSearch): [Counted, number | undefined, number | undefined][] => [
  ['moq', undefined, query.moq_max],
  ['available', query.min_available, undefined],
  ['lead_time', undefined, query.lead_time_max_days],
  ['updated', query.updated_since, undefined],
];

/** What a query asks of the columns; undefined when no product can pass. */
export const conditionsOf = (columns: Columns, query: ProductSearch): Condition[] | undefined => {
  const found: Condition[] = [];
  for (const [field, value] of equals(query)) {
    if (value === undefined) continue;
    const column = columns.values(field);
    const code = column.codeOf(value);
    if (code === undefined) return undefined;
    // What every product has (often the currency) filters nothing.
    if (column.liveOf(value) === columns.liveCount()) continue;
    found.push({ field, low: code, high: code });
  }
  for (const [field, low = -Infinity, high = Infinity] of ranges(query)) {
    if (low !== -Infinity || high !== Infinity) found.push({ field, low, high });
  }
  const { price_min, price_max, at_quantity: quantity } = query;
  if (price_min !== undefined || price_max !== undefined) {
    const [low, high] = [price_min ?? 0, price_max ?? Number.MAX_VALUE];
    found.push(
      quantity === undefined
        ? { field: 'price', low, high }
        : { field: 'price_at', quantity, low, high },
    );
  }
  return found;
};

/** Shared by all calls, none of which keeps it: a new one each time costs as much as a filter. */
let room = new Uint32Array(0);

/** Room for so many rows, until the next call. */
export const roomFor = (rows: number): Uint32Array => {
  if (room.length < rows) room = new Uint32Array(2 * rows);
  return room;
};

/** The rows of `from`, in their order, that pass every condition; good until the next call. */
export const filteredRows = (
  columns: Columns,
  conditions: readonly Condition[],
  from: Uint32Array,
): Uint32Array => {
  if (conditions.length === 0) return from;
  // What is read may lie in the room already.
  const kept = from.buffer === room.buffer ? room : roomFor(from.length);
  let rows = from;
  for (const { field, quantity, low, high } of conditions) {
    const column = field === 'price_at' ? columns.prices(quantity, rows) : columns.columnOf(field);
    rows = within(rows, { column, low, high }, kept);
  }
  return rows;
};

/** Whether all that a query can find is priced in one currency. */
export const isOfOneCurrency = (columns: Columns, query: ProductSearch): boolean => {
  const { liveOf, values } = columns.values('currency');
  const all = columns.liveCount();
  return query.currency !== undefined || values().some((currency) => liveOf(currency) === all);
};

export type Counts = { values: { value: string; count: number }[]; more: number };

/** Values of a field over `rows`, the most frequent first, and how many are not among them. */
export const countedValues = (columns: Columns, field: Coded, rows: Uint32Array): Counts => {
  const column = columns.values(field);
  const values = column.values();
  const counts = new Uint32Array(values.length);
  const codes = column.rows();
  for (let i = 0; i < rows.length; i += 1) {
    const code = codes[rows[i] ?? 0] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  const found = values
    .map((value, code) => ({ value, count: code === 0 ? 0 : (counts[code] ?? 0) }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
  const listed = found.slice(0, facetValuesMax(field));
  return { values: listed, more: found.length - listed.length };
};
