import type { Dimension, Metric, ReportRow } from '#contracts/performance/performance.records.ts';
import { METRICS } from '#contracts/performance/performance.records.ts';
import { cached } from '#src/shared/cached.ts';
import { byText, inTurns, sortedInTurns } from '#src/shared/turns.ts';
import { bucketOf, dateOf } from './calendar.ts';

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

/** One row of the answer. */
export type Bucket = { bucket: number; group: (string | null)[]; sum: Sum };

/** Bucket and group as text, unique within the answer. */
export const bucketKeyOf = ({ bucket, group }: Pick<Bucket, 'bucket' | 'group'>): string =>
  JSON.stringify([bucket, group]);

/** Buckets in order, which are made when they are read. `startAt` is the start of the bucket at an index. */
export type OrderedBuckets = {
  readonly length: number;
  startAt(index: number): number;
  at(index: number): Bucket;
};

export const emptySum = (): Sum => ({
  counts: new Array<number>(METRICS.length).fill(0),
  rfq: new Map(),
  won: new Map(),
});

export const emptyBucket = ({ bucket, group }: Pick<Bucket, 'bucket' | 'group'>): Bucket => ({
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

export const bucketIn = ({ granularity, from }: Query, day: number): number =>
  bucketOf(day, granularity, from);

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
  for (const start of starts) {
    const keyed = (byStart.get(start) ?? []).map((one): [string, Bucket] => [
      bucketKeyOf(one),
      one,
    ]);
    for (const [, one] of await sortedInTurns(keyed, ([a], [b]) => byText(a, b))) ordered.push(one);
  }
  return ordered;
};

/** Copied for each row, because objects that get their members one by one take longer to make and to serialize. */
const NO_METRICS = {
  ...(Object.fromEntries(METRICS.map((name) => [name, 0])) as Record<Metric, number>),
  rfq_value: [],
  won_value: [],
} satisfies ReportRow['metrics'];

export const renderSum = ({ counts, rfq, won }: Sum): ReportRow['metrics'] => {
  const sums: ReportRow['metrics'] = { ...NO_METRICS };
  for (let i = 0; i < METRICS.length; i += 1) sums[METRICS[i] as Metric] = counts[i] ?? 0;
  if (rfq.size > 0) sums.rfq_value = renderMoney(rfq);
  if (won.size > 0) sums.won_value = renderMoney(won);
  return sums;
};

const renderMoney = (amounts: Map<string, number>) =>
  [...amounts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, amount]) => ({ amount, currency }));

/** Returns a sum that has no negative number, which the contract excludes; throws otherwise. */
export const requireCounts = (sum: Sum): Sum => {
  const isNegative = (value: number): boolean => value < 0;
  const { counts, rfq, won } = sum;
  if (counts.some(isNegative) || rfq.values().some(isNegative) || won.values().some(isNegative))
    throw new Error(`a sum of performance is negative: ${JSON.stringify(renderSum(sum))}`);
  return sum;
};

const DATES_MAX = 1_000;
/** Cached, because the buckets of one day are many. */
const startDate = cached(DATES_MAX, dateOf);

export const renderBucket = (
  { bucket, group, sum }: Bucket,
  groupBy: readonly Dimension[],
): ReportRow => {
  const dimensions: ReportRow['dimensions'] = {};
  for (let i = 0; i < groupBy.length; i += 1)
    dimensions[groupBy[i] as Dimension] = group[i] ?? null;
  return { bucket_start: startDate(bucket), dimensions, metrics: renderSum(sum) };
};
