import { inTurns } from '#src/shared/turns.ts';
import {
  type Bucket,
  bucketIn,
  emptyBucket,
  emptySum,
  bucketKeyOf,
  type Query,
  type Sum,
} from './buckets.ts';
import { yearsOn } from './calendar.ts';

/**
 * An earlier period, and the bucket of the present one in which each of its days is counted: that of
 * its counterpart, because calendar weeks and months of two periods differ in length.
 */
export type Comparison = { before: Query; bucketOfDay: (day: number) => number };

export const comparisonOf = (query: Query, to: 'previous_period' | 'previous_year'): Comparison => {
  const { from, to: last } = query;
  if (to === 'previous_year')
    return {
      before: { ...query, from: yearsOn(from, -1), to: yearsOn(last, -1) },
      // A period that begins on 29 February is compared from 28 February on.
      bucketOfDay: (day) => bucketIn(query, Math.max(yearsOn(day, 1), from)),
    };
  const days = last - from + 1;
  return {
    before: { ...query, from: from - days, to: last - days },
    bucketOfDay: (day) => bucketIn(query, day + days),
  };
};

/**
 * Joins both periods: the buckets of the present one, with an empty bucket for each group that only
 * the earlier one has, and a function that returns the earlier sum of a bucket.
 */
export const join = async (
  now: readonly Bucket[],
  before: readonly Bucket[],
): Promise<{ buckets: Bucket[]; earlier: (bucket: Bucket) => Sum }> => {
  const keys = new Set<string>();
  await inTurns(now, (bucket) => keys.add(bucketKeyOf(bucket)));
  const buckets = [...now];
  const sums = new Map<string, Sum>();
  await inTurns(before, (bucket) => {
    const key = bucketKeyOf(bucket);
    sums.set(key, bucket.sum);
    if (!keys.has(key)) buckets.push(emptyBucket(bucket));
  });
  return { buckets, earlier: (bucket) => sums.get(bucketKeyOf(bucket)) ?? emptySum() };
};
