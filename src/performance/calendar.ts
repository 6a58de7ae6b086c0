/** Days, buckets and compared periods of a report, in a time zone. */
import {
  type Dimension,
  type Metric,
  type ReportRow,
  METRICS,
} from '#contracts/performance/records.ts';
import { byText, cached, inTurns, sortedInTurns } from '#src/shared/work.ts';
import { DAY_MS } from '#src/shared/time.ts';

/**
 * Assigns the quarter hours of UTC days to the days of an IANA time zone. All offsets in use today are
 * multiples of a quarter hour, so a quarter hour belongs to one local day.
 */
type Calendar = {
  /** Local days of the 96 quarters of a UTC day, as days since the epoch. */
  localDays(utcDay: number): (quarter: number) => number;
};

const QUARTER_MS = 900_000;
const QUARTERS = 96;

export const isTimeZone = (name: string): boolean => {
  // Intl accepts offsets, which are not time zones.
  if (/^[+-]/.test(name)) return false;
  try {
    calendarOf(name);
    return true;
  } catch {
    return false;
  }
};

const makeCalendar = (timeZone: string): Calendar => {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const offsets = new Map<number, number>();

  /** Local wall clock minus UTC, in quarter hours, at the start of a quarter since the epoch. */
  const offsetAt = (quarter: number): number => {
    const known = offsets.get(quarter);
    if (known !== undefined) return known;
    const at = quarter * QUARTER_MS;
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    const [year, month, day] = [part('year'), part('month') - 1, part('day')];
    const wall = Date.UTC(year, month, day, part('hour'), part('minute'));
    const offset = Math.floor((wall - at) / QUARTER_MS);
    offsets.set(quarter, offset);
    return offset;
  };

  return {
    localDays(utcDay) {
      const first = utcDay * QUARTERS;
      const start = offsetAt(first);
      const end = offsetAt(first + QUARTERS - 1);
      // Most days have one offset. The offset of each quarter is needed only on days with a change.
      return start === end
        ? (quarter) => Math.floor((first + quarter + start) / QUARTERS)
        : (quarter) => Math.floor((first + quarter + offsetAt(first + quarter)) / QUARTERS);
    },
  };
};

const CALENDARS_MAX = 200;

/** Cached, because making an Intl formatter costs far more than using it. Throws for an unknown time zone. */
export const calendarOf = cached(CALENDARS_MAX, makeCalendar);

/** Days since the epoch of a date like 2026-11-21. */
export const dayOf = (date: string): number => Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS);

export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const todayIn = (timeZone: string, now: number): number => {
  const utcDay = Math.floor(now / DAY_MS);
  return calendarOf(timeZone).localDays(utcDay)(Math.floor((now % DAY_MS) / QUARTER_MS));
};

/** First day of the bucket that a day belongs to. Weeks start on Monday (ISO 8601). */
export const bucketOf = (
  day: number,
  granularity: 'day' | 'week' | 'month' | 'total',
  from: number,
): number => {
  switch (granularity) {
    case 'day':
      return day;
    case 'week':
      return day - ((((day + 3) % 7) + 7) % 7);
    case 'month':
      return dayOf(`${dateOf(day).slice(0, 7)}-01`);
    case 'total':
      return from;
  }
};

/** The same date some years later, or earlier. 29 February becomes 28 February in common years. */
export const yearsOn = (day: number, years: number): number => {
  const [year = 0, month = 1, date = 1] = dateOf(day).split('-').map(Number);
  const last = new Date(Date.UTC(year + years, month, 0)).getUTCDate();
  return Math.floor(Date.UTC(year + years, month - 1, Math.min(date, last)) / DAY_MS);
};

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
 * Orders buckets by time, then by group. Without groups the result contains every bucket of the period,
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

/** Returns a sum that contains no negative number, which the contract excludes; throws otherwise. */
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
