import type { Dimension, Metric, ReportRow } from '#contracts/records/performance.ts';
import { COUNTRY_UNIQUES_MIN, METRICS, OTHER_COUNTRIES } from '#contracts/records/performance.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { inTurns } from '../shared/turns.ts';
import { bucketOf, calendarOf, dateOf } from './calendar.ts';

export type Query = {
  /** First and last local day, as days since the epoch. */
  from: number;
  to: number;
  granularity: 'day' | 'week' | 'month' | 'total';
  timeZone: string;
  groupBy: readonly Dimension[];
  filters: Partial<Record<Dimension, string>>;
};

/** Sums while folding: counts in the order of METRICS, amounts by currency. */
export type Sum = { counts: number[]; rfq: Map<string, number>; won: Map<string, number> };

/** One row of the answer. `key` is its bucket and group as text, unique within the answer. */
export type Bucket = { key: string; bucket: number; group: (string | null)[]; sum: Sum };

const UNIQUE = METRICS.indexOf('clicks_unique');

export const emptySum = (): Sum => ({
  counts: new Array<number>(METRICS.length).fill(0),
  rfq: new Map(),
  won: new Map(),
});

export const emptyBucket = ({ bucket, group }: Pick<Bucket, 'bucket' | 'group'>): Bucket => ({
  key: JSON.stringify([bucket, group]),
  bucket,
  group,
  sum: emptySum(),
});

export const addTo = (sum: Sum, other: Sum): void => {
  addCounts(sum.counts, other.counts);
  addMoney(sum.rfq, other.rfq);
  addMoney(sum.won, other.won);
};

const addCounts = (sum: number[], counts: readonly number[]): void => {
  for (let i = 0; i < counts.length; i += 1) sum[i] = (sum[i] ?? 0) + (counts[i] ?? 0);
};

const addMoney = (sum: Map<string, number>, amounts: Iterable<[string, number]>): void => {
  for (const [currency, amount] of amounts) sum.set(currency, (sum.get(currency) ?? 0) + amount);
};

const SUB_IDS = ['sub_id_1', 'sub_id_2', 'sub_id_3'] as const satisfies Dimension[];
type SubId = (typeof SUB_IDS)[number];

const isSubId = (dimension: Dimension): dimension is SubId => dimension.startsWith('sub_id_');

const valueOf = (
  dims: PerformanceRecord['dims'],
  country: string,
  dimension: Dimension,
): string | null => {
  if (dimension === 'country') return country === '' ? null : country;
  if (isSubId(dimension)) return dims.sub_ids?.[SUB_IDS.indexOf(dimension)] ?? null;
  return dims[dimension] ?? null;
};

/** Caches the bucket of each day, which is needed for many cells. */
const cached = (bucketOfDay: (day: number) => number): ((day: number) => number) => {
  const buckets = new Map<number, number>();
  return (day) => {
    let bucket = buckets.get(day);
    if (bucket === undefined) buckets.set(day, (bucket = bucketOfDay(day)));
    return bucket;
  };
};

/** The bucket of a day of the query's period. */
export const bucketIn = ({ granularity, from }: Query, day: number): number =>
  bucketOf(day, granularity, from);

/** A cell is named by the quarter hour of its UTC day and its country: `40|GB`. */
const countryOf = (cell: string): string => cell.slice(cell.indexOf('|') + 1);

type Visit = (row: PerformanceRecord, cell: string, day: number) => void;

/** Calls `visit` with each cell of the period whose row passes the filters, except that on country. */
const eachCell = (
  rows: Iterable<PerformanceRecord>,
  { from, to, timeZone, filters: { country: _ofCells, ...filters } }: Query,
  visit: Visit,
): Promise<void> => {
  const calendar = calendarOf(timeZone);
  const wanted = Object.entries(filters) as [Dimension, string][];
  return inTurns(rows, (row) => {
    if (!wanted.every(([name, value]) => valueOf(row.dims, '', name) === value)) return;
    const localDay = calendar.localDays(row.day);
    for (const cell in row.cells) {
      const day = localDay(Number(cell.slice(0, cell.indexOf('|'))));
      if (day >= from && day <= to) visit(row, cell, day);
    }
  });
};

/**
 * Folds stored rows into buckets of local days and groups of dimensions. `bucketOfDay` can assign the
 * days to the buckets of another period than the one that is counted.
 */
export const aggregate = async (
  rows: readonly PerformanceRecord[],
  query: Query,
  bucketOfDay = (day: number): number => bucketIn(query, day),
): Promise<Bucket[]> => {
  const { groupBy, filters } = query;
  const namesCountries = filters.country !== undefined || groupBy.includes('country');
  const hidden = namesCountries ? await hiddenCountries(rows, query) : new Set<string>();
  const bucketFor = cached(bucketOfDay);
  const buckets = new Map<string | number, Bucket>();
  await eachCell(rows, query, (row, cell, day) => {
    const named = namesCountries ? countryOf(cell) : '';
    const country = hidden.has(named) ? OTHER_COUNTRIES : named;
    if (filters.country !== undefined && country !== filters.country) return;
    const bucket = bucketFor(day);
    const group = groupBy.map((dimension) => valueOf(row.dims, country, dimension));
    const key = group.length === 0 ? bucket : JSON.stringify([bucket, group]);
    let found = buckets.get(key);
    if (!found) buckets.set(key, (found = emptyBucket({ bucket, group })));
    const { counts, rfq, won } = found.sum;
    addCounts(counts, row.cells[cell] ?? []);
    const rfqValue = row.rfq_value?.[cell];
    if (rfqValue) addMoney(rfq, Object.entries(rfqValue));
    const wonValue = row.won_value?.[cell];
    if (wonValue) addMoney(won, Object.entries(wonValue));
  });
  return [...buckets.values()];
};

/** Finds the countries with too few visitors to be named. Cells without a country, as of leads, stay. */
const hiddenCountries = async (
  rows: readonly PerformanceRecord[],
  query: Query,
): Promise<Set<string>> => {
  const uniques = new Map<string, number>();
  await eachCell(rows, query, (row, cell) => {
    const country = countryOf(cell);
    uniques.set(country, (uniques.get(country) ?? 0) + (row.cells[cell]?.[UNIQUE] ?? 0));
  });
  uniques.delete('');
  const few = [...uniques].filter(([, count]) => count < COUNTRY_UNIQUES_MIN);
  return new Set(few.map(([country]) => country));
};

/**
 * Orders buckets by time, then by group. Without groups the result has every bucket of the period,
 * also empty ones.
 */
export const inOrder = async (buckets: readonly Bucket[], query: Query): Promise<Bucket[]> => {
  const byStart = new Map<number, Bucket[]>();
  await inTurns(buckets, (one) => {
    const others = byStart.get(one.bucket);
    if (others) others.push(one);
    else byStart.set(one.bucket, [one]);
  });
  if (query.groupBy.length === 0)
    for (let day = query.from; day <= query.to; day++) {
      const bucket = bucketIn(query, day);
      if (!byStart.has(bucket)) byStart.set(bucket, [emptyBucket({ bucket, group: [] })]);
    }
  const starts = [...byStart.keys()].sort((a, b) => a - b);
  const ordered: Bucket[] = [];
  await inTurns(starts, (start) => {
    const ofStart = byStart.get(start) ?? [];
    ordered.push(...ofStart.sort((a, b) => Number(a.key > b.key) - Number(a.key < b.key)));
  });
  return ordered;
};

export const renderSum = ({ counts, rfq, won }: Sum): ReportRow['metrics'] => ({
  ...(Object.fromEntries(METRICS.map((name, i) => [name, counts[i] ?? 0])) as Record<
    Metric,
    number
  >),
  rfq_value: renderMoney(rfq),
  won_value: renderMoney(won),
});

const renderMoney = (amounts: Map<string, number>) =>
  [...amounts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, amount]) => ({ amount, currency }));

export const renderBucket = (
  { bucket, group, sum }: Bucket,
  groupBy: readonly Dimension[],
): ReportRow => ({
  bucket_start: dateOf(bucket),
  dimensions: Object.fromEntries(groupBy.map((name, i) => [name, group[i] ?? null])),
  metrics: renderSum(sum),
});
