/** The facts that performance is counted from, in columns for each owner. */
import { hash } from 'node:crypto';
import type { EventData, EventType } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { packNumbers } from '#src/ports/packed-numbers.ts';
import {
  type PerformanceBlock,
  type PerformanceFacts,
  VALUES_PER_FACT,
  type PerformanceTail,
  CHUNKS_PER_BLOCK,
  clickKey,
  type LastClick,
  FACTS_PER_CHUNK,
  FIRST_LINES_SORT,
  FIRST_SET_SORT,
  type LineEntry,
  type PerformanceLines,
  type PerformanceChunk,
  type PerformanceSet,
  type PerformanceSets,
  SETS_PER_GROUP,
  TAIL_KEY,
  TAIL_SORT,
} from '#src/ports/performance-rows.ts';
import { typedEvent, type EventPlace, type Projection, type ScopeRows } from './projection.ts';

/** Makes a block of chunks in log order; `last` is the number of the last one. */
export const blockOf = (last: number, chunks: readonly PerformanceFacts[]): PerformanceBlock => {
  const positions: number[] = [];
  const quarters: number[] = [];
  const sets: number[] = [];
  const metrics: number[] = [];
  const countries: number[] = [];
  const names: string[] = [''];
  const details: PerformanceBlock['details'] = [];
  for (const facts of chunks) {
    let position = 0;
    let quarter = 0;
    for (let at = 0; at < facts.length; at += VALUES_PER_FACT) {
      const detail = facts[at + 4] ?? 0;
      const name = typeof detail === 'string' ? detail : '';
      if (!names.includes(name)) names.push(name);
      if (typeof detail !== 'string' && detail !== 0) details.push([positions.length, detail]);
      positions.push((position += facts[at] as number));
      quarters.push((quarter += facts[at + 1] as number));
      sets.push(facts[at + 2] as number);
      metrics.push(facts[at + 3] as number);
      countries.push(names.indexOf(name));
    }
  }
  const [position = 0] = positions;
  const quarter = quarters.reduce((least, one) => Math.min(least, one), Infinity);
  return {
    last,
    position,
    positions: packNumbers(positions.map((one) => one - position)),
    quarter,
    quarters: packNumbers(quarters.map((one) => one - quarter)),
    sets: packNumbers(sets),
    metrics: packNumbers(metrics),
    names,
    countries: packNumbers(countries),
    details,
  };
};

/** Indexes of the metrics that a fact can count. Equal to the order of METRICS. */
export const METRIC = {
  clicks_raw: 0,
  clicks_valid: 1,
  clicks_unique: 2,
  handoffs_created: 3,
  handoffs_opened: 4,
  handoffs_declined: 5,
  rfqs_submitted: 6,
  leads_submitted: 7,
  leads_accepted: 8,
  leads_qualified: 9,
  leads_won: 10,
  clicks_surplus: 11,
  lists_created: 12,
  rfqs_won: 13,
  rfqs_unconfirmed: 14,
  rfqs_confirmed_by_staff: 15,
  rfqs_taken_up: 16,
  rfq_lines: 17,
  won_lines: 18,
} as const;

export const COUNTED_TYPES = {
  VisitRecorded: METRIC.clicks_raw,
  HandoffCreated: METRIC.handoffs_created,
  HandoffOpenedByBuyer: METRIC.handoffs_opened,
  HandoffDeclinedByBuyer: METRIC.handoffs_declined,
  RfqSubmittedByBuyer: METRIC.rfqs_unconfirmed,
  RfqConfirmedByBuyer: METRIC.rfqs_submitted,
  RfqConfirmedByStaff: METRIC.rfqs_submitted,
  LeadSubmitted: METRIC.leads_submitted,
  LeadAccepted: METRIC.leads_accepted,
  LeadQualified: METRIC.leads_qualified,
  LeadWon: METRIC.leads_won,
  VisitsSummed: METRIC.clicks_surplus,
  BuyerListCreated: METRIC.lists_created,
  RfqTakenUp: METRIC.rfqs_taken_up,
  RfqWon: METRIC.rfqs_won,
  RfqOutcomeCorrected: METRIC.rfqs_won,
  LeadOutcomeCorrected: METRIC.leads_won,
} as const satisfies Partial<Record<EventType, number>>;

export type CountedType = keyof typeof COUNTED_TYPES;
/** What an event counts, and when, in epoch milliseconds. */
export type NumberChange = {
  at: number;
  metric: number;
  detail: string | number | (string | number)[] | Omit<PerformanceLines, 'number'>;
};

/**
 * Whether the event counts: another lead can count for the same RFQ, a correction can concern only losses, and and an
 * RFQ that is sent again unconfirmed, or taken up again, counts already.
 */
export const changesNumbers = (event: FoldEvent): boolean => {
  const { type, data } = typedEvent<CountedType>(event);
  if ('uncounted' in data && data.uncounted) return false;
  if (type === 'RfqSubmittedByBuyer') return data.confirmation.first_at === undefined;
  if (type === 'RfqTakenUp') return data.lines !== undefined;
  if (type === 'RfqOutcomeCorrected' && data.taken_up) return true;
  return type === 'RfqOutcomeCorrected' || type === 'LeadOutcomeCorrected'
    ? data.from.state === 'won' || data.to.state === 'won'
    : true;
};

/** What an event counts; `clickOf` names the metric of a visit. */
export const numbersOf = (
  event: FoldEvent,
  clickOf: (visit: EventData<'VisitRecorded'>) => number,
): NumberChange[] => {
  const { type, data, at } = typedEvent<CountedType>(event);
  const metric = COUNTED_TYPES[type];
  const one = (detail: NumberChange['detail'], of: number = metric, when = at): NumberChange[] => [
    { at: when, metric: of, detail },
  ];
  switch (type) {
    case 'VisitRecorded':
      return one(data.country ?? '', clickOf(data));
    case 'VisitsSummed':
      return one(data.visits);
    case 'RfqConfirmedByBuyer':
    case 'RfqConfirmedByStaff':
      return [
        // It is not unconfirmed any more, so the number of the day on which it was sent changes.
        ...one(-1, METRIC.rfqs_unconfirmed, data.submitted_at),
        ...one(countOf(data.lines)),
        ...(type === 'RfqConfirmedByStaff'
          ? one(countOf(data.lines), METRIC.rfqs_confirmed_by_staff)
          : []),
      ];
    case 'RfqTakenUp':
      return one(linesOf([data]));
    case 'RfqWon':
      return one(linesOf([data]));
    case 'LeadWon':
      return one(data.value ? moneyOf([data.value]) : 0);
    case 'RfqOutcomeCorrected': {
      const { from, to, taken_up, outcome_at } = data;
      const isChange = from.state === 'won' || to.state === 'won';
      return [
        ...(taken_up ? one(linesOf([{ lines: taken_up }]), METRIC.rfqs_taken_up, outcome_at) : []),
        ...(isChange ? one(differenceOfLines(from, to), metric, outcome_at) : []),
      ];
    }
    case 'LeadOutcomeCorrected':
      return one(differenceOf(wonOf(data.from), wonOf(data.to)), metric, data.outcome_at);
    default:
      return one(0);
  }
};

type Amounts = readonly { amount: number; currency: string }[];

const moneyOf = (amounts: Amounts): (number | string)[] =>
  amounts.flatMap(({ amount, currency }) => [amount, currency]);

type Lines = EventData<'RfqWon'>['lines'];

/** An RFQ that counts for each product of its lines, which do not count. */
const countOf = (lines: Lines): NumberChange['detail'] =>
  linesOf([{ lines: lines.map((line) => ({ ...line, amount: 0 })) }]);

/**
 * The lines of RFQs by product and category, added or with `by` of -1 subtracted. What values have beyond their lines is of no
 * product.
 */
const linesOf = (
  counted: readonly { lines?: Lines | undefined; values?: Amounts | undefined; by?: 1 | -1 }[],
): Omit<PerformanceLines, 'number'> => {
  const sums = new Map<string, { lines: number; amounts: Map<string, number> }>();
  const add = (key: string, lines: number, { amount, currency }: Amounts[number]): void => {
    const sum = sums.get(key) ?? { lines: 0, amounts: new Map<string, number>() };
    sum.lines += lines;
    sum.amounts.set(currency, (sum.amounts.get(currency) ?? 0) + amount);
    sums.set(key, sum);
  };
  let count = 0;
  for (const { lines = [], values, by = 1 } of counted) {
    count += by;
    for (const { product_id, category, amount, currency } of lines) {
      add(JSON.stringify([product_id, category]), by, { amount: by * amount, currency });
      if (values) add(OF_NO_PRODUCT, 0, { amount: -by * amount, currency });
    }
    for (const { amount, currency } of values ?? [])
      add(OF_NO_PRODUCT, 0, { amount: by * amount, currency });
  }
  const entries = [...sums].flatMap(([key, { lines, amounts }]): LineEntry[] => {
    const changed = [...amounts].filter(([, amount]) => amount !== 0);
    if (lines === 0 && changed.length === 0) return [];
    const [product, category] = JSON.parse(key) as [string | null, string | null];
    return [[product, category, lines, ...changed.flatMap(([name, sum]) => [sum, name])]];
  });
  return { by: count, entries };
};

const OF_NO_PRODUCT = '[null,null]';

type Outcome = { state: string; values?: Amounts | undefined; lines?: Lines | undefined };

/** As `differenceOf`, where the lines are known. */
const differenceOfLines = (from: Outcome, to: Outcome): NumberChange['detail'] =>
  linesOf([
    ...(from.state === 'won' ? [{ ...from, by: -1 as const }] : []),
    ...(to.state === 'won' ? [to] : []),
  ]);

const wonOf = ({
  state,
  value,
}: {
  state: string;
  value?: Amounts[number] | undefined;
}): Outcome => ({
  state,
  values: value && [value],
});

/** How an outcome that became another one changes the number of those won, which comes first, and their values. */
const differenceOf = (from: Outcome, to: Outcome): (number | string)[] => {
  const wonBefore = from.state === 'won' ? (from.values ?? []) : [];
  const won = to.state === 'won' ? (to.values ?? []) : [];
  return [
    Number(to.state === 'won') - Number(from.state === 'won'),
    ...moneyOf(wonBefore.map(({ amount, currency }) => ({ amount: -amount, currency }))),
    ...moneyOf(won),
  ];
};

/** Version of the rules for valid and unique clicks; must rise when a rule changes. The contract says since when it applies. */
export const CLASSIFIER_VERSION = 2;

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

/** More facts than one event counts. */
const FACTS_PER_EVENT_MAX = 4;

/** Visitors in the row of a link and day; each further one has a row of its own. */
const VISITORS_IN_ROW = 32;

type PerformanceRow =
  | PerformanceTail
  | PerformanceChunk
  | PerformanceBlock
  | PerformanceSet
  | PerformanceSets
  | PerformanceLines
  | FirstVisitors
  | object;
type Visit = EventData<'VisitRecorded'>;
/** The first visitors with a valid click on one link on one UTC day. */
type FirstVisitors = { visitors: string[] };
/** Attribution that every counted event contains. */
type Attribution = {
  agent_id: string;
  dims: EventData<'LinkCreated'>['dims'];
  link_id?: string;
  handoff_id?: string;
  lead_id?: string;
};

/**
 * The counted events of each owner as facts in log order, which are cut into chunks of a fixed number: an event rewrites
 * a tail of less than 2 kB however much came before, and readers read only what they do not have yet. CHUNKS_PER_BLOCK
 * chunks become a block, so that a reader that has nothing yet reads few rows. Facts refer to
 * sets of dimensions, which have a row each with their number, and their values in groups; and to rows of lines. Visitors are stored by link and day, to count each of them once,
 * and the last valid click of each link.
 */
export const performance: Projection<PerformanceRow> = {
  name: 'performance',
  version: 8,
  handles: Object.keys(COUNTED_TYPES) as CountedType[],
  place(event): EventPlace | undefined {
    return changesNumbers(event) ? { scope: event.owner, key: TAIL_KEY } : undefined;
  },
  others(event) {
    const set = setKeyOf(event);
    if (event.type !== 'VisitRecorded') return [set];
    const first = firstVisitorsKey(event);
    return [set, first, visitorKey(first, event.data as Visit)];
  },
  evolve(row, event, others) {
    const next = (row as PerformanceTail | undefined) ?? {
      chunks: 0,
      sets: 0,
      lines: 0,
      position: 0,
      quarter: 0,
      facts: [],
    };
    if (mayEndBlock(next)) others.load(chunksBefore(next));
    const place = { set: idOfSet(next, event, others), position: event.position };
    for (const fact of numbersOf(event, (visit) => clickOf(event, visit, others))) {
      addFact(next, { ...fact, detail: stored(next, fact, others) }, place);
      if (next.facts.length >= FACTS_PER_CHUNK * VALUES_PER_FACT) cutChunk(next, others);
    }
    return next;
  },
  sort(row) {
    if ('chunks' in row) return TAIL_SORT;
    if ('chunk' in row) return row.chunk;
    if ('last' in row) return row.last;
    if ('entries' in row) return FIRST_LINES_SORT + row.number;
    return 'group' in row ? FIRST_SET_SORT + row.group : null;
  },
};

type StoredFact = Omit<NumberChange, 'detail'> & { detail: PerformanceTail['facts'][number] };

/** The detail of a fact as its chunk has it; lines get a row of their own. */
const stored = (
  tail: PerformanceTail,
  { detail }: NumberChange,
  others: ScopeRows,
): StoredFact['detail'] => {
  if (typeof detail !== 'object' || Array.isArray(detail)) return detail;
  const number = tail.lines;
  tail.lines += 1;
  others.set(`lines/${number}`, { number, ...detail } satisfies PerformanceLines);
  return { lines: number };
};

const addFact = (
  tail: PerformanceTail,
  { at, metric, detail }: StoredFact,
  { position, set }: { position: number; set: number },
): void => {
  const quarter = Math.floor(at / QUARTER_MS);
  tail.facts.push(position - tail.position, quarter - tail.quarter, set, metric, detail);
  tail.position = position;
  tail.quarter = quarter;
};

const cutChunk = (tail: PerformanceTail, others: ScopeRows): void => {
  addChunk(tail, others);
  tail.chunks += 1;
  tail.position = 0;
  tail.quarter = 0;
  tail.facts = [];
};

const chunkKey = (chunk: number): string => `chunk/${chunk}`;

const isLastOfBlock = ({ chunks }: PerformanceTail): boolean =>
  (chunks + 1) % CHUNKS_PER_BLOCK === 0;

const mayEndBlock = (tail: PerformanceTail): boolean =>
  isLastOfBlock(tail) &&
  tail.facts.length >= (FACTS_PER_CHUNK - FACTS_PER_EVENT_MAX) * VALUES_PER_FACT;

/** The keys of the chunks that form a block with the one that the tail becomes. */
const chunksBefore = ({ chunks }: PerformanceTail): string[] =>
  Array.from({ length: CHUNKS_PER_BLOCK - 1 }, (_, n) =>
    chunkKey(chunks + 1 - CHUNKS_PER_BLOCK + n),
  );

/** Makes the facts of the tail a chunk, or the block that they complete. */
const addChunk = (tail: PerformanceTail, others: ScopeRows): void => {
  const { chunks: chunk, facts } = tail;
  if (!isLastOfBlock(tail)) {
    others.set(chunkKey(chunk), { chunk, facts } satisfies PerformanceChunk);
    return;
  }
  const keys = chunksBefore(tail);
  const before = keys.map((key) => (others.get(key) as PerformanceChunk).facts);
  others.set(`block/${chunk}`, blockOf(chunk, [...before, facts]));
  for (const key of keys) others.set(key, null);
};

const setKeyOf = ({ data }: FoldEvent): string => {
  const { agent_id, link_id, handoff_id, lead_id, dims } = data as Attribution;
  if (lead_id === undefined) return `set/${handoff_id ?? link_id}`;
  // Hashed, because the attribution of leads has many members and free text.
  const pinned = JSON.stringify([agent_id, link_id, handoff_id, dims]);
  return `set/led-${hash('sha256', pinned, 'base64url').slice(0, 22)}`;
};

/** The number of the event's set of dimensions, which is added to the owner's sets if it is new. */
const idOfSet = (tail: PerformanceTail, event: FoldEvent, others: ScopeRows): number => {
  const key = setKeyOf(event);
  const stored = others.get(key) as PerformanceSet | undefined;
  if (stored) return stored.set;
  const { agent_id, link_id, handoff_id, dims } = event.data as Attribution;
  const set = tail.sets;
  const group = Math.floor(set / SETS_PER_GROUP);
  const name = `sets/${group}`;
  const isFirst = set % SETS_PER_GROUP === 0;
  if (!isFirst) others.load([name]);
  const before = isFirst ? [] : (others.get(name) as PerformanceSets).dims;
  const values = {
    ...dims,
    agent_id,
    ...(link_id !== undefined && { link_id }),
    ...(handoff_id !== undefined && { handoff_id }),
  };
  tail.sets += 1;
  others.set(name, { group, dims: [...before, values] } satisfies PerformanceSets);
  others.set(key, { set } satisfies PerformanceSet);
  return set;
};

/** The last click metric that counts a visit; those before also count it. */
const clickOf = (event: FoldEvent, visit: Visit, others: ScopeRows): number => {
  if (visit.signals && visit.signals.length > 0) return METRIC.clicks_raw;
  const { link_id, window_days } = visit;
  const click: LastClick = { until: event.at + window_days * DAY_MS };
  others.set(clickKey(link_id), click);
  return addVisitor(event, visit, others) ? METRIC.clicks_unique : METRIC.clicks_valid;
};

const firstVisitorsKey = ({ at, data }: FoldEvent): string =>
  `visitors/${Math.floor(at / DAY_MS)}/${(data as Visit).link_id}`;

const visitorKey = (first: string, { visitor }: Visit): string => `${first}/${visitor}`;

/** Adds the visitor to those of the link and day; false if it is there already. */
const addVisitor = (event: FoldEvent, visit: Visit, others: ScopeRows): boolean => {
  const { visitor } = visit;
  const firstKey = firstVisitorsKey(event);
  const first = others.get(firstKey) as FirstVisitors | undefined;
  if (!first) others.set(firstKey, { visitors: [visitor] });
  else if (first.visitors.includes(visitor)) return false;
  else if (first.visitors.length < VISITORS_IN_ROW) {
    // `push` and a spread reserve room for 17 more.
    first.visitors = first.visitors.concat(visitor);
    others.set(firstKey, first);
  } else {
    const ownKey = visitorKey(firstKey, visit);
    if (others.get(ownKey)) return false;
    others.set(ownKey, {});
  }
  return true;
};
