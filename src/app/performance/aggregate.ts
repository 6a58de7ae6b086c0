import type { Dimension, Metric, PerformanceRow } from '#contracts/records/performance.ts';
import { METRICS } from '#contracts/records/performance.ts';
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

/** Fewer unique visitors than this from one country are shown under `other`. */
const COUNTRY_VISITORS_MIN = 3;
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

/** Folds stored rows into buckets of local days and groups of dimensions. */
export const aggregate = (rows: Iterable<PerformanceRecord>, query: Query): Bucket[] => {
  const { from, to, groupBy } = query;
  const calendar = calendarOf(query.timeZone);
  const bucketFor = bucketsOf(query);
  const filters = Object.entries(query.filters) as [Dimension, string][];
  const buckets = new Map<string | number, Bucket>();
  for (const row of rows) {
    const localDay = calendar.localDays(row.day);
    for (const cell in row.cells) {
      const bar = cell.indexOf('|');
      const day = localDay(Number(cell.slice(0, bar)));
      if (day < from || day > to) continue;
      const country = cell.slice(bar + 1);
      if (!filters.every(([name, value]) => valueOf(row.dims, country, name) === value)) continue;
      const bucket = bucketFor(day);
      const group = groupBy.map((name) => valueOf(row.dims, country, name));
      const key = group.length === 0 ? bucket : JSON.stringify([bucket, ...group]);
      let found = buckets.get(key);
      if (!found) buckets.set(key, (found = { bucket, group, sum: emptySum() }));
      const { sum } = found;
      addCounts(sum.counts, row.cells[cell] ?? []);
      const rfq = row.rfq_value?.[cell];
      if (rfq) addMoney(sum.rfq, Object.entries(rfq));
      const won = row.won_value?.[cell];
      if (won) addMoney(sum.won, Object.entries(won));
    }
  }
  const found = [...buckets.values()];
  // Asked for by name, a country with few visitors is not shown either.
  if (query.filters.country !== undefined)
    return found.filter(({ sum }) => (sum.counts[UNIQUE] ?? 0) >= COUNTRY_VISITORS_MIN);
  return hideFewVisitors(found, query.groupBy.indexOf('country'));
};

/** A country with very few visitors could point at a person: it goes under `other`. */
const hideFewVisitors = (buckets: Bucket[], countryAt: number): Bucket[] => {
  if (countryAt < 0) return buckets;
  const kept = new Map<string, Bucket>();
  for (const { bucket, group, sum } of buckets) {
    const few = group[countryAt] !== null && (sum.counts[UNIQUE] ?? 0) < COUNTRY_VISITORS_MIN;
    const shown = few ? group.with(countryAt, 'other') : group;
    const key = JSON.stringify([bucket, ...shown]);
    const found = kept.get(key);
    if (found) addTo(found.sum, sum);
    else kept.set(key, { bucket, group: shown, sum });
  }
  return [...kept.values()];
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
