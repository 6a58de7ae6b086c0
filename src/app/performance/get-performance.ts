import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { reportRow, type ReportRow } from '#contracts/records/performance.ts';
import { nameOf } from '../events/hash.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, isRefusal, type Refusal, refuse } from '../pipeline/outcome.ts';
import { bindingOf, readPlace, writeCursor } from '../read-models/cursor.ts';
import { listing } from '../read-models/listing.ts';
import { present } from '../shared/present.ts';
import { renderAsOf } from '../shared/time.ts';
import { inTurns, turn } from '../shared/turns.ts';
import type { Bucket, Query } from './aggregate.ts';
import { addTo, aggregate, emptySum, inOrder, renderBucket, renderSum } from './aggregate.ts';
import { dateOf, dayOf, isTimeZone, todayIn } from './calendar.ts';
import { comparisonOf, join } from './comparison.ts';

type Input = InputOf<'getPerformance'>;

/** Large enough that a remote store answers most queries in one round trip; parsing a page takes a few milliseconds. */
const PAGE_ROWS = 1_000;
const PAGE_EVENTS = 500;

/**
 * The place in a cursor: bucket and name of the last row of the page, so that rows that arrive later
 * repeat none; and the last day of the listing, which would otherwise change at midnight.
 */
const PLACE = z.tuple([z.int(), z.string(), z.int()]);
type Place = z.output<typeof PLACE>;

const placeOf = (bucket: Bucket, lastDay: number): Place => [
  bucket.bucket,
  nameOf(bucket.key),
  lastDay,
];

export const getPerformance: Handler<'getPerformance'> = async (
  deps,
  input,
  { caller, at, file },
) => {
  const binding = bindingOf(caller.ownerId, 'getPerformance', input);
  const cursor =
    input.cursor === undefined
      ? undefined
      : readPlace(deps, binding, { cursor: input.cursor, shape: PLACE });
  if (cursor?.ok === false) return cursor;
  const after = cursor?.place;
  const query = queryOf(after ? { ...input, to: dateOf(after[2]) } : input, at);
  if (isRefusal(query)) return query;
  const comparison = input.compare_to && comparisonOf(query, input.compare_to);
  const before = comparison?.before;
  const from = before?.from ?? query.from;
  const source = await readRows(deps, caller.ownerId, { asOf: input.as_of, from, to: query.to });
  if (isRefusal(source)) return source;

  const counted = await aggregate(source.rows, query);
  const compared =
    comparison && (await aggregate(source.rows, comparison.before, comparison.bucketOfDay));
  const joined = compared && (await join(counted, compared));
  const buckets = await inOrder(joined?.buckets ?? counted, query);
  const isWhole = file === true && input.limit === undefined && input.cursor === undefined;
  const page = isWhole ? wholePage(buckets) : pageAfter(buckets, after, input.limit);
  if (isRefusal(page)) return page;
  const last = page.shown.at(-1);
  const rowOf = (bucket: Bucket): ReportRow => ({
    ...renderBucket(bucket, query.groupBy),
    ...(joined && { comparison: renderSum(joined.earlier(bucket)) }),
  });
  const answer = {
    data: isWhole ? [] : page.shown.map(rowOf),
    totals: renderSum(await totalOf(buckets)),
    ...(compared && { comparison_totals: renderSum(await totalOf(compared)) }),
    period: {
      from: dateOf(query.from),
      to: dateOf(query.to),
      granularity: query.granularity,
      time_zone: query.timeZone,
    },
    ...(before && { comparison_period: { from: dateOf(before.from), to: dateOf(before.to) } }),
    page: {
      next_cursor: page.more && last ? writeCursor(deps, binding, placeOf(last, query.to)) : null,
      has_more: page.more,
    },
    as_of: renderAsOf(source.asOf),
    classifier_version: deps.classifierVersion,
  };
  return done(answer, isWhole ? { rows: rowsOfFile(page.shown, rowOf) } : {});
};

type Page = { shown: readonly Bucket[]; more: boolean };

const wholePage = (buckets: readonly Bucket[]): Page | Refusal => {
  const max = LIMITS.PERFORMANCE_FILE_ROWS_MAX;
  if (buckets.length <= max) return { shown: buckets, more: false };
  return refuse(
    'answer_too_large',
    `The answer has ${buckets.length} rows, and a file has at most ${max}. Narrow from and to, use a ` +
      'coarser granularity, fewer dimensions in group_by or a filter, or read pages with limit and cursor.',
  );
};

const pageAfter = (
  buckets: readonly Bucket[],
  after: Place | undefined,
  limit: number = LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT,
): Page | Refusal => {
  const isLast = (one: Bucket): boolean =>
    one.bucket === after?.[0] && nameOf(one.key) === after[1];
  const start = after === undefined ? 0 : buckets.findIndex(isLast) + 1;
  if (after !== undefined && start === 0)
    return refuse('cursor_invalid', 'The row that the cursor points to no longer exists.');
  const shown = buckets.slice(start, start + limit);
  return { shown, more: start + shown.length < buckets.length };
};

/** Renders and checks each row when it is read, so that no request waits for all of them. */
const rowsOfFile = function* (
  buckets: readonly Bucket[],
  rowOf: (bucket: Bucket) => ReportRow,
): Generator<ReportRow, void> {
  for (const bucket of buckets) yield reportRow.parse(rowOf(bucket));
};

const queryOf = (input: Input, at: number): Query | Refusal => {
  const { time_zone, granularity, group_by = [] } = input;
  if (!isTimeZone(time_zone)) return invalid('/time_zone', 'unknown', 'is not an IANA time zone');
  const to = input.to === undefined ? todayIn(time_zone, at) : dayOf(input.to);
  const from = input.from === undefined ? to - 29 : dayOf(input.from);
  const daysMax = LIMITS.PERFORMANCE_DAYS_MAX;
  if (from < 0) return invalid('/from', 'out_of_range', 'must not lie before 1970');
  if (from > to) return invalid('/from', 'out_of_range', 'must not lie after to');
  if (to - from >= daysMax)
    return invalid('/from', 'out_of_range', `at most ${daysMax} days in one call`);
  if (new Set(group_by).size < group_by.length)
    return invalid('/group_by', 'duplicate', 'names a dimension twice');
  const { link_id, campaign, channel, product_id, category, country, agent_id, handoff_id } = input;
  const filters = {
    link_id,
    campaign,
    channel,
    product_id,
    category,
    country,
    agent_id,
    handoff_id,
  };
  return {
    from,
    to,
    granularity,
    timeZone: time_zone,
    groupBy: group_by,
    filters: present(filters),
  };
};

const totalOf = async (buckets: readonly Bucket[]) => {
  const total = emptySum();
  await inTurns(buckets, ({ sum }) => addTo(total, sum));
  return total;
};

/** Rows, and the position of the log that they reflect. */
type Source = { rows: PerformanceRecord[]; asOf: { position: Position; at: number | null } };

/** Days since the epoch; `asOf` is a position of the log. */
type Period = { asOf: Position | undefined; from: number; to: number };

const invalid = (pointer: string, code: string, detail: string): Refusal =>
  refuse('parameter_invalid', 'Some parameters are not valid.', {
    errors: [{ pointer, code, detail }],
  });

/** Rows sort by UTC day first (projections/performance.ts); this is the least sort value of a day. */
const firstSortOf = (day: number): number => day * 2 ** 32;

/** Reads the owner's rows of these days from the read model, or folds them as of a position. */
const readRows = async (
  deps: Deps,
  ownerId: string,
  { asOf, from, to }: Period,
): Promise<Source | Refusal> => {
  if (asOf !== undefined) return foldRows(deps, ownerId, asOf);
  const now = deps.following.asOf();
  // A local day extends at most one UTC day beyond its own in either direction.
  const days = { before: firstSortOf(to + 2), downTo: firstSortOf(from - 1) };
  const query = { scope: ownerId, ...days, limit: PAGE_ROWS };
  const rows: PerformanceRecord[] = [];
  for await (const page of listing<PerformanceRecord>(deps.readModels, 'performance', query))
    for (const { row } of page) rows.push(row);
  return { rows, asOf: now };
};

const foldRows = async (
  deps: Deps,
  ownerId: string,
  position: Position,
): Promise<Source | Refusal> => {
  const head = await deps.log.head();
  if (position > head.position)
    return invalid('/as_of', 'out_of_range', 'is greater than the last position of the log');
  const fold = deps.performanceFold();
  let at: number | null = null;
  let count = 0;
  let after = 0;
  for (;;) {
    const page = await deps.log.readOwner(ownerId, { after, upTo: position, limit: PAGE_EVENTS });
    for (const event of page) fold.take({ ...event, at: event.meta.at });
    count += page.length;
    const last = page.at(-1);
    at = last?.meta.at ?? at;
    if (!last || page.length < PAGE_EVENTS) return { rows: fold.rows(), asOf: { position, at } };
    if (count >= LIMITS.REPLAY_EVENTS_MAX)
      return invalid('/as_of', 'too_far', `replays at most ${LIMITS.REPLAY_EVENTS_MAX} events`);
    after = last.position;
    await turn();
  }
};
