import { hash } from 'node:crypto';
import type { EventData, EventType } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  FACTS_PER_CHUNK,
  FIRST_SET_SORT,
  type PerformanceChunk,
  type PerformanceSet,
  type PerformanceTail,
  TAIL_SORT,
  VALUES_PER_FACT,
} from '#src/ports/rows.ts';
import type { EventPlace, Projection, ScopeRows } from './projection.ts';
import { typedEvent } from './typed-event.ts';

/** Version of the rule for valid clicks; must rise when the rule changes. */
export const CLASSIFIER_VERSION = 1;

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

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
} as const;

const COUNTED = {
  VisitRecorded: METRIC.clicks_raw,
  HandoffCreated: METRIC.handoffs_created,
  HandoffOpenedByBuyer: METRIC.handoffs_opened,
  HandoffDeclinedByBuyer: METRIC.handoffs_declined,
  RfqSubmittedByBuyer: METRIC.rfqs_submitted,
  LeadSubmitted: METRIC.leads_submitted,
  LeadAccepted: METRIC.leads_accepted,
  LeadQualified: METRIC.leads_qualified,
  LeadWon: METRIC.leads_won,
  VisitsSummed: METRIC.clicks_surplus,
  BuyerListCreated: METRIC.lists_created,
  RfqWon: METRIC.rfqs_won,
  RfqOutcomeCorrected: METRIC.rfqs_won,
  LeadOutcomeCorrected: METRIC.leads_won,
} as const satisfies Partial<Record<EventType, number>>;

/** Visitors in the row of a link and day; each further one has a row of its own. */
const VISITORS_IN_ROW = 32;

type Counted = keyof typeof COUNTED;
type PerformanceRow = PerformanceTail | PerformanceChunk | PerformanceSet | FirstVisitors | object;
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
 * a tail of less than 2 kB however much came before, and readers read only what they do not have yet. Facts refer to
 * sets of dimensions, which have a row each. Visitors are stored by link and day, to count each of them once.
 */
export const performance: Projection<PerformanceRow> = {
  name: 'performance',
  version: 4,
  handles: Object.keys(COUNTED) as Counted[],
  place(event): EventPlace | undefined {
    if (!changesNumbers(event)) return undefined;
    const set = setKeyOf(event);
    const visitors = event.type === 'VisitRecorded' ? visitorKeys(event) : [];
    return { scope: event.owner, key: 'tail', others: [set, ...visitors] };
  },
  evolve(row, event, others) {
    const next = (row as PerformanceTail | undefined) ?? {
      chunks: 0,
      sets: 0,
      position: 0,
      quarter: 0,
      facts: [],
    };
    const set = idOfSet(next, event, others);
    const [metric, detail] = factOf(event, others);
    const quarter = Math.floor(countedAt(event) / QUARTER_MS);
    const { position } = event;
    next.facts.push(position - next.position, quarter - next.quarter, set, metric, detail);
    next.position = position;
    next.quarter = quarter;
    if (next.facts.length < FACTS_PER_CHUNK * VALUES_PER_FACT) return next;
    const chunk: PerformanceChunk = { chunk: next.chunks, facts: next.facts };
    others.set(`chunk/${chunk.chunk}`, chunk);
    return { chunks: next.chunks + 1, sets: next.sets, position: 0, quarter: 0, facts: [] };
  },
  sort(row) {
    if ('chunks' in row) return TAIL_SORT;
    if ('chunk' in row) return row.chunk;
    return 'set' in row ? FIRST_SET_SORT + row.set : null;
  },
};

/** When an event counts, in epoch milliseconds: a correction when the outcome was that it corrects. */
const countedAt = ({ at, data }: Pick<FoldEvent, 'at' | 'data'>): number =>
  (data as { outcome_at?: number }).outcome_at ?? at;

/** Whether the event counts: another lead can count for the same RFQ, and a correction can concern losses only. */
const changesNumbers = (event: FoldEvent): boolean => {
  const { type, data } = typedEvent<Counted>(event);
  if ('uncounted' in data && data.uncounted) return false;
  return type === 'RfqOutcomeCorrected' || type === 'LeadOutcomeCorrected'
    ? data.from.state === 'won' || data.to.state === 'won'
    : true;
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
  const made: PerformanceSet = {
    set: tail.sets,
    dims: {
      ...dims,
      agent_id,
      ...(link_id !== undefined && { link_id }),
      ...(handoff_id !== undefined && { handoff_id }),
    },
  };
  tail.sets += 1;
  others.set(key, made);
  return made.set;
};

const factOf = (
  event: FoldEvent,
  others: ScopeRows,
): [number, PerformanceTail['facts'][number]] => {
  const { type, data } = typedEvent<Counted>(event);
  const metric = COUNTED[type];
  switch (type) {
    case 'VisitRecorded':
      return [clickOf(event, data, others), data.country ?? ''];
    case 'VisitsSummed':
      return [metric, data.visits];
    case 'RfqSubmittedByBuyer':
      return [metric, moneyOf(data.totals)];
    case 'RfqWon':
      return [metric, moneyOf(data.values)];
    case 'LeadWon':
      return [metric, data.value ? moneyOf([data.value]) : 0];
    case 'RfqOutcomeCorrected':
      return [metric, differenceOf(data.from, data.to)];
    case 'LeadOutcomeCorrected':
      return [metric, differenceOf(wonOf(data.from), wonOf(data.to))];
    default:
      return [metric, 0];
  }
};

type Amounts = readonly { amount: number; currency: string }[];

const moneyOf = (amounts: Amounts): (number | string)[] =>
  amounts.flatMap(({ amount, currency }) => [amount, currency]);

type Outcome = { state: string; values?: Amounts | undefined };

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

/** The last of the metrics of clicks that counts a visit; those before count it, too. */
const clickOf = (event: FoldEvent, { visitor, signals = [] }: Visit, others: ScopeRows): number => {
  if (signals.length > 0) return METRIC.clicks_raw;
  return addVisitor(event, visitor, others) ? METRIC.clicks_unique : METRIC.clicks_valid;
};

const visitorKeys = ({ at, data }: FoldEvent): [first: string, own: string] => {
  const { link_id, visitor } = data as Visit;
  const first = `visitors/${Math.floor(at / DAY_MS)}/${link_id}`;
  return [first, `${first}/${visitor}`];
};

/** Adds the visitor to those of the link and day; false if it is there already. */
const addVisitor = (event: FoldEvent, visitor: string, others: ScopeRows): boolean => {
  const [firstKey, ownKey] = visitorKeys(event);
  const first = others.get(firstKey) as FirstVisitors | undefined;
  if (!first) others.set(firstKey, { visitors: [visitor] });
  else if (first.visitors.includes(visitor)) return false;
  else if (first.visitors.length < VISITORS_IN_ROW)
    others.set(firstKey, { visitors: [...first.visitors, visitor] });
  else if (others.get(ownKey)) return false;
  else others.set(ownKey, {});
  return true;
};
