import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { reportRow, type ReportRow } from '#contracts/records/performance.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { bindingOf, readCursorOf, writeCursor } from '../read-models/cursor.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { nameOf } from '../events/hash.ts';
import { listing } from '../read-models/listing.ts';
import { done, type Refusal, refuse } from '../pipeline/outcome.ts';
import type { Bucket, Query } from './aggregate.ts';
import {
  addTo,
  aggregate,
  emptySum,
  inOrder,
  placeOf,
  renderBucket,
  renderSum,
} from './aggregate.ts';
import { dateOf, dayOf, isTimeZone, todayIn } from './calendar.ts';
import { beside, comparisonOf, countedBefore, ofBoth } from './comparison.ts';
import { present } from '../shared/present.ts';
import { renderAsOf } from '../shared/time.ts';
import { inTurns, turn } from '../shared/turns.ts';

type Input = InputOf<'getPerformance'>;

/** One question of a store far away answers nearly every query. */
const PAGE_ROWS = 5_000;
const PAGE_EVENTS = 500;

/**
 * The row that a page ends with, so that rows which come meanwhile move none into the next page twice;
 * and the last day of the listing: today would be another one after midnight.
 */
const placeShape = z.tuple([z.int(), z.string(), z.int()]);
const rowName = (bucket: Bucket): string => nameOf(placeOf(bucket));

export const getPerformance: Handler<'getPerformance'> = async (deps, input, call) => {
  const { caller, at } = call;
  const binding = bindingOf(caller.ownerId, 'getPerformance', input);
  let after: { bucket: number; row: string } | undefined;
  let { to } = input;
  if (input.cursor !== undefined) {
    const read = readCursorOf(deps, binding, input.cursor, placeShape);
    if (!read.ok) return read;
    const [bucket, row, last] = read.place;
    after = { bucket, row };
    to = dateOf(last);
  }
  const query = queryOf({ ...input, to }, at);
  if ('ok' in query) return query;
  const comparison = input.compare_to && comparisonOf(query, input.compare_to);
  const before = comparison?.before;
  const source = await rowsOf(
    deps,
    caller.ownerId,
    input.as_of,
    before?.from ?? query.from,
    query.to,
  );
  if ('ok' in source) return source;

  const now = await aggregate(source.rows, query);
  const then = comparison && (await countedBefore(source.rows, query, comparison));
  const buckets = await inOrder(then ? await ofBoth(now, then) : now, query);
  const isAfter = (row: Bucket): boolean =>
    row.bucket === after?.bucket && rowName(row) === after.row;
  const start = after === undefined ? 0 : buckets.findIndex(isAfter) + 1;
  if (after !== undefined && start === 0)
    return refuse('cursor_invalid', 'The row that the cursor stands behind is no longer there.');
  const isWhole = call.file === true && input.limit === undefined && input.cursor === undefined;
  if (isWhole && buckets.length > LIMITS.PERFORMANCE_FILE_ROWS_MAX) return tooLarge(buckets.length);
  const limit = input.limit ?? LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT;
  const shown = isWhole ? buckets : buckets.slice(start, start + limit);
  const last = shown.at(-1);
  const more = start + shown.length < buckets.length;
  const sumBeside = then && (await beside(then));
  const place = last && [last.bucket, rowName(last), query.to];
  const rowOf = (bucket: Bucket): ReportRow => ({
    ...renderBucket(bucket, query.groupBy),
    ...(sumBeside && { comparison: renderSum(sumBeside(bucket)) }),
  });
  const answer = {
    data: isWhole ? [] : shown.map(rowOf),
    totals: renderSum(await totalOf(buckets)),
    ...(then && { comparison_totals: renderSum(await totalOf(then)) }),
    period: {
      from: dateOf(query.from),
      to: dateOf(query.to),
      granularity: query.granularity,
      time_zone: query.timeZone,
    },
    ...(before && { comparison_period: { from: dateOf(before.from), to: dateOf(before.to) } }),
    page: {
      next_cursor: more && place ? writeCursor(deps, binding, place) : null,
      has_more: more,
    },
    as_of: renderAsOf(source.asOf),
    classifier_version: deps.classifierVersion,
  };
  return done(answer, isWhole ? { rows: rowsOfFile(shown, rowOf) } : {});
};

/** Each is made, and held against the contract, as it is taken: nobody waits for all of them at once. */
const rowsOfFile = function* (
  buckets: readonly Bucket[],
  rowOf: (bucket: Bucket) => ReportRow,
): Generator<ReportRow, void> {
  for (const bucket of buckets) yield reportRow.parse(rowOf(bucket));
};

const tooLarge = (rows: number): Refusal =>
  refuse(
    'answer_too_large',
    `These are ${rows} rows, and a file has at most ${LIMITS.PERFORMANCE_FILE_ROWS_MAX}. Narrow from and ` +
      'to, take a coarser granularity, less of group_by or a single value of it, or pages by limit and cursor.',
  );

const queryOf = (input: Input, at: number): Query | Refusal => {
  const { time_zone, granularity, group_by = [] } = input;
  if (!isTimeZone(time_zone)) return invalid('/time_zone', 'unknown', 'is not an IANA time zone');
  const to = input.to === undefined ? todayIn(time_zone, at) : dayOf(input.to);
  const from = input.from === undefined ? to - 29 : dayOf(input.from);
  if (from < 0) return invalid('/from', 'out_of_range', 'must not lie before 1970');
  if (from > to) return invalid('/from', 'out_of_range', 'must not lie after to');
  if (to - from >= LIMITS.PERFORMANCE_DAYS_MAX)
    return invalid(
      '/from',
      'out_of_range',
      `at most ${LIMITS.PERFORMANCE_DAYS_MAX} days in one call`,
    );
  if (new Set(group_by).size < group_by.length)
    return invalid('/group_by', 'duplicate', 'names a dimension twice');
  const { link_id, campaign, channel, product_id, category, country, agent_id, handoff_id } = input;
  const asked = { link_id, campaign, channel, product_id, category, country, agent_id, handoff_id };
  const filters = present(asked);
  return { from, to, granularity, timeZone: time_zone, groupBy: group_by, filters };
};

const invalid = (pointer: string, code: string, detail: string): Refusal =>
  refuse('parameter_invalid', 'Some parameters are not valid.', {
    errors: [{ pointer, code, detail }],
  });

const totalOf = async (buckets: readonly Bucket[]) => {
  const total = emptySum();
  await inTurns(buckets, ({ sum }) => addTo(total, sum));
  return total;
};

/** The owner's rows of these days: from the read model, or folded afresh as of a position. */
const rowsOf = async (
  deps: Deps,
  ownerId: string,
  asOf: Position | undefined,
  fromDay: number,
  toDay: number,
): Promise<
  { rows: PerformanceRecord[]; asOf: { position: Position; at: number | null } } | Refusal
> => {
  if (asOf !== undefined) return rowsAt(deps, ownerId, asOf);
  const now = deps.following.asOf();
  // A local day reaches at most one UTC day beyond its own on either side.
  const rows: PerformanceRecord[] = [];
  const days = { before: firstOf(toDay + 2), downTo: firstOf(fromDay - 1) };
  const query = { scope: ownerId, ...days, limit: PAGE_ROWS };
  for await (const page of listing<PerformanceRecord>(deps.readModels, 'performance', query))
    for (const { row } of page) rows.push(row);
  return { rows, asOf: now };
};

/** Where the rows of a day begin: they sort by day first (projections/performance.ts). */
const firstOf = (day: number): number => day * 2 ** 32;

const rowsAt = async (deps: Deps, ownerId: string, position: Position) => {
  const head = await deps.log.head();
  if (position > head.position) return invalid('/as_of', 'out_of_range', 'lies beyond the log');
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
    if (!last || page.length < PAGE_EVENTS) break;
    if (count >= LIMITS.REPLAY_EVENTS_MAX)
      return invalid('/as_of', 'too_far', `replays at most ${LIMITS.REPLAY_EVENTS_MAX} events`);
    after = last.position;
    await turn();
  }
  return { rows: fold.rows(), asOf: { position, at } };
};
