import type { PerformanceRecord } from '#src/ports/rows.ts';
import { aggregate, type Bucket, bucketIn, emptySum, placeOf, type Query } from './aggregate.ts';
import { inTurns } from '../shared/turns.ts';
import { yearsOn } from './calendar.ts';

/** An earlier period, and the day of the present one that each of its days is compared with. */
export type Comparison = { before: Query; counterpart: (day: number) => number };

export type Compared = 'previous_period' | 'previous_year';

export const comparisonOf = (query: Query, to: Compared): Comparison => {
  const { from, to: last } = query;
  if (to === 'previous_year')
    return {
      before: { ...query, from: yearsOn(from, -1), to: yearsOn(last, -1) },
      // A period that begins on a 29 February is compared from the 28th on.
      counterpart: (day) => Math.max(yearsOn(day, 1), from),
    };
  const days = last - from + 1;
  return {
    before: { ...query, from: from - days, to: last - days },
    counterpart: (day) => day + days,
  };
};

/**
 * What was counted in the earlier period, in the buckets of the present one: day by day with its
 * counterpart, because calendar weeks and months of two periods are not of the same length.
 */
export const countedBefore = (
  rows: readonly PerformanceRecord[],
  query: Query,
  { before, counterpart }: Comparison,
): Promise<Bucket[]> => aggregate(rows, before, (day) => bucketIn(query, counterpart(day)));

/** The buckets of both periods: a group that was there only before has one, without a count. */
export const ofBoth = async (
  now: readonly Bucket[],
  then: readonly Bucket[],
): Promise<Bucket[]> => {
  const places = new Set<string>();
  await inTurns(now, (bucket) => places.add(placeOf(bucket)));
  const both = [...now];
  await inTurns(then, (other) => {
    if (places.has(placeOf(other))) return;
    both.push({ bucket: other.bucket, group: other.group, sum: emptySum() });
  });
  return both;
};

/** Finds what stands against a bucket. */
export const beside = async (
  then: readonly Bucket[],
): Promise<(bucket: Bucket) => Bucket['sum']> => {
  const sums = new Map<string, Bucket['sum']>();
  await inTurns(then, (bucket) => sums.set(placeOf(bucket), bucket.sum));
  return (bucket) => sums.get(placeOf(bucket)) ?? emptySum();
};
