import type { Dimension, Metric, PerformanceRow } from '#contracts/records/performance.ts';
import { COUNTRY_UNIQUES_MIN, METRICS, OTHER_COUNTRIES } from '#contracts/records/performance.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { bucketOf, calendarOf, dateOf } from './calendar.ts';

type Metrics = PerformanceRow['metrics'];

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
type Sum = { counts: number[]; rfq: Map<string, number>; won: Map<string, number> };

export type Bucket = { bucket: number; group: (string | null)[]; sum: Sum };

const UNIQUE = METRICS.indexOf('clicks_unique');

export const emptySum = (): Sum => ({
  counts: new Array<number>(METRICS.length).fill(0),
  rfq: new Map(),
  won: new Map(),
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

const valueOf = (
  dims: PerformanceRecord['dims'],
  country: string,
  dimension: Dimension,
): string | null => {
  switch (dimension) {
    case 'sub_id_1':
      return dims.sub_ids?.[0] ?? null;
    case 'sub_id_2':
      return dims.sub_ids?.[1] ?? null;
    case 'sub_id_3':
      return dims.sub_ids?.[2] ?? null;
    case 'country':
      return country === '' ? null : country;
    default:
      return dims[dimension] ?? null;
  }
};

/** The bucket of each day, which is asked for many times and found once. */
const bucketsOf = ({ granularity, from }: Query): ((day: number) => number) => {
  const known = new Map<number, number>();
  return (day) => {
    let bucket = known.get(day);
    if (bucket === undefined) known.set(day, (bucket = bucketOf(day, granularity, from)));
    return bucket;
  };
};

type Take = (row: PerformanceRecord, cell: string, day: number, country: string) => void;
type Filter = [Dimension, string];

/** Calls `take` with each cell of the period that passes these filters. */
const eachCell = (
  rows: Iterable<PerformanceRecord>,
  { from, to, timeZone }: Query,
  filters: readonly Filter[],
  take: Take,
): void => {
  const calendar = calendarOf(timeZone);
  for (const row of rows) {
    if (!filters.every(([name, value]) => valueOf(row.dims, '', name) === value)) continue;
    const localDay = calendar.localDays(row.day);
    for (const cell in row.cells) {
      const bar = cell.indexOf('|');
      const day = localDay(Number(cell.slice(0, bar)));
      if (day >= from && day <= to) take(row, cell, day, cell.slice(bar + 1));
    }
  }
};

/** Folds stored rows into buckets of local days and groups of dimensions. */
export const aggregate = (rows: readonly PerformanceRecord[], query: Query): Bucket[] => {
  const { groupBy, filters } = query;
  const { country: only, ...others } = filters;
  const ofRows = Object.entries(others) as Filter[];
  const namesCountries = only !== undefined || groupBy.includes('country');
  const few = namesCountries ? fewVisitors(rows, query, ofRows) : undefined;
  const bucketFor = bucketsOf(query);
  const buckets = new Map<string | number, Bucket>();
  eachCell(rows, query, ofRows, (row, cell, day, country) => {
    const shown = few?.has(country) ? OTHER_COUNTRIES : country;
    if (only !== undefined && shown !== only) return;
    const bucket = bucketFor(day);
    const group = groupBy.map((dimension) => valueOf(row.dims, shown, dimension));
    const key = group.length === 0 ? bucket : JSON.stringify([bucket, ...group]);
    let found = buckets.get(key);
    if (!found) buckets.set(key, (found = { bucket, group, sum: emptySum() }));
    const { sum } = found;
    addCounts(sum.counts, row.cells[cell] ?? []);
    const rfq = row.rfq_value?.[cell];
    if (rfq) addMoney(sum.rfq, Object.entries(rfq));
    const won = row.won_value?.[cell];
    if (won) addMoney(sum.won, Object.entries(won));
  });
  return [...buckets.values()];
};

/** Countries that are not named in the answer; what has none, as a lead, is no country's. */
const fewVisitors = (
  rows: readonly PerformanceRecord[],
  query: Query,
  filters: readonly Filter[],
): Set<string> => {
  const uniques = new Map<string, number>();
  eachCell(rows, query, filters, (row, cell, _day, country) => {
    uniques.set(country, (uniques.get(country) ?? 0) + (row.cells[cell]?.[UNIQUE] ?? 0));
  });
  uniques.delete('');
  return new Set(
    [...uniques.keys()].filter((one) => (uniques.get(one) ?? 0) < COUNTRY_UNIQUES_MIN),
  );
};

/** Buckets in order of time, each then by group; without groups every bucket of the period is there. */
export const inOrder = (buckets: Bucket[], query: Query): Bucket[] => {
  if (query.groupBy.length > 0)
    return buckets.sort((a, b) => a.bucket - b.bucket || compareGroups(a.group, b.group));
  const found = new Map(buckets.map((bucket) => [bucket.bucket, bucket]));
  const all = new Map<number, Bucket>();
  for (let day = query.from; day <= query.to; day++) {
    const bucket = bucketOf(day, query.granularity, query.from);
    all.set(bucket, found.get(bucket) ?? { bucket, group: [], sum: emptySum() });
  }
  return [...all.values()];
};

const compareGroups = (a: (string | null)[], b: (string | null)[]): number => {
  const left = JSON.stringify(a);
  const right = JSON.stringify(b);
  if (left === right) return 0;
  return left < right ? -1 : 1;
};

export const renderSum = ({ counts, rfq, won }: Sum): Metrics => ({
  ...(Object.fromEntries(METRICS.map((name, i) => [name, counts[i] ?? 0])) as Record<
    Metric,
    number
  >),
  rfq_value: money(rfq),
  won_value: money(won),
});

const money = (amounts: Map<string, number>) =>
  [...amounts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, amount]) => ({ amount, currency }));

export const renderBucket = (
  { bucket, group, sum }: Bucket,
  groupBy: readonly Dimension[],
): PerformanceRow => ({
  bucket_start: dateOf(bucket),
  dimensions: Object.fromEntries(groupBy.map((name, i) => [name, group[i] ?? null])),
  metrics: renderSum(sum),
});
