import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { nameOf } from '#src/writing/hash.ts';
import { isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { aggregate, type Report } from './aggregate.ts';
import {
  type Bucket,
  bucketIn,
  inOrder,
  bucketKeyOf,
  type OrderedBuckets,
  type Query,
} from './buckets.ts';
import type { FactSelection } from './columns.ts';
import type { Countries } from './groups.ts';

/**
 * The place in a cursor: bucket and name of the last row of the page, so that rows that arrive later
 * repeat none; and the last day of the listing, which would otherwise change at midnight.
 */
export const PLACE = z.tuple([z.int(), z.string(), z.int()]);
type Place = z.output<typeof PLACE>;

export const rowPlaceOf = (bucket: Bucket, lastDay: number): Place => [
  bucket.bucket,
  nameOf(bucketKeyOf(bucket)),
  lastDay,
];

/** Without groups the answer has every bucket of its period, and with a comparison also those of the earlier period. */
export const orderedBuckets = async (
  report: Report,
  query: Query,
  joined: readonly Bucket[] | undefined,
): Promise<OrderedBuckets> => {
  if (!joined && query.groupBy.length > 0) return report.inOrder();
  const list = await inOrder(joined ?? (await report.all()), query);
  const at = (index: number): Bucket => list[index] as Bucket;
  return { length: list.length, startAt: (index) => at(index).bucket, at };
};

type Page = { shown: Iterable<Bucket>; last: Bucket | undefined; more: boolean };

const rangeOf = function* (
  buckets: OrderedBuckets,
  from: number,
  to: number,
): Generator<Bucket, void> {
  for (let index = from; index < to; index += 1) yield buckets.at(index);
};

const wholePage = (buckets: OrderedBuckets): Page | Refusal => {
  const max = LIMITS.PERFORMANCE_FILE_ROWS_MAX;
  const { length } = buckets;
  if (length <= max) return { shown: rangeOf(buckets, 0, length), last: undefined, more: false };
  return refuse(
    'answer_too_large',
    `The answer has ${length} rows, and a file has at most ${max}. Narrow from and to, use a ` +
      'coarser granularity, fewer dimensions in group_by or a filter, or read pages with limit and cursor.',
  );
};

/** The index after the place of a cursor; 0 if there is no such row any more. */
const indexAfter = (buckets: OrderedBuckets, [start, name]: Place): number => {
  const first = lowerBound(buckets.length, (index) => buckets.startAt(index) < start);
  for (let index = first; index < buckets.length && buckets.startAt(index) === start; index += 1)
    if (nameOf(bucketKeyOf(buckets.at(index))) === name) return index + 1;
  return 0;
};

const pageAfter = (
  buckets: OrderedBuckets,
  after: Place | undefined,
  limit: number = LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT,
): Page | Refusal => {
  const from = after ? indexAfter(buckets, after) : 0;
  if (after && from === 0)
    return refuse('cursor_invalid', 'The row that the cursor points to no longer exists.');
  const to = Math.min(from + limit, buckets.length);
  const shown = [...rangeOf(buckets, from, to)];
  return { shown, last: shown.at(-1), more: to < buckets.length };
};

/** The rows that a call asks for. `isWhole`: all, for a file. */
export type AskedRows = { after: Place | undefined; limit: number | undefined; isWhole: boolean };

export const pageOfRows = (
  buckets: OrderedBuckets,
  { after, limit, isWhole }: AskedRows,
): Page | Refusal => (isWhole ? wholePage(buckets) : pageAfter(buckets, after, limit));

/**
 * Counts a page of rows with groups. Reads the period from the first day of the page on, in ever longer parts until the
 * page is full, so that it costs by its rows and groups and not by the days after it. `countries`: how countries are named
 * in the whole period.
 */
export const countPage = async (
  select: (query: Query) => Promise<FactSelection>,
  query: Query,
  { countries, ...asked }: AskedRows & { countries: Countries },
): Promise<Page | Refusal> => {
  const from = Math.max(asked.after?.[0] ?? query.from, query.from);
  for (let days = 1; ; days *= 4) {
    let to = from + days - 1;
    while (to < query.to && bucketIn(query, to + 1) === bucketIn(query, to)) to += 1;
    const part = { ...query, from, to: Math.min(to, query.to) };
    const report = await aggregate(await select(part), part, { countries });
    const page = pageOfRows(await report.inOrder(), asked);
    if (to >= query.to || isRefusal(page) || page.more) return page;
  }
};
