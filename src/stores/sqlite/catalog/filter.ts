/** Which rows of the catalog a search leaves: by category, price, country and other columns. */
import type { FacetField, ProductSearch } from '#src/ports/catalog.ts';
import type { CatalogColumns, Coded, Counted } from './columns.ts';

/**
 * Number of values that a facet lists. A filter needs the exact name of a category, so those of a whole
 * catalog are listed. Equals what the contract publishes (FACET_VALUES_MAX, FACET_CATEGORIES_MAX).
 */
export const facetValuesMax = (field: FacetField): number => (field === 'category' ? 500 : 50);

/** Accepts products whose value of the field, or price at the quantity, is in the range, or whose code is accepted. */
export type Condition = { filter: Filter; field: Coded | Counted | 'price_at' } & (
  | { quantity?: number | undefined; low: number; high: number }
  | { accepted: Uint8Array }
);

/** What leaves products out of a result, by its name in the query. */
export type Filter = Exclude<
  keyof ProductSearch,
  'at_quantity' | 'sort' | 'limit' | 'offset' | 'after' | 'facets'
>;

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

/** Writes the rows whose code is accepted into `into`, which can be `rows`. */
const rowsAccepted = (
  rows: Uint32Array,
  { column, accepted }: { column: Float64Array; accepted: Uint8Array },
  into: Uint32Array,
): Uint32Array => {
  let count = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    into[count] = row;
    count += accepted[column[row] ?? 0] ?? 0;
  }
  return into.subarray(0, count);
};

const namesOf = (query: ProductSearch): [Filter & Coded, string | undefined][] => [
  ['category', query.category],
  ['brand', query.brand],
  ['ship_from', query.ship_from],
  ['origin', query.origin],
  ['currency', query.currency],
  ...(query.certifications ?? []).map((name): [Filter & Coded, string] => ['certifications', name]),
];

/** An unknown lead time is infinite in its column, so it never passes a maximum. */
const rangesOf = (
  query: ProductSearch,
): [Filter, Counted, number | undefined, number | undefined][] => [
  ['moq_max', 'moq', undefined, query.moq_max],
  ['min_available', 'available', query.min_available, undefined],
  ['lead_time_max_days', 'lead_time', undefined, query.lead_time_max_days],
  ['updated_since', 'updated', query.updated_since, undefined],
];

/** Accepts the codes of a name; undefined if every product has it (often the currency), so that it filters nothing. */
const conditionOfName = (
  columns: CatalogColumns,
  field: Filter & Coded,
  name: string,
): Condition | undefined => {
  const column = columns.values(field);
  const codes = column.codesOf(name);
  if (column.liveOf(name) === columns.liveCount) return undefined;
  const [code = Number.NaN] = codes;
  if (codes.length <= 1) return { filter: field, field, low: code, high: code };
  const accepted = new Uint8Array(column.values.length);
  for (const one of codes) accepted[one] = 1;
  return { filter: field, field, accepted };
};

export const conditionsOf = (columns: CatalogColumns, query: ProductSearch): Condition[] => {
  const conditions: Condition[] = [];
  for (const [field, name] of namesOf(query)) {
    const condition = name === undefined ? undefined : conditionOfName(columns, field, name);
    if (condition) conditions.push(condition);
  }
  for (const [filter, field, low = -Infinity, high = Infinity] of rangesOf(query)) {
    if (low !== -Infinity || high !== Infinity) conditions.push({ filter, field, low, high });
  }
  const { price_min, price_max, at_quantity: quantity } = query;
  const field = quantity === undefined ? 'price' : 'price_at';
  if (price_min !== undefined)
    conditions.push({
      filter: 'price_min',
      field,
      quantity,
      low: price_min,
      high: Number.MAX_VALUE,
    });
  if (price_max !== undefined)
    conditions.push({ filter: 'price_max', field, quantity, low: 0, high: price_max });
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
  for (const condition of conditions) {
    const { field } = condition;
    if ('accepted' in condition) {
      const { accepted } = condition;
      rows = rowsAccepted(rows, { column: columns.columnOf(field as Coded), accepted }, scratch);
      continue;
    }
    const { quantity, low, high } = condition;
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

type Count = FacetCounts['values'][number];

const byFrequency = (one: Count, other: Count): number =>
  other.count - one.count || (one.value < other.value ? -1 : 1);

/**
 * Counts the values of a field in `rows`: the most frequent first, and the number of others. Each count is what a search with
 * that value finds: a category includes those below it.
 */
const countNames = (columns: CatalogColumns, field: Coded, rows: Uint32Array): Count[] => {
  const column = columns.values(field);
  const codes = column.rows;
  const counts = new Uint32Array(column.values.length);
  for (let i = 0; i < rows.length; i += 1) {
    const code = codes[rows[i] ?? 0] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return column.countNames(counts).sort(byFrequency);
};

/** Days up to which lead times are counted. */
const LEAD_TIMES = [0, 1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 180, 365, 3_650];

/** Counts the rows whose lead time is at most so many days: a value for each number of days that adds some. */
const countLeadTimes = (columns: CatalogColumns, rows: Uint32Array): Count[] => {
  const days = columns.of('lead_time');
  const added = new Uint32Array(LEAD_TIMES.length + 1);
  for (let i = 0; i < rows.length; i += 1) {
    const time = days[rows[i] ?? 0] ?? Infinity;
    let place = 0;
    while (place < LEAD_TIMES.length && (LEAD_TIMES[place] ?? 0) < time) place += 1;
    added[place] = (added[place] ?? 0) + 1;
  }
  let count = 0;
  return LEAD_TIMES.flatMap((most, place) => {
    count += added[place] ?? 0;
    return added[place] === 0 ? [] : { value: String(most), count };
  });
};

/** The digits by which price ranges begin: 1, 2, 5, 10, 20, 50, … */
const FIRST_DIGITS = [1, 2, 5];

/** The lowest prices of ranges, rising. */
const RANGES = [
  0,
  ...Array.from({ length: 10 }, (_, power) =>
    FIRST_DIGITS.map((digit) => digit * 10 ** power),
  ).flat(),
];

/** Counts the rows by currency and price range, like `GBP 200-499`; ranges rising in each currency. */
const countPrices = (
  columns: CatalogColumns,
  rows: Uint32Array,
  quantity: number | undefined,
): Count[] => {
  const prices = columns.prices(quantity, rows);
  const { rows: codes, values } = columns.values('currency');
  const counts = new Uint32Array(values.length * RANGES.length);
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const price = prices[row] ?? 0;
    let range = 0;
    while (range + 1 < RANGES.length && (RANGES[range + 1] ?? 0) <= price) range += 1;
    const place = (codes[row] ?? 0) * RANGES.length + range;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return values.toSorted().flatMap((currency) => {
    const first = (columns.values('currency').codeOf(currency) ?? 0) * RANGES.length;
    return RANGES.flatMap((low, range) => {
      const count = counts[first + range] ?? 0;
      const high = (RANGES[range + 1] ?? Infinity) - 1;
      const value = high === Infinity ? `${currency} ${low}-` : `${currency} ${low}-${high}`;
      return count === 0 || currency === '' ? [] : { value, count };
    });
  });
};

/** Counts what a facet lists in `rows`. `quantity`: at which prices are compared. */
export const countValues = (
  columns: CatalogColumns,
  field: FacetField,
  rows: Uint32Array,
  quantity: number | undefined,
): FacetCounts => {
  const all =
    field === 'lead_time'
      ? countLeadTimes(columns, rows)
      : field === 'price'
        ? countPrices(columns, rows, quantity)
        : countNames(columns, field, rows);
  const listed = all.slice(0, facetValuesMax(field));
  return { values: listed, more: all.length - listed.length };
};
