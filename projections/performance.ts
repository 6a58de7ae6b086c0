import { hash } from 'node:crypto';
import type { EventData, EventType } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** Of the rule that tells valid clicks from the rest; rises when the rule changes. */
export const CLASSIFIER_VERSION = 1;

const DAY_MS = 86_400_000;
// Every offset of a time zone in use is a multiple of it, so any local day is a sum of cells.
const QUARTER_MS = 900_000;
/** Rows of a day lie between `day * DAY_SORT` and the next; two never share a place. */
export const DAY_SORT = 2 ** 32;

/** Places of the counts in a cell; a shorter cell has zeros behind. A test holds it to METRICS. */
export const CELL = {
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
} as const;

export type PerformanceRow = PerformanceRecord & {
  sort: number;
  /** Those who have clicked validly that day, sorted, so that each counts once. */
  visitors?: string[];
};

const COUNTED = {
  VisitRecorded: CELL.clicks_raw,
  HandoffCreated: CELL.handoffs_created,
  HandoffOpenedByBuyer: CELL.handoffs_opened,
  HandoffDeclinedByBuyer: CELL.handoffs_declined,
  RfqSubmittedByBuyer: CELL.rfqs_submitted,
  LeadSubmitted: CELL.leads_submitted,
  LeadAccepted: CELL.leads_accepted,
  LeadQualified: CELL.leads_qualified,
  LeadWon: CELL.leads_won,
} as const satisfies Partial<Record<EventType, number>>;

/** Up to here visitors are copied with each new one: an array that grows takes 17 places more. */
const FEW_VISITORS = 16;

type Counted = keyof typeof COUNTED;
type Dims = PerformanceRecord['dims'];
/** What every counted event pins. */
type Pinned = {
  agent_id: string;
  dims: EventData<'LinkCreated'>['dims'];
  link_id?: string;
  handoff_id?: string;
  lead_id?: string;
};

/**
 * What one link, handoff or source of leads did on one UTC day. All dimensions of a row are the
 * same for all that it counts; country alone varies, and only clicks have one.
 */
export const performance: Projection<PerformanceRow> = {
  name: 'performance',
  version: 1,
  handles: Object.keys(COUNTED) as Counted[],
  // Not LeadSubmitted: leads of one source share a row.
  begins: ['HandoffCreated'],
  place: (event) => ({ scope: event.owner, key: keyOf(event) }),
  evolve(row, event) {
    const { type, data } = typedEvent<Counted>(event);
    const kept = row ?? emptyRow(event);
    if (type === 'VisitRecorded') {
      countVisit(kept, cellName(event.at, data.country ?? ''), data);
      return kept;
    }
    const cell = cellName(event.at, '');
    add(kept, cell, COUNTED[type]);
    if (type === 'RfqSubmittedByBuyer')
      kept.rfq_value = addMoney(kept.rfq_value, cell, data.totals);
    if (type === 'LeadWon' && data.value)
      kept.won_value = addMoney(kept.won_value, cell, [data.value]);
    return kept;
  },
  sort: (row) => row.sort,
};

/** Folds an owner's events, in log order, into the rows as they stood then. */
export const performanceFold = () => {
  const rows = new Map<string, PerformanceRow>();
  return {
    take(event: FoldEvent): void {
      if (!Object.hasOwn(COUNTED, event.type)) return;
      const key = keyOf(event);
      const row = performance.evolve(rows.get(key), event);
      if (row) rows.set(key, row);
    },
    rows: () => [...rows.values()],
  };
};

const keyOf = (event: FoldEvent): string => {
  const day = Math.floor(event.at / DAY_MS);
  const data = event.data as Pinned;
  if (data.lead_id === undefined) return `${day}/${data.handoff_id ?? data.link_id}`;
  // Leads may share a source and differ in what they pin, down to free text: hence a hash.
  const { agent_id, link_id, handoff_id, dims } = data;
  const pinned = JSON.stringify([agent_id, link_id, handoff_id, dims]);
  return `${day}/led-${hash('sha256', pinned, 'base64url').slice(0, 22)}`;
};

const dimsOf = ({ agent_id, link_id, handoff_id, dims }: Pinned): Dims => {
  const pinned = { ...dims, agent_id } as Dims;
  if (link_id !== undefined) pinned.link_id = link_id;
  if (handoff_id !== undefined) pinned.handoff_id = handoff_id;
  return pinned;
};

const emptyRow = (event: FoldEvent): PerformanceRow => {
  const day = Math.floor(event.at / DAY_MS);
  const sort = day * DAY_SORT + (event.position % DAY_SORT);
  return { day, sort, dims: dimsOf(event.data as Pinned), cells: {} };
};

const countVisit = (
  row: PerformanceRow,
  cell: string,
  { visitor, signals }: EventData<'VisitRecorded'>,
): void => {
  const isValid = signals === undefined || signals.length === 0;
  const isUnique = isValid && isFirstOf(row, visitor);
  const counts = row.cells[cell];
  if (!counts) {
    const made = isUnique ? [1, 1, 1] : isValid ? [1, 1] : [1];
    row.cells = withCell(row.cells, cell, made);
    return;
  }
  count(counts, CELL.clicks_raw);
  if (isValid) count(counts, CELL.clicks_valid);
  if (isUnique) count(counts, CELL.clicks_unique);
};

/** Puts the visitor among those of the row; false when it was there. */
const isFirstOf = (row: PerformanceRow, visitor: string): boolean => {
  const { visitors } = row;
  if (!visitors) {
    row.visitors = [visitor];
    return true;
  }
  const at = placeIn(visitors, visitor);
  if (visitors[at] === visitor) return false;
  if (visitors.length < FEW_VISITORS) row.visitors = visitors.toSpliced(at, 0, visitor);
  else visitors.splice(at, 0, visitor);
  return true;
};

const cellNames = new Map<string, string[]>();

/** Made once per country and quarter: a million clicks share their names, interned already. */
const cellName = (at: number, country: string): string => {
  let names = cellNames.get(country);
  if (!names) {
    names = Array.from({ length: DAY_MS / QUARTER_MS }, (_, quarter) => `${quarter}|${country}`);
    cellNames.set(country, names);
  }
  return names[Math.floor((at % DAY_MS) / QUARTER_MS)] ?? '';
};

/** Where `value` stands, or would stand. */
const placeIn = (sorted: readonly string[], value: string): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

const add = (row: PerformanceRow, cell: string, metric: number): void => {
  let counts = row.cells[cell];
  if (!counts) {
    // Of the length that this metric needs: a growing array would take 17 places.
    counts = new Array<number>(metric + 1).fill(0);
    row.cells = withCell(row.cells, cell, counts);
  }
  count(counts, metric);
};

const count = (counts: number[], metric: number): void => {
  while (counts.length <= metric) counts.push(0);
  counts[metric] = (counts[metric] ?? 0) + 1;
};

/**
 * One cell is the rule, and a plain object is small. With the second it becomes one without a
 * prototype, which is a hash table from the start: else V8 makes a shape for each set of cells.
 */
const withCell = <Value>(
  cells: Record<string, Value> | undefined,
  cell: string,
  value: Value,
): Record<string, Value> => {
  if (cells === undefined) return { [cell]: value };
  let kept = cells;
  if (Object.getPrototypeOf(kept) !== null)
    for (const _first in kept) {
      kept = Object.assign(Object.create(null), kept);
      break;
    }
  kept[cell] = value;
  return kept;
};

type Values = Record<string, Record<string, number>>;

const addMoney = (
  values: Values | undefined,
  cell: string,
  amounts: readonly { amount: number; currency: string }[],
): Values => {
  const sums = values?.[cell] ?? {};
  for (const { amount, currency } of amounts) sums[currency] = (sums[currency] ?? 0) + amount;
  return values?.[cell] ? values : withCell(values, cell, sums);
};
