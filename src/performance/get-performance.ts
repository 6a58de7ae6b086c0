/** Reports performance, page by page. */
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { getPerformance as contract } from '#contracts/performance/operations.ts';
import {
  type Metric,
  METRICS,
  metricNames,
  type ReportRow,
  type ShownRow,
  type Dimension,
} from '#contracts/performance/records.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { requireOutput } from '#src/calls/pipeline.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Clock } from '#src/ports/system.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { bindingOf, readPlace, writeCursor, listing } from '#src/reading/lists.ts';
import {
  type Done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  done,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { renderAsOf, DAY_MS } from '#src/shared/time.ts';
import { byText, eventLoopTurns, sortedInTurns } from '#src/shared/work.ts';
import { nameOf } from '#src/writing/streams.ts';
import { aggregate, type Report, type Countries } from './aggregate.ts';
import {
  type Bucket,
  bucketIn,
  inOrder,
  bucketKeyOf,
  type OrderedBuckets,
  type Query,
  renderBucket,
  renderSum,
  requireCounts,
  dateOf,
  dayOf,
  isTimeZone,
  todayIn,
  type Comparison,
  comparisonOf,
  join,
  emptyBucket,
} from './calendar.ts';
import { type FactSelection, type FactsCache, matcherOf, valueOf } from './facts.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import { shownNameOfLink } from '#src/links/links.ts';

/**
 * The place in a cursor: bucket and name of the last row of the page, so that rows that arrive later
 * repeat none; and the last day of the listing, which would otherwise change at midnight.
 */
const PLACE = z.tuple([z.int(), z.string(), z.int()]);
type Place = z.output<typeof PLACE>;

export const rowPlaceOf = (bucket: Bucket, lastDay: number): Place => [
  bucket.bucket,
  nameOf(bucketKeyOf(bucket)),
  lastDay,
];

/** Without groups the answer contains every bucket of its period, and with a comparison also those of the earlier period. */
const orderedBuckets = async (
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
type AskedRows = { after: Place | undefined; limit: number | undefined; isWhole: boolean };

const pageOfRows = (
  buckets: OrderedBuckets,
  { after, limit, isWhole }: AskedRows,
): Page | Refusal => (isWhole ? wholePage(buckets) : pageAfter(buckets, after, limit));

/**
 * Counts a page of rows with groups. Reads the period from the first day of the page on, in ever longer parts until the
 * page is full, so that its cost grows with its rows and groups and not with the days after it. `countries`: how countries are named
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

/** The answer without its rows, which are checked when they are rendered. */
const ENVELOPE = { id: 'getPerformance', output: contract.output.omit({ data: true }) };

type Input = InputOf<'getPerformance'>;
/** What reports need. */
export type PerformanceDeps = Deps & { facts: FactsCache };

type CountingDeps = Pick<
  PerformanceDeps,
  'facts' | 'readModels' | 'following' | 'secrets' | 'classifierVersion'
> & { log: Pick<Deps['log'], 'head' | 'readBack'>; clock: Pick<Clock, 'now'> };

type Choice = Partial<Pick<Input, 'metrics' | 'zeros'>>;

/** Returns a counted report with the numbers that a call chooses. */
export const chooseMetrics = (
  counted: Done<WholeReport>,
  { metrics: chosen = metricNames, zeros = 'show' }: Choice,
): Done<z.output<typeof contract.output>> => {
  if (chosen === metricNames && zeros === 'show') return counted;
  const choose = (all: ReportRow['metrics']): ShownRow['metrics'] => {
    const isShown = (value: number | unknown[]): boolean =>
      zeros === 'show' || (Array.isArray(value) ? value.length > 0 : value !== 0);
    return Object.fromEntries(
      chosen.filter((name) => isShown(all[name])).map((name) => [name, all[name]]),
    );
  };
  const chooseRow = ({ metrics, comparison, ...row }: ReportRow): ShownRow => ({
    ...row,
    metrics: choose(metrics),
    ...(comparison && { comparison: choose(comparison) }),
  });
  const { value, rows } = counted;
  const { data, totals, comparison_totals: earlier, ...rest } = value;
  const report = {
    ...rest,
    totals: choose(totals),
    ...(earlier && { comparison_totals: choose(earlier) }),
  };
  return {
    ...counted,
    value: { data: data.map(chooseRow), ...report },
    ...(rows && { rows: Iterator.from(rows as Iterable<ReportRow>).map(chooseRow) }),
  };
};

export const getPerformance: Handler<'getPerformance', PerformanceDeps> = (
  deps,
  input,
  { ownerId, at, file },
) => answerPerformance(deps, input, { ownerId, at, file });

/** Counts the performance of an owner, with the names and the numbers that a call asks for. */
export const answerPerformance = async (
  deps: CountingDeps & Readers,
  input: Input,
  asking: Asking,
): Promise<Outcome<z.output<typeof contract.output>>> => {
  const { ownerId } = asking;
  const counted = await countPerformance(deps, input, asking);
  if (!counted.ok || input.names !== 1) return counted.ok ? chooseMetrics(counted, input) : counted;
  const { data, ...report } = counted.value;
  const named = { data: await withNames(deps, ownerId, data), ...report };
  return chooseMetrics({ ...counted, value: named }, input);
};

/** A report with all numbers. */
type WholeReport = Omit<
  z.output<typeof contract.output>,
  'data' | 'totals' | 'comparison_totals'
> & {
  data: ReportRow[];
  totals: ReportRow['metrics'];
  comparison_totals?: ReportRow['metrics'];
};

type Asking = {
  ownerId: string;
  /** Now, in epoch milliseconds. */
  at: number;
  file?: boolean | undefined;
  /** Orders the rows by this number, the greatest first, instead of by time and group. */
  orderBy?: Metric | undefined;
};

/** Counts the performance of an owner. */
export const countPerformance = async (
  deps: CountingDeps,
  input: Input,
  { ownerId, at, file, orderBy }: Asking,
): Promise<Outcome<WholeReport>> => {
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
  const asking = { comparison, orderBy, asked: { after, limit: input.limit, isWhole } };
  const fault = refuseBeside(input, query, { isFile: isWhole, orderBy });
  if (fault) return fault;
  const withEmpty = input.include && emptyMaker(deps, ownerId, { query, source });
  const { counted, compared, joined, page } = await count(source, query, { ...asking, withEmpty });
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

/** Refuses what a file, or a report without these groups, cannot show. */
const refuseBeside = (
  { names, include, cursor }: Input,
  query: Query,
  { isFile, orderBy }: { isFile: boolean; orderBy: Metric | undefined },
): Refusal | undefined => {
  if (orderBy !== undefined && cursor !== undefined)
    return invalid('/cursor', 'not_together', 'rows in the order of a number have one page');
  if (names === 1 && isFile) return invalid('/names', 'not_together', 'a file has ids only');
  return include && emptyBy(query) === undefined
    ? invalid('/include', 'not_together', 'needs link_id or campaign in group_by')
    : undefined;
};

const emptyMaker =
  (deps: CountingDeps, ownerId: string, { query, source }: { query: Query; source: Source }) =>
  (known: readonly Bucket[]): Promise<Bucket[]> =>
    emptyBuckets(deps, { ownerId, query, upTo: source.asOf.position }, known);

type Counting = {
  comparison: Comparison | undefined;
  orderBy: Metric | undefined;
  asked: AskedRows;
  /** Makes buckets of what has no events. */
  withEmpty: ((known: readonly Bucket[]) => Promise<Bucket[]>) | undefined;
};

const count = async (
  source: Source,
  query: Query,
  { comparison, orderBy, asked, withEmpty }: Counting,
) => {
  const mayBePart =
    query.groupBy.length > 0 && !comparison && !asked.isWhole && !withEmpty && !orderBy;
  // Totals need no days. Facts that are counted one by one do not depend on the period.
  const inTotal = mayBePart ? { ...query, granularity: 'total' as const } : query;
  const selection = await source.select(inTotal);
  const isPart = mayBePart && selection.isByDay && query.granularity !== 'total';
  const counted = await aggregate(selection, isPart ? inTotal : query);
  const compared = comparison && (await countBefore(source, comparison));
  const joined = compared && (await join(await counted.all(), await compared.all()));
  const { countries } = counted;
  const allBuckets = async (): Promise<readonly Bucket[] | undefined> => {
    if (!withEmpty) return joined?.buckets;
    const known = joined?.buckets ?? (await counted.all());
    return [...known, ...(await withEmpty(known))];
  };
  const page = isPart
    ? await countPage(source.select, query, { ...asked, countries })
    : orderBy === undefined
      ? pageOfRows(await orderedBuckets(counted, query, await allBuckets()), asked)
      : await greatestOf((await allBuckets()) ?? (await counted.all()), orderBy, asked.limit);
  return { counted, compared, joined, page };
};

const greatestOf = async (
  buckets: readonly Bucket[],
  orderBy: Metric,
  limit: number = LIMITS.PERFORMANCE_PAGE_ROWS_DEFAULT,
): Promise<Page> => {
  const place = METRICS.indexOf(orderBy);
  const keyed = buckets.map((one): [number, string, Bucket] => [
    one.sum.counts[place] ?? 0,
    bucketKeyOf(one),
    one,
  ]);
  const ordered = await sortedInTurns(keyed, (a, b) => b[0] - a[0] || byText(a[1], b[1]));
  const shown = ordered.slice(0, limit).map(([, , one]) => one);
  return { shown, last: undefined, more: ordered.length > limit };
};

/** The dimensions by which a call can filter; sub_ids have none. */
const FILTERS = [
  'link_id',
  'campaign',
  'channel',
  'product_id',
  'category',
  'country',
  'agent_id',
  'handoff_id',
  'client',
] as const satisfies readonly Dimension[];

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
  const filters = Object.fromEntries(FILTERS.map((name) => [name, input[name]]));
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

type Readers = Pick<Deps, 'readModels' | 'catalog' | 'credentials'>;
type Names = NonNullable<ReportRow['names']>;

/** Names of a value of each dimension that has ids. */
const NAMERS: Partial<
  Record<Dimension, (deps: Readers, ownerId: string, id: string) => Promise<Names>>
> = {
  async link_id(deps, ownerId, id) {
    const link = await deps.readModels.get<LinkState>('links', ownerId, id);
    return link
      ? present({ link_id: shownNameOfLink(deps, link), campaign: link.dims.campaign })
      : {};
  },
  async product_id({ catalog }, _ownerId, id) {
    const product = catalog.byId([id]).get(id) ?? catalog.withdrawn([id]).get(id)?.product;
    return present({ product_id: product?.title });
  },
  async handoff_id({ readModels }, ownerId, id) {
    const list = await readModels.get<HandoffState>('handoffs', ownerId, id);
    return list && !list.made_by_buyer ? { handoff_id: list.title } : {};
  },
  agent_id: async ({ credentials }, _ownerId, id) =>
    present({ agent_id: credentials.agent(id)?.name }),
};

/** Adds the names of the ids in each row. Reads each record once. */
export const withNames = async (
  deps: Readers,
  ownerId: string,
  rows: readonly ReportRow[],
): Promise<ReportRow[]> => {
  const read = new Map<string, Promise<Names>>();
  const namesOf = (dimension: string, id: string): Promise<Names> => {
    let names = read.get(id);
    if (!names) {
      names = NAMERS[dimension as Dimension]?.(deps, ownerId, id) ?? Promise.resolve({});
      read.set(id, names);
    }
    return names;
  };
  return Promise.all(
    rows.map(async (row) => {
      const ids = Object.entries(row.dimensions).filter(
        (one): one is [string, string] => one[0] in NAMERS && typeof one[1] === 'string',
      );
      const names = await Promise.all(ids.map(([dimension, id]) => namesOf(dimension, id)));
      return { ...row, names: Object.assign({}, ...names) as Names };
    }),
  );
};

/** The newest links that are looked at for those without events. */
const LINKS_MAX = 10_000;
const LINKS_READ = 1_000;

/** What rows without events are about: links, or else campaigns; undefined if a report has groups of neither. */
export const emptyBy = ({
  groupBy,
}: Pick<Query, 'groupBy'>): 'link_id' | 'campaign' | undefined => {
  if (groupBy.includes('link_id')) return 'link_id';
  return groupBy.includes('campaign') ? 'campaign' : undefined;
};

/** An empty bucket, at the start of the period, for each of the newest links or their campaigns that `known` lacks. */
export const emptyBuckets = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, query, upTo }: { ownerId: string; query: Query; upTo: Position },
  known: readonly Bucket[],
): Promise<Bucket[]> => {
  const by = emptyBy(query);
  if (by === undefined) return [];
  const place = query.groupBy.indexOf(by);
  const seen = new Set(known.map(({ group }) => group[place]));
  const isMatch = matcherOf(query.filters);
  const bucket = bucketIn(query, query.from);
  const empty: Bucket[] = [];
  let read = 0;
  const rows = { scope: ownerId, limit: LINKS_READ };
  for await (const page of listing<LinkState>(readModels, 'links', rows)) {
    for (const { row, sort } of page) {
      const { link_id, agent_id, dims, created_at } = row;
      const all = { ...dims, link_id, agent_id };
      const value = valueOf(all, by);
      const isThere = sort <= upTo && Math.floor(created_at / DAY_MS) <= query.to;
      if (!isThere || value === null || seen.has(value) || !isMatch(all)) continue;
      seen.add(value);
      empty.push(emptyBucket({ bucket, group: query.groupBy.map((one) => valueOf(all, one)) }));
    }
    read += page.length;
    if (read >= LINKS_MAX) break;
  }
  return empty;
};
