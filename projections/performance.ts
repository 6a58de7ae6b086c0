import { hash } from 'node:crypto';
import type { EventData, EventType } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import type { PerformanceRecord } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** Version of the rule for valid clicks; must rise when the rule changes. */
export const CLASSIFIER_VERSION = 1;

const DAY_MS = 86_400_000;
// The offset of every time zone is a multiple of it, so that any local day is a sum of cells.
const QUARTER_MS = 900_000;
/** The rows of a day have sort keys from `day * DAY_SORT` up to the next multiple; each key is unique. */
export const DAY_SORT = 2 ** 32;

/** Indexes of the counts in a cell; missing counts are zero. Equal to the order of METRICS. */
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
  clicks_surplus: 11,
} as const;

export type DayCounts = PerformanceRecord & {
  sort: number;
  /** The visitors with a valid click on that day, sorted, so that each is counted once. */
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
  VisitsSummed: CELL.clicks_surplus,
} as const satisfies Partial<Record<EventType, number>>;

/** Below this length, an insertion copies the array, because V8 grows an array by at least 17 elements. */
const FEW_VISITORS = 16;

type Counted = keyof typeof COUNTED;
type Dims = PerformanceRecord['dims'];
/** Attribution that every counted event contains. */
type Attribution = {
  agent_id: string;
  dims: EventData<'LinkCreated'>['dims'];
  link_id?: string;
  handoff_id?: string;
  lead_id?: string;
};

/**
 * Counts of one link, handoff or source of leads on one UTC day. All events of a row have the same dimensions, except the
 * country, which only clicks have.
 */
export const performance: Projection<DayCounts> = {
  name: 'performance',
  version: 2,
  handles: Object.keys(COUNTED) as Counted[],
  // LeadSubmitted is not one of them, because leads of one source share a row.
  begins: ['HandoffCreated'],
  place: (event) => ({ scope: event.owner, key: keyOf(event) }),
  evolve(row, event) {
    const { type, data } = typedEvent<Counted>(event);
    const counted = row ?? emptyRow(event);
    if (type === 'VisitRecorded') {
      countVisit(counted, cellName(event.at, data.country ?? ''), data);
      return counted;
    }
    const cell = cellName(event.at, '');
    if (type === 'VisitsSummed') {
      const counts = countsIn(counted, cell, CELL.clicks_surplus);
      count(counts, CELL.clicks_raw, data.visits);
      count(counts, CELL.clicks_surplus, data.visits);
      return counted;
    }
    const metric = COUNTED[type];
    count(countsIn(counted, cell, metric), metric);
    if (type === 'RfqSubmittedByBuyer')
      counted.rfq_value = addMoney(counted.rfq_value, cell, data.totals);
    if (type === 'LeadWon' && data.value)
      counted.won_value = addMoney(counted.won_value, cell, [data.value]);
    return counted;
  },
  sort: (row) => row.sort,
};

/** Folds an owner's events, in log order, into rows in memory. */
export const performanceFold = () => {
  const rows = new Map<string, DayCounts>();
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
  const data = event.data as Attribution;
  if (data.lead_id === undefined) return `${day}/${data.handoff_id ?? data.link_id}`;
  // Hashed, because the attribution of leads has many members and free text.
  const { agent_id, link_id, handoff_id, dims } = data;
  const pinned = JSON.stringify([agent_id, link_id, handoff_id, dims]);
  return `${day}/led-${hash('sha256', pinned, 'base64url').slice(0, 22)}`;
};

const dimsOf = ({ agent_id, link_id, handoff_id, dims }: Attribution): Dims => {
  const attributed = { ...dims, agent_id } as Dims;
  if (link_id !== undefined) attributed.link_id = link_id;
  if (handoff_id !== undefined) attributed.handoff_id = handoff_id;
  return attributed;
};

const emptyRow = (event: FoldEvent): DayCounts => {
  const day = Math.floor(event.at / DAY_MS);
  const sort = day * DAY_SORT + (event.position % DAY_SORT);
  return { day, sort, dims: dimsOf(event.data as Attribution), cells: {} };
};

const countVisit = (
  row: DayCounts,
  cell: string,
  { visitor, signals }: EventData<'VisitRecorded'>,
): void => {
  const isValid = signals === undefined || signals.length === 0;
  const isUnique = isValid && addVisitor(row, visitor);
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

/** Adds the visitor to the row; false if it is there already. */
const addVisitor = (row: DayCounts, visitor: string): boolean => {
  const { visitors } = row;
  if (!visitors) {
    row.visitors = [visitor];
    return true;
  }
  const at = lowerBound(visitors.length, (index) => (visitors[index] ?? '') < visitor);
  if (visitors[at] === visitor) return false;
  if (visitors.length < FEW_VISITORS) row.visitors = visitors.toSpliced(at, 0, visitor);
  else visitors.splice(at, 0, visitor);
  return true;
};

const cellNames = new Map<string, string[]>();

/** The name of a cell, cached per country so that all rows share one string per name. */
const cellName = (at: number, country: string): string => {
  let names = cellNames.get(country);
  if (!names) {
    names = Array.from({ length: DAY_MS / QUARTER_MS }, (_, quarter) => `${quarter}|${country}`);
    cellNames.set(country, names);
  }
  return names[Math.floor((at % DAY_MS) / QUARTER_MS)] ?? '';
};

/** The counts of a cell, which is added for this metric if it does not exist. */
const countsIn = (row: DayCounts, cell: string, metric: number): number[] => {
  let counts = row.cells[cell];
  if (!counts) {
    // Has exactly the length that this metric needs, because V8 grows an array by at least 17 elements.
    counts = new Array<number>(metric + 1).fill(0);
    row.cells = withCell(row.cells, cell, counts);
  }
  return counts;
};

const count = (counts: number[], metric: number, by = 1): void => {
  while (counts.length <= metric) counts.push(0);
  counts[metric] = (counts[metric] ?? 0) + by;
};

/**
 * Adds a cell. Most rows have one, as a small plain object. The second one converts it to an object without a prototype,
 * which V8 stores as a hash table; otherwise it would make a hidden class for each set of cells.
 */
const withCell = <Value>(
  cells: Record<string, Value> | undefined,
  cell: string,
  value: Value,
): Record<string, Value> => {
  if (cells === undefined) return { [cell]: value };
  const isSmall = Object.getPrototypeOf(cells) !== null && Object.keys(cells).length > 0;
  const next = isSmall ? Object.assign(Object.create(null), cells) : cells;
  next[cell] = value;
  return next;
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
