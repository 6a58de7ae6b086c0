import { LIMITS } from '#contracts/limits.ts';
import type { Dimension } from '#contracts/records/performance.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { bindingOf, readCursor, writeCursor } from '../cursor.ts';
import type { Deps } from '../deps.ts';
import type { Handler, InputOf } from '../handler.ts';
import type { Refusal } from '../outcome.ts';
import { done, refuse } from '../outcome.ts';
import type { Bucket, Query } from '../performance/aggregate.ts';
import {
  addTo,
  aggregate,
  emptySum,
  inOrder,
  renderBucket,
  renderSum,
} from '../performance/aggregate.ts';
import {
  bucketOf,
  dateOf,
  dayOf,
  isTimeZone,
  todayIn,
  yearBefore,
} from '../performance/calendar.ts';
import { renderAsOf } from '../time.ts';

type Input = InputOf<'getPerformance'>;

/** One question of a store far away answers nearly every query. */
const PAGE_ROWS = 5_000;

export const getPerformance: Handler<'getPerformance'> = async (deps, input, { caller, at }) => {
  const query = queryOf(input, at);
  if ('ok' in query) return query;
  const binding = bindingOf(caller.ownerId, 'getPerformance', input);
  let offset = 0;
  if (input.cursor !== undefined) {
    const read = readCursor(deps, binding, input.cursor);
    if (!read.ok) return read;
    offset = read.place;
  }
  const before = input.compare_to && comparisonOf(query, input.compare_to);
  const source = await rowsOf(
    deps,
    caller.ownerId,
    input.as_of,
    before?.from ?? query.from,
    query.to,
  );
  if ('ok' in source) return source;

  const buckets = inOrder(aggregate(source.rows, query), query);
  const compared = before && aggregate(source.rows, before);
  const shown = buckets.slice(offset, offset + input.limit);
  const more = offset + shown.length < buckets.length;
  const comparison = compared && before && comparisonFor(query, before, compared);
  return done({
    data: shown.map((bucket) => ({
      ...renderBucket(bucket, query.groupBy),
      ...(comparison && { comparison: renderSum(comparison(bucket)) }),
    })),
    totals: renderSum(totalOf(buckets)),
    ...(compared && { comparison_totals: renderSum(totalOf(compared)) }),
    period: {
      from: dateOf(query.from),
      to: dateOf(query.to),
      granularity: query.granularity,
      time_zone: query.timeZone,
    },
    ...(before && { comparison_period: { from: dateOf(before.from), to: dateOf(before.to) } }),
    page: {
      next_cursor: more ? writeCursor(deps, binding, offset + shown.length) : null,
      has_more: more,
    },
    as_of: renderAsOf(source.asOf),
    classifier_version: deps.classifierVersion,
  });
};

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
  const filters = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== undefined),
  ) as Partial<Record<Dimension, string>>;
  return { from, to, granularity, timeZone: time_zone, groupBy: group_by, filters };
};

const invalid = (pointer: string, code: string, detail: string): Refusal =>
  refuse('parameter_invalid', 'Some parameters are not valid.', {
    errors: [{ pointer, code, detail }],
  });

const comparisonOf = (query: Query, to: NonNullable<Input['compare_to']>): Query => {
  if (to === 'previous_year')
    return { ...query, from: yearBefore(query.from), to: yearBefore(query.to) };
  const days = query.to - query.from + 1;
  return { ...query, from: query.from - days, to: query.to - days };
};

/** The bucket as many buckets into the comparison period, under the same group. */
const comparisonFor = (query: Query, before: Query, compared: readonly Bucket[]) => {
  const ordinals = (period: Query): number[] => {
    const starts = new Set<number>();
    for (let day = period.from; day <= period.to; day++)
      starts.add(bucketOf(day, period.granularity, period.from));
    return [...starts];
  };
  const now = ordinals(query);
  const then = ordinals(before);
  const found = new Map(
    compared.map(({ bucket, group, sum }) => [JSON.stringify([bucket, group]), sum]),
  );
  return ({ bucket, group }: Bucket) =>
    found.get(JSON.stringify([then[now.indexOf(bucket)] ?? null, group])) ?? emptySum();
};

const totalOf = (buckets: readonly Bucket[]) => {
  const total = emptySum();
  for (const { sum } of buckets) addTo(total, sum);
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
  let before = firstOf(toDay + 2);
  for (;;) {
    const page: { row: PerformanceRecord; sort: number }[] =
      await deps.readModels.list<PerformanceRecord>('performance', {
        scope: ownerId,
        before,
        downTo: firstOf(fromDay - 1),
        limit: PAGE_ROWS,
      });
    for (const { row } of page) rows.push(row);
    const last = page.at(-1);
    if (!last || page.length < PAGE_ROWS) break;
    before = last.sort;
  }
  return { rows, asOf: now };
};

/** Where the rows of a day begin: they sort by day first (projections/performance.ts). */
const firstOf = (day: number): number => day * 2 ** 32;

const rowsAt = async (deps: Deps, ownerId: string, position: Position) => {
  const head = await deps.log.head();
  if (position > head.position) return invalid('/as_of', 'out_of_range', 'lies beyond the log');
  const events: FoldEvent[] = [];
  let after = 0;
  for (;;) {
    const page = await deps.log.readOwner(ownerId, { after, upTo: position, limit: 1_000 });
    for (const event of page) events.push({ ...event, at: event.meta.at });
    const last = page.at(-1);
    if (!last || page.length < 1_000) break;
    if (events.length >= LIMITS.REPLAY_EVENTS_MAX)
      return invalid('/as_of', 'too_far', `replays at most ${LIMITS.REPLAY_EVENTS_MAX} events`);
    after = last.position;
  }
  const at = events.at(-1)?.at ?? null;
  return { rows: deps.foldPerformance(events), asOf: { position, at } };
};
