import type { Dimension, Metric, ReportRow } from '#contracts/records/performance.ts';
import { COUNTRY_UNIQUES_MIN, METRICS, OTHER_COUNTRIES } from '#contracts/records/performance.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { inTurns } from '../shared/turns.ts';
import { bucketOf, calendarOf, dateOf } from './calendar.ts';

type Metrics = ReportRow['metrics'];

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

/** Which row a bucket is, as text: no two of an answer have the same. */
export const placeOf = ({ bucket, group }: Bucket): string => JSON.stringify([bucket, group]);

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

type BucketOfDay = (day: number) => number;

/** Each day is asked for many times, and found once. */
const once = (bucketOfDay: BucketOfDay): BucketOfDay => {
  const known = new Map<number, number>();
  return (day) => {
    let bucket = known.get(day);
    if (bucket === undefined) known.set(day, (bucket = bucketOfDay(day)));
    return bucket;
  };
};

/** The bucket of a day of the query's period. */
export const bucketIn = ({ granularity, from }: Query, day: number): number =>
  bucketOf(day, granularity, from);

type Take = (row: PerformanceRecord, cell: string, day: number, country: string) => void;
type Filter = [Dimension, string];

/** Calls `take` with each cell of the period that passes these filters. */
const eachCell = (
  rows: Iterable<PerformanceRecord>,
  { from, to, timeZone }: Query,
  filters: readonly Filter[],
  take: Take,
): Promise<void> => {
  const calendar = calendarOf(timeZone);
  return inTurns(rows, (row) => {
    if (!filters.every(([name, value]) => valueOf(row.dims, '', name) === value)) return;
    const localDay = calendar.localDays(row.day);
    for (const cell in row.cells) {
      const bar = cell.indexOf('|');
      const day = localDay(Number(cell.slice(0, bar)));
      if (day >= from && day <= to) take(row, cell, day, cell.slice(bar + 1));
    }
  });
};

/**
 * Folds stored rows into buckets of local days and groups of dimensions. The buckets may be those of
 * another period than the one that is counted.
 */
export const aggregate = async (
  rows: readonly PerformanceRecord[],
  query: Query,
  bucketOfDay: BucketOfDay = (day) => bucketIn(query, day),
): Promise<Bucket[]> => {
  const { groupBy, filters } = query;
  const { country: only, ...others } = filters;
  const ofRows = Object.entries(others) as Filter[];
  const namesCountries = only !== undefined || groupBy.includes('country');
  const few = namesCountries ? await fewVisitors(rows, query, ofRows) : undefined;
  const bucketFor = once(bucketOfDay);
  const buckets = new Map<string | number, Bucket>();
  await eachCell(rows, query, ofRows, (row, cell, day, country) => {
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
const fewVisitors = async (
  rows: readonly PerformanceRecord[],
  query: Query,
  filters: readonly Filter[],
): Promise<Set<string>> => {
  const uniques = new Map<string, number>();
  await eachCell(rows, query, filters, (row, cell, _day, country) => {
    uniques.set(country, (uniques.get(country) ?? 0) + (row.cells[cell]?.[UNIQUE] ?? 0));
  });
  uniques.delete('');
  return new Set(
    [...uniques.keys()].filter((one) => (uniques.get(one) ?? 0) < COUNTRY_UNIQUES_MIN),
  );
};

/** Buckets in order of time, each then by group; without groups every bucket of the period is there. */
export const inOrder = async (buckets: readonly Bucket[], query: Query): Promise<Bucket[]> => {
  const found = new Map<number, Bucket[]>();
  await inTurns(buckets, (bucket) => {
    const beside = found.get(bucket.bucket);
    if (beside) beside.push(bucket);
    else found.set(bucket.bucket, [bucket]);
  });
  if (query.groupBy.length > 0) {
    const ordered: Bucket[] = [];
    await inTurns(
      [...found.keys()].sort((a, b) => a - b),
      (bucket) => ordered.push(...byGroup(found.get(bucket) ?? [])),
    );
    return ordered;
  }
  const all = new Map<number, Bucket>();
  for (let day = query.from; day <= query.to; day++) {
    const bucket = bucketIn(query, day);
    all.set(bucket, found.get(bucket)?.[0] ?? { bucket, group: [], sum: emptySum() });
  }
  return [...all.values()];
};

const byGroup = (buckets: readonly Bucket[]): Bucket[] =>
  buckets
    .map((bucket) => ({ bucket, name: JSON.stringify(bucket.group) }))
    .sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
    .map(({ bucket }) => bucket);

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
): ReportRow => ({
  bucket_start: dateOf(bucket),
  dimensions: Object.fromEntries(groupBy.map((name, i) => [name, group[i] ?? null])),
  metrics: renderSum(sum),
});
