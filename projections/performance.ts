import { hash } from 'node:crypto';
import type { EventData } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import {
  CHUNKS_PER_BLOCK,
  FACTS_PER_CHUNK,
  FIRST_SET_SORT,
  type PerformanceBlock,
  type PerformanceChunk,
  type PerformanceSet,
  type PerformanceSets,
  type PerformanceTail,
  SETS_PER_GROUP,
  TAIL_KEY,
  TAIL_SORT,
  VALUES_PER_FACT,
} from '#src/ports/performance-rows.ts';
import type { EventPlace, Projection, ScopeRows } from './projection.ts';
import { blockOf } from './performance/blocks.ts';
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
 * sets of dimensions, which have a row each with their number, and their values in groups. Visitors are stored by link and day, to count each of them once.
 */
export const performance: Projection<PerformanceRow> = {
  name: 'performance',
  version: 6,
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
      position: 0,
      quarter: 0,
      facts: [],
    };
    if (mayEndBlock(next)) others.load(chunksBefore(next));
    const place = { set: idOfSet(next, event, others), position: event.position };
    for (const fact of numbersOf(event, (visit) => clickOf(event, visit, others))) {
      addFact(next, fact, place);
      if (next.facts.length >= FACTS_PER_CHUNK * VALUES_PER_FACT) cutChunk(next, others);
    }
    return next;
  },
  sort(row) {
    if ('chunks' in row) return TAIL_SORT;
    if ('chunk' in row) return row.chunk;
    if ('last' in row) return row.last;
    return 'group' in row ? FIRST_SET_SORT + row.group : null;
  },
};

const addFact = (
  tail: PerformanceTail,
  { at, metric, detail }: NumberChange,
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

/** The last of the metrics of clicks that counts a visit; those before also count it. */
const clickOf = (event: FoldEvent, visit: Visit, others: ScopeRows): number => {
  if (visit.signals && visit.signals.length > 0) return METRIC.clicks_raw;
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
