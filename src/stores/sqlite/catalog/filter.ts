/** Which rows of the catalog a search leaves: by category, price, country and other columns. */
import type { ProductSearch } from '#src/ports/catalog.ts';
import type { CatalogColumns, Coded, Counted } from './columns.ts';

/**
 * Number of values that a facet lists. A filter needs the exact name of a category, so those of a whole
 * catalog are listed. Equals what the contract publishes (FACET_VALUES_MAX, FACET_CATEGORIES_MAX).
 */
export const facetValuesMax = (field: Coded): number => (field === 'category' ? 500 : 50);

/** Accepts products whose value of the field, or price at the quantity, is in the range. */
export type Condition = {
  field: Coded | Counted | 'price_at';
  quantity?: number | undefined;
  low: number;
  high: number;
};

/**
 * Writes the rows whose value is in the range into `into`, which can be `rows`. Loops by index, here and
 * in the other files of the search: iterators and from() over typed arrays cost ten times as much.
 */
const rowsWithin = (
  rows: Uint32Array,
  { column, low, high }: { column: Float64Array; low: number; high: number },
  into: Uint32Array,
): Uint32Array => {
  let count = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const value = column[row] ?? 0;
    into[count] = row;
    // Without a branch, which would be mispredicted if half the rows pass: a third of the time.
    count += Number(value >= low) & Number(value <= high);
  }
  return into.subarray(0, count);
};

const equalitiesOf = (query: ProductSearch): [Coded, string | undefined][] => [
  ['category', query.category],
  ['brand', query.brand],
  ['ship_from', query.ship_from],
  ['origin', query.origin],
  ['currency', query.currency],
];

/** An unknown lead time is infinite in its column, so it never passes a maximum. */
const rangesOf = (query: ProductSearch): [Counted, number | undefined, number | undefined][] => [
  ['moq', undefined, query.moq_max],
  ['available', query.min_available, undefined],
  ['lead_time', undefined, query.lead_time_max_days],
  ['updated', query.updated_since, undefined],
];

/** Returns undefined if no product can pass. */
export const conditionsOf = (
  columns: CatalogColumns,
  query: ProductSearch,
): Condition[] | undefined => {
  const conditions: Condition[] = [];
  for (const [field, value] of equalitiesOf(query)) {
    if (value === undefined) continue;
    const column = columns.values(field);
    const code = column.codeOf(value);
    if (code === undefined) return undefined;
    // A value that every product has (often the currency) filters nothing.
    if (column.liveOf(value) === columns.liveCount) continue;
    conditions.push({ field, low: code, high: code });
  }
  for (const [field, low = -Infinity, high = Infinity] of rangesOf(query)) {
    if (low !== -Infinity || high !== Infinity) conditions.push({ field, low, high });
  }
  const { price_min, price_max, at_quantity: quantity } = query;
  if (price_min !== undefined || price_max !== undefined) {
    const field = quantity === undefined ? 'price' : 'price_at';
    const [low, high] = [price_min ?? 0, price_max ?? Number.MAX_VALUE];
    conditions.push({ field, quantity, low, high });
  }
  return conditions;
};

/** Shared by all calls, none of which retains it: allocating it costs as much as a filter. */
let scratch = new Uint32Array(0);

/** Returns the rows of `from` that pass every condition, in their order; valid until the next call. */
export const filterRows = (
  columns: CatalogColumns,
  conditions: readonly Condition[],
  from: Uint32Array,
): Uint32Array => {
  if (conditions.length === 0) return from;
  if (scratch.length < from.length) scratch = new Uint32Array(2 * from.length);
  let rows = from;
  for (const { field, quantity, low, high } of conditions) {
    const column = field === 'price_at' ? columns.prices(quantity, rows) : columns.columnOf(field);
    rows = rowsWithin(rows, { column, low, high }, scratch);
  }
  return rows;
};

/** Whether everything that a query can find has prices in one currency. */
export const hasOneCurrency = (columns: CatalogColumns, query: ProductSearch): boolean => {
  if (query.currency !== undefined) return true;
  const currencies = columns.values('currency');
  return currencies.values.some((value) => currencies.liveOf(value) === columns.liveCount);
};

export type FacetCounts = { values: { value: string; count: number }[]; more: number };

/** Counts the values of a field in `rows`: the most frequent first, and the number of others. */
export const countValues = (
  columns: CatalogColumns,
  field: Coded,
  rows: Uint32Array,
): FacetCounts => {
  const { values, rows: codes } = columns.values(field);
  const counts = new Uint32Array(values.length);
  for (let i = 0; i < rows.length; i += 1) {
    const code = codes[rows[i] ?? 0] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  const all = values
    .map((value, code) => ({ value, count: code === 0 ? 0 : (counts[code] ?? 0) }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
  const listed = all.slice(0, facetValuesMax(field));
  return { values: listed, more: all.length - listed.length };
};
