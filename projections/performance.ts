import { hash } from 'node:crypto';
import type { EventData } from '#contracts/events/index.ts';
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
import {
  changesNumbers,
  COUNTED_TYPES,
  type CountedType,
  type NumberChange,
  numbersOf,
  METRIC,
} from './performance/numbers.ts';

/** Version of the rule for valid clicks; must rise when the rule changes. */
export const CLASSIFIER_VERSION = 1;

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

/** Visitors in the row of a link and day; each further one has a row of its own. */
const VISITORS_IN_ROW = 32;

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
  version: 5,
  handles: Object.keys(COUNTED_TYPES) as CountedType[],
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
    const { position } = event;
    for (const fact of numbersOf(event, (visit) => clickOf(event, visit, others)))
      addFact(next, { ...fact, position, set }, others);
    return next;
  },
  sort(row) {
    if ('chunks' in row) return TAIL_SORT;
    if ('chunk' in row) return row.chunk;
    return 'set' in row ? FIRST_SET_SORT + row.set : null;
  },
};

const addFact = (
  tail: PerformanceTail,
  { position, set, at, metric, detail }: NumberChange & { position: number; set: number },
  others: ScopeRows,
): void => {
  const quarter = Math.floor(at / QUARTER_MS);
  tail.facts.push(position - tail.position, quarter - tail.quarter, set, metric, detail);
  tail.position = position;
  tail.quarter = quarter;
  if (tail.facts.length < FACTS_PER_CHUNK * VALUES_PER_FACT) return;
  const chunk: PerformanceChunk = { chunk: tail.chunks, facts: tail.facts };
  others.set(`chunk/${chunk.chunk}`, chunk);
  tail.chunks += 1;
  tail.position = 0;
  tail.quarter = 0;
  tail.facts = [];
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
