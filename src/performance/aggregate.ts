/** Aggregates facts into the groups and buckets of a report. */
import { COUNTRY_UNIQUES_MIN, METRICS, OTHER_COUNTRIES } from '#contracts/performance/records.ts';
import { eventLoopTurns, byText, inTurns, sortedInTurns } from '#src/shared/work.ts';
import {
  type Query,
  calendarOf,
  addTo,
  type Bucket,
  bucketIn,
  emptySum,
  type OrderedBuckets,
  type Sum,
} from './calendar.ts';
import {
  type Dims,
  type FactSelection,
  NONE,
  SLICE,
  matcherOf,
  valueOf,
  type Detail,
  partsIn,
} from './facts.ts';
import { isLines, isPart, type Part } from './lines.ts';

const UNIQUE = METRICS.indexOf('clicks_unique');
const QUARTERS = 96;

/** The index of the bucket of each time of the period, by its number since `first`; and when each bucket starts. */
type Times = { first: number; buckets: Int32Array; starts: number[] };

/** `isByDay`: the times are local days, and otherwise quarter hours. */
const timesOf = (
  { from, to, timeZone }: Query,
  bucketOfDay: (day: number) => number,
  isByDay: boolean,
): Times => {
  const startOfDay = Array.from({ length: to - from + 1 }, (_, n) => bucketOfDay(from + n));
  const starts = [...new Set(startOfDay)].sort((a, b) => a - b);
  const indexOf = new Map(starts.map((start, index) => [start, index]));
  const indexOfDay = (day: number): number => indexOf.get(startOfDay[day - from] ?? NaN) ?? NONE;
  if (isByDay) {
    const buckets = Int32Array.from(startOfDay, (_, n) => indexOfDay(from + n));
    return { first: from, buckets, starts };
  }
  const calendar = calendarOf(timeZone);
  // A local day extends at most one UTC day beyond its own in either direction.
  const firstDay = from - 1;
  const buckets = new Int32Array((to + 2 - firstDay) * QUARTERS).fill(NONE);
  for (let day = firstDay; day < to + 2; day += 1) {
    const localDay = calendar.localDays(day);
    for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
      const index = (day - firstDay) * QUARTERS + quarter;
      buckets[index] = indexOfDay(localDay(quarter));
    }
  }
  return { first: firstDay * QUARTERS, buckets, starts };
};

/** The groups that sets of dimensions belong to. */
class Groups {
  /** The values of each group. */
  readonly values: (string | null)[][] = [];
  readonly #query: Query;
  readonly #ids = new Map<string | null | undefined, number>();

  constructor(query: Query) {
    this.#query = query;
  }

  /** The group of each set; NONE for those that a filter excludes. */
  of(dims: readonly Dims[]): Int32Array {
    const { groupBy, filters } = this.#query;
    const isMatch = matcherOf(filters);
    const ofSet = new Int32Array(dims.length).fill(NONE);
    for (const [set, one] of dims.entries()) {
      if (!isMatch(one)) continue;
      const group = groupBy.map((dimension) => valueOf(one, dimension));
      const key = group.length > 1 ? JSON.stringify(group) : group[0];
      let id = this.#ids.get(key);
      if (id === undefined) {
        id = this.values.push(group) - 1;
        this.#ids.set(key, id);
      }
      ofSet[set] = id;
    }
    return ofSet;
  }
}

/** Calls `act` with ranges of the facts, and lets other requests run between them. */
const inSlices = async (
  { length }: FactSelection,
  act: (from: number, to: number) => void,
): Promise<void> => {
  for (let from = 0; from < length; from += SLICE) {
    const pause = eventLoopTurns.pause();
    if (pause) await pause;
    act(from, Math.min(from + SLICE, length));
  }
};

/** The class of each country: itself, OTHER_COUNTRIES, or NONE if the filter excludes it. One class if none is named. */
export type Countries = { classes: Int32Array; names: string[] };

const countriesOf = async (
  selection: FactSelection,
  times: Times,
  { ofSet, query }: { ofSet: Int32Array; query: Query },
): Promise<Countries> => {
  const { countryNames } = selection;
  const { country: wanted } = query.filters;
  const isGroup = query.groupBy.includes('country');
  if (wanted === undefined && !isGroup)
    return { classes: new Int32Array(countryNames.length), names: [''] };
  const hidden = await hiddenCountries(selection, times, ofSet);
  const names: string[] = [];
  const ids = new Map<string, number>();
  const classes = Int32Array.from(countryNames, (own, id) => {
    const name = hidden.has(id) ? OTHER_COUNTRIES : own;
    if (wanted !== undefined && name !== wanted) return NONE;
    if (!isGroup) return 0;
    if (!ids.has(name)) ids.set(name, names.push(name) - 1);
    return ids.get(name) ?? NONE;
  });
  return { classes, names: names.length === 0 ? [''] : names };
};

/** Finds the countries with too few visitors to be named. Facts without a country, as of leads, stay. */
const hiddenCountries = async (
  selection: FactSelection,
  { first, buckets }: Times,
  ofSet: Int32Array,
): Promise<Set<number>> => {
  const { facts, weights, indexes } = selection;
  /** Unique clicks by country; NONE for a country without any counted fact. */
  const uniques = new Int32Array(selection.countryNames.length).fill(NONE);
  await inSlices(selection, (from, to) => {
    const { times, sets, metrics, countries } = facts;
    for (let at = from; at < to; at += 1) {
      const i = indexes === undefined ? at : (indexes[at] ?? 0);
      const country = countries[i] ?? 0;
      const bucket = buckets[(times[i] ?? 0) - first] ?? NONE;
      if (country === 0 || bucket < 0 || (ofSet[sets[i] ?? 0] ?? NONE) < 0) continue;
      const count = Math.max(0, uniques[country] ?? 0);
      uniques[country] = metrics[i] === UNIQUE ? count + (weights?.[i] ?? 1) : count;
    }
  });
  const hidden = new Set<number>();
  for (const [country, count] of uniques.entries())
    if (count >= 0 && count < COUNTRY_UNIQUES_MIN) hidden.add(country);
  return hidden;
};

/** A question of more buckets and groups than this is counted with a Map, which is slower and takes no empty space. */
const SLOTS_IN_ARRAY_MAX = 8_388_608;

/** Numbers the slots that occur, in the order of their first use. */
class SlotNumbers {
  readonly #dense: Int32Array | undefined;
  readonly #sparse = new Map<number, number>();
  readonly slots: number[] = [];

  constructor(slots: number) {
    if (slots <= SLOTS_IN_ARRAY_MAX) this.#dense = new Int32Array(slots).fill(NONE);
  }

  find(slot: number): number {
    return (this.#dense ? this.#dense[slot] : this.#sparse.get(slot)) ?? NONE;
  }

  of(slot: number): number {
    const known = this.find(slot);
    if (known >= 0) return known;
    const number = this.slots.push(slot) - 1;
    if (this.#dense) this.#dense[slot] = number;
    else this.#sparse.set(slot, number);
    return number;
  }
}

const WIDTH = METRICS.length;
const RAW = METRICS.indexOf('clicks_raw');
const SURPLUS = METRICS.indexOf('clicks_surplus');
const TAKEN_UP = METRICS.indexOf('rfqs_taken_up');
const WON = METRICS.indexOf('rfqs_won');
/** The number of lines of the RFQs that another number counts. */
const LINES_OF: ReadonlyMap<number, number> = new Map([
  [TAKEN_UP, METRICS.indexOf('rfq_lines')],
  [WON, METRICS.indexOf('won_lines')],
]);

/** `isByLine`: lines are counted for their own products and categories, in parts. */
type Layout = {
  times: Times;
  groups: Groups;
  countries: Countries;
  place: number;
  isByLine: boolean;
};
/** Facts, and the group of each of their sets. */
type Grouped = FactSelection & { ofSet: Int32Array };

type Weighted = { metric: number; weight: number; detail: Detail | undefined };

/** What a question counts, by bucket of time and group. A slot is one bucket of one group and one class of countries. */
export class Report {
  readonly #layout: Layout;
  readonly #numbers: SlotNumbers;
  /** WIDTH counts for each number of a slot. A click is counted only by the last of its metrics. */
  readonly #counts: Float64Array;
  /** The sums of `#counts`. */
  readonly #totals = new Float64Array(WIDTH);
  readonly #money = new Map<number, Pick<Sum, 'rfq' | 'won'>>();
  /** The facts whose RFQ `#totals` has, because an RFQ can be in several slots. */
  readonly #inTotals = new Set<number>();

  /** `factsMax`: the most facts that will be counted. */
  constructor(layout: Layout, factsMax: number) {
    this.#layout = layout;
    const slots = layout.times.starts.length * this.#columns;
    this.#numbers = new SlotNumbers(slots);
    // Memory that no count is written to costs nothing.
    this.#counts = new Float64Array(Math.min(slots, factsMax) * WIDTH);
  }

  get countries(): Countries {
    return this.#layout.countries;
  }

  get #columns(): number {
    const { groups, countries } = this.#layout;
    return groups.values.length * countries.names.length;
  }

  count({ facts, weights, indexes, ofSet }: Grouped, from: number, to: number): void {
    const { countries, isByLine } = this.#layout;
    const { classes } = countries;
    const { buckets, first } = this.#layout.times;
    const { times, sets, metrics, countries: countryIds } = facts;
    const columns = this.#columns;
    const classCount = countries.names.length;
    const numbers = this.#numbers;
    const counts = this.#counts;
    const totals = this.#totals;
    for (let at = from; at < to; at += 1) {
      const i = indexes === undefined ? at : (indexes[at] ?? 0);
      const bucket = buckets[(times[i] ?? 0) - first] ?? NONE;
      const group = ofSet[sets[i] ?? 0] ?? NONE;
      const country = classes[countryIds[i] ?? 0] ?? NONE;
      if (bucket < 0 || group < 0 || country < 0) continue;
      const metric = metrics[i] ?? 0;
      const detail = metric <= UNIQUE ? undefined : facts.details.get(i);
      if (isByLine && isLines(detail)) continue;
      const number = numbers.of(bucket * columns + group * classCount + country);
      const place = number * WIDTH + metric;
      const weight = weights === undefined ? 1 : (weights[i] ?? 0);
      if (metric <= UNIQUE) {
        counts[place] = (counts[place] ?? 0) + weight;
        totals[metric] = (totals[metric] ?? 0) + weight;
      } else this.#countDetail(number, { metric, weight, detail });
    }
  }

  #countDetail(number: number, { metric, weight, detail }: Weighted): void {
    if (isLines(detail) || isPart(detail)) {
      this.#countPart(number, metric, isLines(detail) ? detail.whole : detail);
      return;
    }
    if (!Array.isArray(detail)) {
      const by = typeof detail === 'number' ? detail : weight;
      this.#add(number, metric, by);
      if (metric === SURPLUS) this.#add(number, RAW, by);
      return;
    }
    // The detail of a correction begins with the change of the count; pairs of amount and currency follow.
    const first = detail.length % 2;
    this.#add(number, metric, first === 1 ? Number(detail[0]) : weight);
    this.#addAmounts(number, metric, detail.slice(first));
  }

  /** Charges are no lines, and an RFQ does not count for them. */
  #countPart(number: number, metric: number, { of, by, lines, amounts }: Part): void {
    if (lines !== 0) {
      const place = number * WIDTH + metric;
      this.#counts[place] = (this.#counts[place] ?? 0) + by;
      if (!this.#inTotals.has(of)) this.#totals[metric] = (this.#totals[metric] ?? 0) + by;
      this.#inTotals.add(of);
    }
    const ofLines = LINES_OF.get(metric);
    if (ofLines !== undefined) this.#add(number, ofLines, lines);
    if (amounts.length > 0) this.#addAmounts(number, metric, amounts);
  }

  #addAmounts(number: number, metric: number, amounts: readonly (number | string)[]): void {
    let money = this.#money.get(number);
    if (!money) this.#money.set(number, (money = { rfq: new Map(), won: new Map() }));
    const sums = metric === TAKEN_UP ? money.rfq : money.won;
    for (let each = 0; each < amounts.length; each += 2) {
      const currency = String(amounts[each + 1]);
      sums.set(currency, (sums.get(currency) ?? 0) + Number(amounts[each]));
    }
  }

  #add(number: number, metric: number, by: number): void {
    const place = number * WIDTH + metric;
    this.#counts[place] = (this.#counts[place] ?? 0) + by;
    this.#totals[metric] = (this.#totals[metric] ?? 0) + by;
  }

  total(): Sum {
    const total: Sum = { ...emptySum(), counts: [...this.#totals] };
    addClicks(total.counts);
    for (const money of this.#money.values()) addTo(total, { counts: [], ...money });
    return total;
  }

  /** All buckets, in no order. */
  async all(): Promise<Bucket[]> {
    const all: Bucket[] = [];
    await inTurns(this.#numbers.slots.keys(), (number) => all.push(this.#bucket(number)));
    return all;
  }

  /** The buckets by time, then by group; each is made when it is read. */
  async inOrder(): Promise<OrderedBuckets> {
    const { starts } = this.#layout.times;
    const columns = this.#columns;
    const { slots } = this.#numbers;
    const order = await this.#columnsInOrder();
    const numbers: number[] = [];
    if (starts.length * order.length <= 4 * slots.length)
      for (const [bucket] of starts.entries()) {
        await eventLoopTurns.pause();
        for (const column of order) {
          const number = this.#numbers.find(bucket * columns + column);
          if (number >= 0) numbers.push(number);
        }
      }
    else {
      const ranks = new Map(order.map((column, rank) => [column, rank]));
      const ofBucket = starts.map((): [rank: number, number: number][] => []);
      await inTurns(slots.entries(), ([number, slot]) => {
        const rank = ranks.get(slot % columns) ?? 0;
        ofBucket[Math.floor(slot / columns)]?.push([rank, number]);
      });
      for (const ranked of ofBucket)
        for (const [, number] of await sortedInTurns(ranked, ([a], [b]) => a - b))
          numbers.push(number);
    }
    return {
      length: numbers.length,
      startAt: (index) => starts[Math.floor((slots[numbers[index] ?? 0] ?? 0) / columns)] ?? 0,
      at: (index) => this.#bucket(numbers[index] ?? 0),
    };
  }

  /** The groups that occur, by their text. */
  async #columnsInOrder(): Promise<number[]> {
    const columns = this.#columns;
    const present = new Uint8Array(columns);
    for (const slot of this.#numbers.slots) present[slot % columns] = 1;
    const keyed: [string, number][] = [];
    await inTurns(present.entries(), ([column, is]) => {
      if (is) keyed.push([JSON.stringify(this.#groupOf(column)), column]);
    });
    const ordered = await sortedInTurns(keyed, ([a], [b]) => byText(a, b));
    return ordered.map(([, column]) => column);
  }

  #groupOf(column: number): (string | null)[] {
    const { groups, countries, place } = this.#layout;
    const values = groups.values[Math.floor(column / countries.names.length)] ?? [];
    if (place < 0) return values;
    const country = countries.names[column % countries.names.length] ?? '';
    return values.with(place, country === '' ? null : country);
  }

  #bucket(number: number): Bucket {
    const slot = this.#numbers.slots[number] ?? 0;
    const columns = this.#columns;
    const counts: number[] = [];
    for (let at = number * WIDTH; at < (number + 1) * WIDTH; at += 1)
      counts.push(this.#counts[at] ?? 0);
    addClicks(counts);
    return {
      bucket: this.#layout.times.starts[Math.floor(slot / columns)] ?? 0,
      group: this.#groupOf(slot % columns),
      sum: { counts, ...(this.#money.get(number) ?? NO_MONEY) },
    };
  }
}

const NO_MONEY = { rfq: new Map<string, number>(), won: new Map<string, number>() };

/** Adds to each metric of clicks the counts of those after it. */
const addClicks = (counts: number[]): void => {
  for (let metric = UNIQUE - 1; metric >= 0; metric -= 1)
    counts[metric] = (counts[metric] ?? 0) + (counts[metric + 1] ?? 0);
};

/** A filter that leaves few facts reads only those. */
const FEW = 16;

const narrow = async (selection: Grouped): Promise<Grouped> => {
  const { chains, length, ofSet } = selection;
  if (!ofSet.includes(NONE)) return selection;
  const sets: number[] = [];
  for (const [set, group] of ofSet.entries()) if (group >= 0) sets.push(set);
  const all = await chains?.indexesOf(sets, length / FEW);
  if (!all) return selection;
  // Others may have added facts since the question began.
  const indexes = all.filter((index) => index < length);
  return { ...selection, length: indexes.length, indexes };
};

type Options = {
  /** Assigns the days to the buckets of a different period from the one that is counted. */
  bucketOfDay?: (day: number) => number;
  /** How countries are named in a longer period. */
  countries?: Countries;
};

/**
 * Counts facts in buckets of local days and groups of dimensions. Costs one pass over the facts, and two if countries are
 * named.
 */
export const aggregate = async (
  selection: FactSelection,
  query: Query,
  { bucketOfDay = (day) => bucketIn(query, day), countries: named }: Options = {},
): Promise<Report> => {
  const times = timesOf(query, bucketOfDay, selection.isByDay);
  const groups = new Groups(query);
  const ofSet = groups.of(selection.facts.dims);
  const narrowed = await narrow({ ...selection, ofSet });
  const countries = named ?? (await countriesOf(narrowed, times, { ofSet, query }));
  const place = query.groupBy.indexOf('country');
  const ofLines = await partsIn(selection, query);
  const parts = ofLines && { ...ofLines, ofSet: groups.of(ofLines.facts.dims) };
  const report = new Report(
    { times, groups, countries, place, isByLine: parts !== undefined },
    narrowed.length + (parts?.length ?? 0),
  );
  await inSlices(narrowed, (from, to) => report.count(narrowed, from, to));
  if (parts) await inSlices(parts, (from, to) => report.count(parts, from, to));
  return report;
};
