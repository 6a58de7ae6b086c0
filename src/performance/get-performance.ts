import { LIMITS } from '#contracts/limits.ts';
import { getPerformance as contract } from '#contracts/performance/get-performance.ts';
import type { ReportRow } from '#contracts/performance/performance.records.ts';
import type { Position } from '#src/ports/event-log.ts';
import { requireOutput } from '#src/calls/contract-checks.ts';
import { done, isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { bindingOf, readPlace, writeCursor } from '#src/reading/cursor.ts';
import { present } from '#src/shared/present.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { aggregate, type Report } from './aggregate.ts';
import { type Bucket, type Query, renderBucket, renderSum, requireCounts } from './buckets.ts';
import { dateOf, dayOf, isTimeZone, todayIn } from './calendar.ts';
import type { FactSelection } from './columns.ts';
import type { FactsCache } from './facts.ts';
import { type Comparison, comparisonOf, join } from './comparison.ts';
import {
  type AskedRows,
  countPage,
  orderedBuckets,
  pageOfRows,
  PLACE,
  rowPlaceOf,
} from './pages.ts';
import type { Deps, Handler, InputOf } from '#src/calls/call.ts';

/** The answer without its rows, which are checked when they are rendered. */
const ENVELOPE = { id: 'getPerformance', output: contract.output.omit({ data: true }) };

type Input = InputOf<'getPerformance'>;
/** What reports need. */
export type PerformanceDeps = Deps & { facts: FactsCache };

type CountingDeps = Pick<
  PerformanceDeps,
  'facts' | 'readModels' | 'following' | 'secrets' | 'clock' | 'classifierVersion'
> & { log: Pick<Deps['log'], 'head' | 'readBack'> };

export const getPerformance: Handler<'getPerformance', PerformanceDeps> = (
  deps,
  input,
  { caller, at, file },
) => countPerformance(deps, input, { ownerId: caller.ownerId, at, file });

/** Counts the performance of an owner; `at` is now, in epoch milliseconds. */
export const countPerformance = async (
  deps: CountingDeps,
  input: Input,
  { ownerId, at, file }: { ownerId: string; at: number; file?: boolean | undefined },
): ReturnType<Handler<'getPerformance'>> => {
  const binding = bindingOf(ownerId, 'getPerformance', input);
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
  const source = await sourceOf(deps, ownerId, input.as_of);
  if (isRefusal(source)) return source;

  const isWhole = file === true && input.limit === undefined && input.cursor === undefined;
  const asked = { after, limit: input.limit, isWhole };
  const { counted, compared, joined, page } = await count(source, query, { comparison, asked });
  if (isRefusal(page)) return page;
  const { last } = page;
  // A page takes milliseconds to render, so no two are rendered in one turn.
  await eventLoopTurns.pause();
  const rowOf = (bucket: Bucket): ReportRow => {
    requireCounts(bucket.sum);
    const row = renderBucket(bucket, query.groupBy);
    if (joined) row.comparison = renderSum(requireCounts(joined.earlier(bucket)));
    return row;
  };
  const envelope = {
    totals: renderSum(counted.total()),
    ...(compared && { comparison_totals: renderSum(compared.total()) }),
    period: {
      from: dateOf(query.from),
      to: dateOf(query.to),
      granularity: query.granularity,
      time_zone: query.timeZone,
    },
    ...(before && { comparison_period: { from: dateOf(before.from), to: dateOf(before.to) } }),
    page: {
      next_cursor:
        page.more && last ? writeCursor(deps, binding, rowPlaceOf(last, query.to)) : null,
      has_more: page.more,
    },
    as_of: renderAsOf(source.asOf),
    classifier_version: deps.classifierVersion,
  };
  requireOutput(ENVELOPE, envelope);
  const rows = Iterator.from(page.shown).map(rowOf);
  return done(
    { data: isWhole ? [] : [...rows], ...envelope },
    { isChecked: true, ...(isWhole && { rows }) },
  );
};

type Counting = { comparison: Comparison | undefined; asked: AskedRows };

const count = async (source: Source, query: Query, { comparison, asked }: Counting) => {
  const mayBePart = query.groupBy.length > 0 && !comparison && !asked.isWhole;
  // Totals need no days. Facts that are counted one by one do not depend on the period.
  const inTotal = mayBePart ? { ...query, granularity: 'total' as const } : query;
  const selection = await source.select(inTotal);
  const isPart = mayBePart && selection.isByDay && query.granularity !== 'total';
  const counted = await aggregate(selection, isPart ? inTotal : query);
  const compared = comparison && (await countBefore(source, comparison));
  const joined = compared && (await join(await counted.all(), await compared.all()));
  const { countries } = counted;
  const page = isPart
    ? await countPage(source.select, query, { ...asked, countries })
    : pageOfRows(await orderedBuckets(counted, query, joined?.buckets), asked);
  return { counted, compared, joined, page };
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

/** Facts of the owner, which reflect a position of the log. */
type Source = {
  select(query: Query): Promise<FactSelection>;
  asOf: { position: Position; at: number | null };
};

const countBefore = async (source: Source, { before, bucketOfDay }: Comparison): Promise<Report> =>
  aggregate(await source.select(before), before, { bucketOfDay });

const invalid = (pointer: string, code: string, detail: string): Refusal =>
  refuse('parameter_invalid', 'Some parameters are not valid.', {
    errors: [{ pointer, code, detail }],
  });

/** Reads the owner's facts, or those up to a position of the log. */
const sourceOf = async (
  deps: CountingDeps,
  ownerId: string,
  position: Position | undefined,
): Promise<Source | Refusal> => {
  if (position !== undefined) return sourceUpTo(deps, ownerId, position);
  const asOf = deps.following.asOf();
  const { rollUps, length } = await deps.facts.read(deps.readModels, ownerId);
  return { select: (query) => rollUps.select(query, length), asOf };
};

const sourceUpTo = async (
  deps: CountingDeps,
  ownerId: string,
  position: Position,
): Promise<Source | Refusal> => {
  const { log, following } = deps;
  if (position > (await log.head()).position)
    return invalid('/as_of', 'out_of_range', 'is greater than the last position of the log');
  if (!(await following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX)))
    return refuse('read_model_rebuilding', 'The read model has not reached this position yet.', {
      retryAfterS: 1,
    });
  const facts = await deps.facts.read(deps.readModels, ownerId);
  const length = facts.upTo(position);
  const [last] = await log.readBack({ upTo: position, limit: 1, owner: ownerId });
  return {
    select: (query) => facts.rollUps.select(query, length),
    asOf: { position, at: last?.meta.at ?? null },
  };
};
