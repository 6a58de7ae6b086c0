/**
 * The performance of an owner as the version before facts counted it: one row for each link and day. Answers must not
 * depend on how they are computed, so random histories are counted by both.
 */
import { hash } from 'node:crypto';
import type { EventData, EventType } from '#contracts/registries/events.ts';
import {
  type Dimension,
  COUNTRY_UNIQUES_MIN,
  METRICS,
  OTHER_COUNTRIES,
} from '#contracts/performance/records.ts';
import {
  type Bucket,
  bucketIn,
  emptyBucket,
  type Query,
  calendarOf,
} from '#src/performance/calendar.ts';
import type { Dims } from '#src/performance/facts.ts';
import { inTurns } from '#src/shared/work.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { typedEvent } from '#projections/projection.ts';

/** Counts for one subject (a link, a handoff, a lead source) on one UTC day. */
export type PerformanceRecord = {
  /** Days since the epoch. */
  day: number;
  dims: Dims;
  /** Maps `{quarter hour of the day, 0 to 95}|{country or empty}` to counts in the order of METRICS. */
  cells: Record<string, number[]>;
  /** Maps the same cells to amounts by currency, in minor units. */
  rfq_value?: Record<string, Record<string, number>>;
  won_value?: Record<string, Record<string, number>>;
};

const DAY_MS = 86_400_000;
// The offset of every time zone is a multiple of it, so that any local day is a sum of cells.
const QUARTER_MS = 900_000;

/** Indexes of the counts in a cell; missing counts are zero. Equal to the order of METRICS. */
const CELL = {
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
} as const;

type DayCounts = PerformanceRecord & {
  /** The visitors with a valid click on that day, sorted, so that each is counted once. */
  visitors?: string[];
};

const COUNTED = {
  VisitRecorded: CELL.clicks_raw,
  HandoffCreated: CELL.handoffs_created,
  HandoffOpenedByBuyer: CELL.handoffs_opened,
  HandoffDeclinedByBuyer: CELL.handoffs_declined,
  RfqSubmittedByBuyer: CELL.rfqs_unconfirmed,
  LeadSubmitted: CELL.leads_submitted,
  LeadAccepted: CELL.leads_accepted,
  LeadQualified: CELL.leads_qualified,
  LeadWon: CELL.leads_won,
  VisitsSummed: CELL.clicks_surplus,
  LeadOutcomeCorrected: CELL.leads_won,
} as const satisfies Partial<Record<EventType, number>>;

/** Below this length, an insertion copies the array, because V8 grows an array by at least 17 elements. */
const FEW_VISITORS = 16;

type Counted = keyof typeof COUNTED;
/** Attribution that every counted event contains. */
type Attribution = {
  agent_id: string;
  dims: EventData<'LinkCreated'>['dims'];
  link_id?: string;
  handoff_id?: string;
  lead_id?: string;
};

/** Folds an owner's events, in log order, into rows in memory. */
export const foldToRecords = () => {
  const rows = new Map<string, DayCounts>();
  return {
    take(event: FoldEvent): void {
      if (!Object.hasOwn(COUNTED, event.type)) return;
      if ((event.data as { uncounted?: true }).uncounted) return;
      const key = keyOf(event);
      rows.set(key, evolve(rows.get(key), event));
    },
    rows: () => [...rows.values()],
  };
};

/** When an event counts: a correction when the outcome was that it corrects. */
const countedAt = ({ at, data }: FoldEvent): number =>
  (data as { outcome_at?: number }).outcome_at ?? at;

const keyOf = (event: FoldEvent): string => {
  const day = Math.floor(countedAt(event) / DAY_MS);
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
  const day = Math.floor(countedAt(event) / DAY_MS);
  return { day, dims: dimsOf(event.data as Attribution), cells: {} };
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

type Outcome = { state: string; values?: Parameters<typeof addMoney>[2] | undefined };

const valuesOf = ({
  state,
  value,
}: {
  state: string;
  value?: { amount: number; currency: string } | undefined;
}): Outcome => ({ state, values: value ? [value] : [] });

const correct = (
  row: DayCounts,
  cell: string,
  metric: number,
  ...[from, to]: [Outcome, Outcome]
): DayCounts => {
  for (const [{ state, values = [] }, by] of [
    [from, -1],
    [to, 1],
  ] as const) {
    if (state !== 'won') continue;
    count(countsIn(row, cell, metric), metric, by);
    const amounts = values.map(({ amount, currency }) => ({ amount: by * amount, currency }));
    row.won_value = addMoney(row.won_value, cell, amounts);
  }
  return row;
};

const evolve = (row: DayCounts | undefined, event: FoldEvent): DayCounts => {
  const { type, data } = typedEvent<Counted>(event);
  const counted = row ?? emptyRow(event);
  if (type === 'VisitRecorded') {
    countVisit(counted, cellName(event.at, data.country ?? ''), data);
    return counted;
  }
  const cell = cellName(countedAt(event), '');
  if (type === 'VisitsSummed') {
    const counts = countsIn(counted, cell, CELL.clicks_surplus);
    count(counts, CELL.clicks_raw, data.visits);
    count(counts, CELL.clicks_surplus, data.visits);
    return counted;
  }
  const metric = COUNTED[type];
  if (type === 'LeadOutcomeCorrected')
    return correct(counted, cell, metric, valuesOf(data.from), valuesOf(data.to));
  count(countsIn(counted, cell, metric), metric);
  if (type === 'LeadWon' && data.value)
    counted.won_value = addMoney(counted.won_value, cell, [data.value]);
  return counted;
};

const UNIQUE = METRICS.indexOf('clicks_unique');

const addCounts = (sum: number[], counts: readonly number[]): void => {
  for (let i = 0; i < counts.length; i += 1) sum[i] = (sum[i] ?? 0) + (counts[i] ?? 0);
};

const sumMoney = (sum: Map<string, number>, amounts: Iterable<[string, number]>): void => {
  for (const [currency, amount] of amounts) sum.set(currency, (sum.get(currency) ?? 0) + amount);
};

const SUB_IDS = ['sub_id_1', 'sub_id_2', 'sub_id_3'] as const satisfies Dimension[];
type SubId = (typeof SUB_IDS)[number];

const isSubId = (dimension: Dimension): dimension is SubId => dimension.startsWith('sub_id_');

const valueOf = (
  dims: PerformanceRecord['dims'],
  country: string,
  dimension: Dimension,
): string | null => {
  if (dimension === 'country') return country === '' ? null : country;
  if (isSubId(dimension)) return dims.sub_ids?.[SUB_IDS.indexOf(dimension)] ?? null;
  return dims[dimension] ?? null;
};

/** Caches the bucket of each day, which is needed for many cells. */
const cached = (bucketOfDay: (day: number) => number): ((day: number) => number) => {
  const buckets = new Map<number, number>();
  return (day) => {
    let bucket = buckets.get(day);
    if (bucket === undefined) buckets.set(day, (bucket = bucketOfDay(day)));
    return bucket;
  };
};

/** A cell is named by the quarter hour of its UTC day and its country: `40|GB`. */
const countryOf = (cell: string): string => cell.slice(cell.indexOf('|') + 1);

type Visit = (row: PerformanceRecord, cell: string, day: number) => void;

/** Calls `visit` with each cell of the period whose row passes the filters, except that on country. */
const eachCell = (
  rows: Iterable<PerformanceRecord>,
  { from, to, timeZone, filters: { country: _ofCells, ...filters } }: Query,
  visit: Visit,
): Promise<void> => {
  const calendar = calendarOf(timeZone);
  const wanted = Object.entries(filters) as [Dimension, string][];
  return inTurns(rows, (row) => {
    if (!wanted.every(([name, value]) => valueOf(row.dims, '', name) === value)) return;
    const localDay = calendar.localDays(row.day);
    for (const cell in row.cells) {
      const day = localDay(Number(cell.slice(0, cell.indexOf('|'))));
      if (day >= from && day <= to) visit(row, cell, day);
    }
  });
};

/**
 * Folds stored rows into buckets of local days and groups of dimensions. `bucketOfDay` can assign the
 * days to the buckets of a different period from the one that is counted.
 */
export const aggregateRecords = async (
  rows: readonly PerformanceRecord[],
  query: Query,
  bucketOfDay = (day: number): number => bucketIn(query, day),
): Promise<Bucket[]> => {
  const { groupBy, filters } = query;
  const namesCountries = filters.country !== undefined || groupBy.includes('country');
  const hidden = namesCountries ? await hiddenCountries(rows, query) : new Set<string>();
  const bucketFor = cached(bucketOfDay);
  const buckets = new Map<string | number, Bucket>();
  await eachCell(rows, query, (row, cell, day) => {
    const named = namesCountries ? countryOf(cell) : '';
    const country = hidden.has(named) ? OTHER_COUNTRIES : named;
    if (filters.country !== undefined && country !== filters.country) return;
    const bucket = bucketFor(day);
    const group = groupBy.map((dimension) => valueOf(row.dims, country, dimension));
    const key = group.length === 0 ? bucket : JSON.stringify([bucket, group]);
    let found = buckets.get(key);
    if (!found) buckets.set(key, (found = emptyBucket({ bucket, group })));
    const { counts, rfq, won } = found.sum;
    addCounts(counts, row.cells[cell] ?? []);
    const rfqValue = row.rfq_value?.[cell];
    if (rfqValue) sumMoney(rfq, Object.entries(rfqValue));
    const wonValue = row.won_value?.[cell];
    if (wonValue) sumMoney(won, Object.entries(wonValue));
  });
  return [...buckets.values()];
};

/** Finds the countries with too few visitors to be named. Cells without a country, as of leads, stay. */
const hiddenCountries = async (
  rows: readonly PerformanceRecord[],
  query: Query,
): Promise<Set<string>> => {
  const uniques = new Map<string, number>();
  await eachCell(rows, query, (row, cell) => {
    const country = countryOf(cell);
    uniques.set(country, (uniques.get(country) ?? 0) + (row.cells[cell]?.[UNIQUE] ?? 0));
  });
  uniques.delete('');
  const few = [...uniques].filter(([, count]) => count < COUNTRY_UNIQUES_MIN);
  return new Set(few.map(([country]) => country));
};
