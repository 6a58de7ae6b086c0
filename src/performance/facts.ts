/** The facts of an owner in memory, and their sums by day. */
import { LIMITS } from '#contracts/limits.ts';
import { type Dimension, METRICS, OTHER_CLIENTS } from '#contracts/performance/records.ts';
import type { Position } from '#src/ports/event-log.ts';
import { isWithinCategory } from '#src/ports/folded-text.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { type PackedNumbers, unpackNumbers } from '#src/ports/packed-numbers.ts';
import {
  type PerformanceFacts,
  type PerformanceLines,
  type PerformanceSets,
  FACTS_PER_BLOCK,
  CHUNKS_PER_BLOCK,
  FACTS_PER_CHUNK,
  FIRST_LINES_SORT,
  FIRST_SET_SORT,
  type PerformanceBlock,
  type PerformanceChunk,
  type PerformanceTail,
  SETS_PER_GROUP,
  TAIL_KEY,
  VALUES_PER_FACT,
} from '#src/ports/performance-rows.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { eventLoopTurns, inTurns, KeyedQueue } from '#src/shared/work.ts';
import { type Query, calendarOf } from './calendar.ts';
import {
  isLines,
  type LineDims,
  lineDimensionsIn,
  type LinesFact,
  linesFact,
  type Part,
  partsOf,
} from './lines.ts';

const CAPACITY_FIRST = 1_024;
const RESERVE = 1.25;
/** Facts between two looks at the clock: less than a millisecond. */
export const SLICE = 16_384;
/** No index. */
export const NONE = -1;

export type Dims = PerformanceSets['dims'][number];
export type Detail = number | string | (number | string)[] | LinesFact | Part;

/** One counted event, or the number of equal ones. `time` is a quarter hour, or a local day, since the epoch. */
type Fact = { time: number; set: number; metric: number; country: number };

type Column = Float64Array | Int32Array | Uint16Array | Uint8Array;

const grown = <Kind extends Column>(column: Kind, capacity: number): Kind => {
  const next = new (column.constructor as new (length: number) => Kind)(capacity);
  next.set(column);
  return next;
};

/** Facts as columns, which only ever grow. */
class Columns {
  length = 0;
  times = new Int32Array(CAPACITY_FIRST);
  sets = new Int32Array(CAPACITY_FIRST);
  metrics = new Uint8Array(CAPACITY_FIRST);
  countries = new Uint16Array(CAPACITY_FIRST);
  /** Numbers of surplus visits, amounts of money and lines, by fact. */
  readonly details = new Map<number, Detail>();
  /** The facts that have lines. */
  readonly withLines: number[] = [];
  /** The dimensions of each set. */
  readonly dims: Dims[] = [];

  get capacity(): number {
    return this.times.length;
  }

  push({ time, set, metric, country }: Fact): number {
    this.reserve(1);
    const index = this.length;
    this.times[index] = time;
    this.sets[index] = set;
    this.metrics[index] = metric;
    this.countries[index] = country;
    this.length += 1;
    return index;
  }

  /** Makes room for more facts, and for those that come soon. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.capacity) return;
    const capacity = Math.max(Math.ceil(RESERVE * needed), 2 * this.capacity);
    this.times = grown(this.times, capacity);
    this.sets = grown(this.sets, capacity);
    this.metrics = grown(this.metrics, capacity);
    this.countries = grown(this.countries, capacity);
  }
}

/** The facts of each set, as a chain from the newest one back. Only questions about few sets need it. */
class FactChains {
  readonly #facts: Columns;
  /** The fact before of the same set, NONE for the first one; and the last fact and the number of facts of each set. */
  #previous = new Int32Array(0);
  readonly #ofSet: { last: number; count: number }[] = [];
  #length = 0;

  constructor(facts: Columns) {
    this.#facts = facts;
  }

  /**
   * The indexes of all facts of some sets; undefined if they are more than `max`. The cost grows with their number, and with the number of
   * facts since the last call.
   */
  async indexesOf(sets: readonly number[], max: number): Promise<Int32Array | undefined> {
    await this.#update();
    let count = 0;
    for (const set of sets) count += this.#ofSet[set]?.count ?? 0;
    if (count > max) return undefined;
    const indexes = new Int32Array(count);
    let at = 0;
    for (const set of sets)
      for (let index = this.#ofSet[set]?.last ?? NONE; index >= 0; at += 1) {
        indexes[at] = index;
        index = this.#previous[index] ?? NONE;
      }
    return indexes;
  }

  async #update(): Promise<void> {
    while (this.#length < this.#facts.length) {
      const pause = eventLoopTurns.pause();
      if (pause) await pause;
      const { sets, length, capacity } = this.#facts;
      if (this.#previous.length < length) this.#previous = grown(this.#previous, capacity);
      const to = Math.min(this.#length + SLICE, length);
      for (let index = this.#length; index < to; index += 1) {
        const own = (this.#ofSet[sets[index] ?? 0] ??= { last: NONE, count: 0 });
        this.#previous[index] = own.last;
        own.last = index;
        own.count += 1;
      }
      this.#length = to;
    }
  }
}

/** Facts of an owner that a question is about: the first `length` ones. `weights`: how many events each one counts. */
export type FactSelection = {
  facts: Columns;
  length: number;
  countryNames: readonly string[];
  weights?: readonly number[];
  /** Finds the facts of few sets without a pass over all. */
  chains?: FactChains;
  /** The facts among them that count, where a filter leaves few; `length` is their number. */
  indexes?: Int32Array;
  /** Whether times are local days of the question's time zone, and not quarter hours. */
  isByDay: boolean;
};

const SUB_IDS = ['sub_id_1', 'sub_id_2', 'sub_id_3'] as const satisfies Dimension[];
type SubId = (typeof SUB_IDS)[number];

const isSubId = (dimension: Dimension): dimension is SubId => dimension.startsWith('sub_id_');

/** The value of a set of dimensions; null for a country, which visits have and sets do not. */
export const valueOf = (dims: Dims, dimension: Dimension): string | null => {
  if (dimension === 'country') return null;
  if (isSubId(dimension)) return dims.sub_ids?.[SUB_IDS.indexOf(dimension)] ?? null;
  return dims[dimension] ?? null;
};

/** Returns whether a set of dimensions passes all filters, except that on country. */
export const matcherOf = (
  filters: Partial<Record<Dimension, string>>,
): ((dims: Dims) => boolean) => {
  const wanted = (Object.entries(filters) as [Dimension, string][]).filter(
    ([name]) => name !== 'country',
  );
  const tests = wanted.map(([name, value]) => {
    const isWithin = name === 'category' ? isWithinCategory(value) : undefined;
    return (dims: Dims): boolean => {
      const own = valueOf(dims, name);
      return isWithin ? own !== null && isWithin(own) : own === value;
    };
  });
  return (dims) => tests.every((passes) => passes(dims));
};

/** The dimensions of some lines of a set's fact. Products and categories of its source do not count for them. */
const ofLines = (
  { product_id: _product, category: _category, ...source }: Dims,
  dims: LineDims,
) => ({
  ...source,
  ...dims,
});

/** The parts of the facts with lines that a question by product or category counts; undefined for other questions. */
export const partsIn = async (
  { facts, length, countryNames, isByDay }: FactSelection,
  { from, to, groupBy, filters }: Query,
): Promise<FactSelection | undefined> => {
  const dimensions = [...groupBy, ...(Object.keys(filters) as Dimension[])];
  const own = lineDimensionsIn(dimensions);
  // A roll-up has divided them.
  if (own.length === 0 || isByDay) return undefined;
  const isMatch = matcherOf(filters);
  const cells = new Columns();
  const ids = new Map<string, number>();
  const upTo = lowerBound(facts.withLines.length, (n) => (facts.withLines[n] ?? 0) < length);
  await inTurns(facts.withLines.slice(0, upTo), (index) => {
    const detail = facts.details.get(index);
    const time = facts.times[index] ?? 0;
    // A local day extends at most one UTC day beyond its own in either direction.
    if (!isLines(detail) || time < (from - 1) * QUARTERS || time >= (to + 2) * QUARTERS) return;
    for (const { dims, part } of partsOf(detail, own)) {
      const all = restrictDims(ofLines(facts.dims[facts.sets[index] ?? 0] ?? {}, dims), dimensions);
      if (!isMatch(all)) continue;
      const name = JSON.stringify(dimensions.map((dimension) => valueOf(all, dimension)));
      let set = ids.get(name);
      if (set === undefined) ids.set(name, (set = cells.dims.push(all) - 1));
      cells.details.set(cells.length, part);
      cells.push({ time, set, metric: facts.metrics[index] ?? 0, country: 0 });
    }
  });
  return { facts: cells, length: cells.length, countryNames, isByDay };
};

const restrictDims = (dims: Dims, dimensions: readonly Dimension[]): Dims => {
  const values: Record<string, string | string[]> = {};
  const subIds: string[] = [];
  for (const dimension of dimensions) {
    const value = valueOf(dims, dimension);
    if (value === null) continue;
    if (isSubId(dimension)) subIds[SUB_IDS.indexOf(dimension)] = value;
    else values[dimension] = value;
  }
  return { ...values, ...(subIds.length > 0 && { sub_ids: subIds }) };
};

/** The radices of a place's number. */
const SETS_MAX = 2 ** 20;
const COUNTRIES_MAX = 2 ** 10;
const METRICS_MAX = 2 ** Math.ceil(Math.log2(METRICS.length));

type SeriesPlace = { set: number; country: number; metric: number };

const seriesName = ({ set, country, metric }: SeriesPlace): number =>
  (set * COUNTRIES_MAX + country) * METRICS_MAX + metric;

/** The counts of one place by local day: `sums[n]` is that of all days up to `days[n]`. */
class Series {
  readonly place: SeriesPlace;
  readonly days: number[] = [];
  readonly sums: number[] = [];

  constructor(place: SeriesPlace) {
    this.place = place;
  }

  /** Adds events of a day. O(later days), so only late events cost anything. */
  add(day: number, count: number): void {
    const { days, sums } = this;
    let at = days.length;
    while (at > 0 && (days[at - 1] ?? 0) >= day) at -= 1;
    if (days[at] !== day) {
      days.splice(at, 0, day);
      sums.splice(at, 0, sums[at - 1] ?? 0);
    }
    for (; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) + count;
  }

  indexFrom(day: number): number {
    return lowerBound(this.days.length, (index) => (this.days[index] ?? 0) < day);
  }

  /** The events of the days from one index to another one, which is excluded. */
  between(from: number, to: number): number {
    return (this.sums[to - 1] ?? 0) - (this.sums[from - 1] ?? 0);
  }
}

/** A day of a series, in two arrays that grow by half. */
const BYTES_PER_DAY = 24;
/** A series without its days, with its entry in the Map. */
const BYTES_PER_SERIES = 300;
const QUARTERS = 96;
const ROLL_UP_SLICE = 8_192;
/** More than the days since the epoch of any event. */
const DAYS_MAX = 2 ** 17;

type FactSource = Columns & {
  readonly countryNames: readonly string[];
  readonly chains: FactChains;
};

/** The facts of an owner summed by local day, as one series for each set of some dimensions, country and metric. */
class RollUp {
  readonly #source: FactSource;
  readonly #localDays: (utcDay: number) => (quarter: number) => number;
  readonly #dimensions: readonly Dimension[];
  /** All countries are one where no question names countries. */
  readonly #hasCountries: boolean;
  readonly #byName = new Map<number, Series>();
  /** By set: its dimensions, its series, and its facts with amounts or lines, which are not summed. */
  readonly #dims: Dims[] = [];
  readonly #series: Series[][] = [];
  readonly #single: { index: number; detail: Detail }[][] = [];
  readonly #ofLines: readonly Dimension[];
  readonly #setIds = new Map<string, number>();
  /** The set here for each set of the facts. */
  readonly #setOf: number[] = [];
  readonly #dayOf = new Map<number, number>();
  #counted = 0;

  constructor(source: FactSource, timeZone: string, dimensions: readonly Dimension[]) {
    this.#source = source;
    const calendar = calendarOf(timeZone);
    this.#localDays = (day) => calendar.localDays(day);
    this.#dimensions = dimensions;
    this.#hasCountries = dimensions.includes('country');
    this.#ofLines = lineDimensionsIn(dimensions);
  }

  get bytes(): number {
    // Each fact can have a day of its own, but most share one.
    const days = Math.min(this.#counted, this.#byName.size * this.#dayOf.size);
    return this.#byName.size * BYTES_PER_SERIES + days * BYTES_PER_DAY;
  }

  /** Adds the facts that came since the last call. Costs by their number. */
  async update(): Promise<void> {
    const { length } = this.#source;
    while (this.#counted < length) {
      const pause = eventLoopTurns.pause();
      if (pause) await pause;
      const to = Math.min(this.#counted + ROLL_UP_SLICE, length);
      for (let index = this.#counted; index < to; index += 1) this.#add(index);
      this.#counted = to;
    }
  }

  /**
   * The days of the question's period, or for one bucket its sum, for the facts before `upTo`. Costs by the size of the
   * result and by the number of facts since.
   */
  async select(query: Query, upTo: number): Promise<FactSelection> {
    const cells = new Columns();
    const weights: number[] = [];
    const isTotal = query.granularity === 'total';
    const newer = this.#countFrom(upTo, query);
    await inTurns(this.#setsOf(query.filters), (of) => {
      // A set without facts in the period has no number.
      let set = NONE;
      const push = ({ metric, country }: SeriesPlace, time: number, count: number): void => {
        if (set < 0) set = cells.dims.push(this.#dims[of] ?? {}) - 1;
        cells.push({ time, set, metric, country });
        weights.push(count);
      };
      for (const series of this.#series[of] ?? []) {
        const from = series.indexFrom(query.from);
        const to = series.indexFrom(query.to + 1);
        const step = isTotal ? to - from : 1;
        for (let at = from; at < to; at += step) {
          const day = isTotal ? query.from : (series.days[at] ?? 0);
          const since = newer?.get(seriesName(series.place) * DAYS_MAX + day) ?? 0;
          const count = series.between(at, at + step) - since;
          if (count > 0) push(series.place, day, count);
        }
      }
      for (const { index, detail } of this.#single[of] ?? []) {
        const day = this.#dayAt(index);
        if (index >= upTo || day < query.from || day > query.to) continue;
        cells.details.set(cells.length, detail);
        push(this.#placeOf(index), day, 1);
      }
    });
    const { length } = cells;
    const { countryNames } = this.#source;
    return { facts: cells, length, countryNames, weights, isByDay: true };
  }

  /** Counts the facts from `index` on as `select` does; undefined if there are none. */
  #countFrom(index: number, { from, to, granularity }: Query): Map<number, number> | undefined {
    if (index >= this.#counted) return undefined;
    const counts = new Map<number, number>();
    for (let at = index; at < this.#counted; at += 1) {
      const day = this.#dayAt(at);
      if (day < from || day > to || this.#isSingle(at)) continue;
      const name =
        seriesName(this.#placeOf(at)) * DAYS_MAX + (granularity === 'total' ? from : day);
      counts.set(name, (counts.get(name) ?? 0) + this.#countOf(at));
    }
    return counts;
  }

  /** The sets that pass the filters. The cost grows with the number of all sets, unless each dimension has a filter. */
  #setsOf(filters: Query['filters']): number[] {
    const isOne = this.#dimensions.every((name) => name === 'country' || name in filters);
    if (isOne && this.#dimensions.length > 0) {
      const set = this.#setIds.get(this.#nameOf((name) => filters[name] ?? null));
      return set === undefined ? [] : [set];
    }
    const isMatch = matcherOf(filters);
    return [...this.#dims.keys()].filter((set) => isMatch(this.#dims[set] ?? {}));
  }

  #add(index: number): void {
    const detail = this.#source.details.get(index);
    if (isLines(detail)) {
      this.#addLines(index, detail);
      return;
    }
    const place = this.#placeOf(index);
    if (Array.isArray(detail)) {
      (this.#single[place.set] ??= []).push({ index, detail });
      return;
    }
    const name = seriesName(place);
    let series = this.#byName.get(name);
    if (!series) {
      series = new Series(place);
      this.#byName.set(name, series);
      (this.#series[place.set] ??= []).push(series);
    }
    series.add(this.#dayAt(index), this.#countOf(index));
  }

  #addLines(index: number, detail: LinesFact): void {
    const set = this.#source.sets[index] ?? 0;
    const parts =
      this.#ofLines.length === 0
        ? [{ id: this.#set(set), part: detail.whole }]
        : partsOf(detail, this.#ofLines).map(({ dims, part }) => ({
            id: this.#idOf(ofLines(this.#source.dims[set] ?? {}, dims)),
            part,
          }));
    for (const { id, part } of parts) (this.#single[id] ??= []).push({ index, detail: part });
  }

  #placeOf(index: number): SeriesPlace {
    const { sets, metrics, countries } = this.#source;
    return {
      set: this.#set(sets[index] ?? 0),
      country: this.#hasCountries ? (countries[index] ?? 0) : 0,
      metric: metrics[index] ?? 0,
    };
  }

  #isSingle(index: number): boolean {
    return typeof this.#source.details.get(index) === 'object';
  }

  #countOf(index: number): number {
    const detail = this.#source.details.get(index);
    return typeof detail === 'number' ? detail : 1;
  }

  #dayAt(index: number): number {
    const quarter = this.#source.times[index] ?? 0;
    let day = this.#dayOf.get(quarter);
    if (day === undefined) {
      const utcDay = Math.floor(quarter / QUARTERS);
      day = this.#localDays(utcDay)(quarter - utcDay * QUARTERS);
      this.#dayOf.set(quarter, day);
    }
    return day;
  }

  #set(set: number): number {
    return (this.#setOf[set] ??= this.#idOf(this.#source.dims[set] ?? {}));
  }

  #idOf(dims: Dims): number {
    const name = this.#nameOf((dimension) => valueOf(dims, dimension));
    let id = this.#setIds.get(name);
    if (id === undefined) {
      id = this.#dims.push(restrictDims(dims, this.#dimensions)) - 1;
      this.#setIds.set(name, id);
    }
    return id;
  }

  #nameOf(value: (dimension: Dimension) => string | null): string {
    return JSON.stringify(
      this.#dimensions.map((name) => (name === 'country' ? null : value(name))),
    );
  }
}

const ROLL_UPS_MAX = 12;
/** Fewer facts than this are counted one by one in about a millisecond. */
const FACTS_MIN = 20_000;
/** A roll-up subtracts newer facts than a position if they are at most this share of those up to it. */
const NEWER_SHARE_MAX = 0.25;

/** The roll-ups of an owner's facts: one for each time zone and set of dimensions that questions name repeatedly. */
export class RollUps {
  readonly #source: FactSource;
  readonly #factsMin: number;
  readonly #byName = new Map<string, RollUp | undefined>();
  readonly #queue = new KeyedQueue();

  /** With fewer than `factsMin` facts, nothing is rolled up. */
  constructor(source: FactSource, factsMin = FACTS_MIN) {
    this.#source = source;
    this.#factsMin = factsMin;
  }

  get bytes(): number {
    let bytes = 0;
    for (const rollUp of this.#byName.values()) bytes += rollUp?.bytes ?? 0;
    return bytes;
  }

  /** Selects the facts before `upTo` that a question is about, from the second question with its dimensions on from a roll-up. */
  async select(query: Query, upTo: number): Promise<FactSelection> {
    const facts = this.#source;
    const { length, countryNames, chains } = facts;
    const { timeZone, groupBy, filters } = query;
    const all: FactSelection = { facts, length: upTo, countryNames, chains, isByDay: false };
    const dimensions = [...new Set([...groupBy, ...(Object.keys(filters) as Dimension[])])].sort();
    if (
      length < this.#factsMin ||
      facts.dims.length > SETS_MAX ||
      countryNames.length > COUNTRIES_MAX
    )
      return all;
    const name = JSON.stringify([timeZone, dimensions]);
    const wasAsked = this.#byName.has(name);
    const rollUp =
      this.#byName.get(name) ?? (wasAsked ? new RollUp(facts, timeZone, dimensions) : undefined);
    this.#keep(name, rollUp);
    if (!rollUp || length - upTo > NEWER_SHARE_MAX * upTo) return all;
    // Facts that come meanwhile are not added before the selection is complete.
    return this.#queue.run(name, async () => {
      await rollUp.update();
      return rollUp.select(query, upTo);
    });
  }

  /** Moves the roll-up to the end, and drops the one that was asked for least recently. */
  #keep(name: string, rollUp: RollUp | undefined): void {
    this.#byName.delete(name);
    this.#byName.set(name, rollUp);
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > ROLL_UPS_MAX && oldest !== undefined) this.#byName.delete(oldest);
  }
}

/** Rows of lines that are read at once: each can have a thousand lines. */
const LINES_PER_READ = 128;
/** Groups of sets that are read at once: a remote store answers most questions in one round trip. */
const GROUPS_PER_READ = 64;
/** Chunks that are read at once. Six blocks of up to 100 kB each delay no other request for long. */
const CHUNKS_PER_READ = 6 * CHUNKS_PER_BLOCK;
/** Facts that a process keeps in memory, in bytes: evicts the owner asked for least recently, and never the last one. */
const CACHE_BYTES_MAX = 134_217_728;
const BYTES_PER_FACT = 20;
const BYTES_PER_SET = 600;
const BYTES_PER_LINE = 150;

/** The positions of the facts from number `first` on, less `least`. Few questions need them, so those of a block stay packed. */
type Positions = { first: number; least: Position; numbers: number[]; packed?: PackedNumbers };

/**
 * The counted events of an owner, in log order; their times are quarter hours. Facts are only ever added, so a reader that
 * took `length` may continue after others have been added.
 */
export class OwnerFacts extends Columns {
  readonly chains = new FactChains(this);
  /** Names of countries; the first one is empty. */
  readonly countryNames: string[] = [''];
  readonly rollUps = new RollUps(this);
  readonly #countryIds = new Map<string, number>([['', 0]]);
  /** The first names of clients, in log order. */
  readonly #clients = new Set<string>();
  /** In log order, a part for each block. */
  readonly #positions: Positions[] = [];
  /** By number of their row; and the texts that they share. */
  readonly #lines: PerformanceLines[] = [];
  readonly #texts = new Map<string, string>();
  #entries = 0;

  get bytes(): number {
    return (
      this.capacity * BYTES_PER_FACT +
      this.dims.length * BYTES_PER_SET +
      this.#entries * BYTES_PER_LINE +
      this.rollUps.bytes
    );
  }

  /** The number of rows of lines that were added. */
  get lineRows(): number {
    return this.#lines.length;
  }

  addLines(row: PerformanceLines): void {
    this.#lines[row.number] = row;
    this.#entries += row.entries.length;
  }

  upTo(position: Position): number {
    const parts = this.#positions;
    const part = parts[lowerBound(parts.length, (n) => (parts[n]?.least ?? 0) <= position) - 1];
    if (!part) return 0;
    const { first, least, packed } = part;
    const numbers = packed === undefined ? part.numbers : unpackNumbers(packed);
    return first + lowerBound(numbers.length, (n) => least + (numbers[n] ?? 0) <= position);
  }

  /** Later clients than the first ones are counted together, so that no client fills a report with names. */
  #withBoundClient(dims: Dims): Dims {
    const { client } = dims;
    if (client === undefined || this.#clients.has(client)) return dims;
    if (this.#clients.size >= LIMITS.PERFORMANCE_CLIENTS_MAX)
      return { ...dims, client: OTHER_CLIENTS };
    this.#clients.add(client);
    return dims;
  }

  addSets({ group, dims }: PerformanceSets): void {
    for (const [n, one] of dims.entries())
      this.dims[group * SETS_PER_GROUP + n] = this.#withBoundClient(one);
  }

  /** Adds those facts of a list that come after the ones that are here. `first` is the number of its first fact. */
  add(facts: PerformanceFacts, first: number): void {
    let position = 0;
    let time = 0;
    let part = this.#positions.at(-1);
    for (let at = 0, number = first; at < facts.length; at += VALUES_PER_FACT, number += 1) {
      position += facts[at] as number;
      time += facts[at + 1] as number;
      if (number < this.length) continue;
      const detail = facts[at + 4] ?? 0;
      const index = this.push({
        time,
        set: facts[at + 2] as number,
        metric: facts[at + 3] as number,
        country: typeof detail === 'string' ? this.#countryId(detail) : 0,
      });
      if (!part || part.packed !== undefined)
        this.#positions.push((part = { first: index, least: position, numbers: [] }));
      part.numbers.push(position - part.least);
      this.#setDetail(index, detail);
    }
  }

  /**
   * Adds those facts of a block that come after the ones that are here. Copies whole columns, because loops over arrays of
   * several types are slow.
   */
  addBlock(block: PerformanceBlock): void {
    const first = firstOf(block);
    const start = this.length;
    const column = (packed: string) => unpackNumbers(packed).subarray(start - first);
    const sets = column(block.sets);
    const end = start + sets.length;
    this.reserve(sets.length);
    this.sets.set(sets, start);
    this.metrics.set(column(block.metrics), start);
    this.times.set(column(block.quarters), start);
    this.countries.set(column(block.countries), start);
    const countryIds = Uint16Array.from(block.names, (name) => this.#countryId(name));
    // The facts that are here already were added one by one.
    if (this.#positions.at(-1)?.first === first) this.#positions.pop();
    const { position: least, positions: packed, quarter } = block;
    this.#positions.push({ first, least, numbers: [], packed });
    const { times, countries } = this;
    for (let index = start; index < end; index += 1) {
      times[index] = (times[index] ?? 0) + quarter;
      countries[index] = countryIds[countries[index] ?? 0] ?? 0;
    }
    for (const [at, detail] of block.details)
      if (first + at >= start) this.#setDetail(first + at, detail);
    this.length = end;
  }

  #setDetail(index: number, detail: PerformanceFacts[number]): void {
    if (typeof detail === 'string' || detail === 0) return;
    if (typeof detail === 'number' || Array.isArray(detail)) {
      this.details.set(index, detail);
      return;
    }
    const row = this.#lines[detail.lines];
    if (!row) throw new Error(`row ${detail.lines} of lines was not read`);
    this.details.set(
      index,
      linesFact(index, row, (text) => this.#shared(text)),
    );
    this.withLines.push(index);
  }

  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known === undefined) this.#texts.set(text, text);
    return known ?? text;
  }

  #countryId(name: string): number {
    let id = this.#countryIds.get(name);
    if (id === undefined) {
      id = this.countryNames.push(name) - 1;
      this.#countryIds.set(name, id);
    }
    return id;
  }
}

type ChunkRow = PerformanceChunk | PerformanceBlock;

const firstOf = (row: ChunkRow): number =>
  'last' in row ? FACTS_PER_CHUNK * (row.last + 1) - FACTS_PER_BLOCK : FACTS_PER_CHUNK * row.chunk;

/** The facts of the owners that were asked for last; each question reads only those that are new. */
export class FactsCache {
  readonly #byOwner = new Map<string, OwnerFacts>();
  readonly #queue = new KeyedQueue();
  /** By owner: the read that is queued and has not begun. */
  readonly #next = new Map<string, Promise<OwnerFacts>>();
  readonly #bytesMax: number;

  constructor(bytesMax = CACHE_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads the new facts of an owner. Costs by their number, and by all facts the first time. Calls that come while a read
   * is under way share the next one, so none waits for more than two.
   */
  read(readModels: ReadModels, ownerId: string): Promise<OwnerFacts> {
    const next = this.#next.get(ownerId);
    if (next) return next;
    const reading = this.#queue.run(ownerId, async () => {
      this.#next.delete(ownerId);
      return this.#readNew(readModels, ownerId);
    });
    this.#next.set(ownerId, reading);
    return reading;
  }

  /**
   * Reads the tail, and then what it refers to, which was stored before it. Its members are taken at once, because a local
   * store changes the row itself with the next event. A read that fails keeps what it has read, for the next one.
   */
  async #readNew(readModels: ReadModels, ownerId: string): Promise<OwnerFacts> {
    const tail = await readModels.get<PerformanceTail>('performance', ownerId, TAIL_KEY);
    const { chunks, sets, lines, facts: newest } = tail ?? NO_FACTS;
    const total = chunks * FACTS_PER_CHUNK + newest.length / VALUES_PER_FACT;
    let facts = this.#byOwner.get(ownerId) ?? new OwnerFacts();
    // The read model was built anew and has not reached what was read before.
    if (total < facts.length) facts = new OwnerFacts();
    this.#keep(ownerId, facts);
    await readSets(readModels, ownerId, { facts, to: sets });
    await readLines(readModels, ownerId, { facts, to: lines });
    facts.reserve(total - facts.length);
    const isWhole = await readChunks(readModels, ownerId, { facts, to: chunks });
    if (!isWhole) return this.#readNew(readModels, ownerId);
    facts.add(newest, chunks * FACTS_PER_CHUNK);
    this.#keep(ownerId, facts);
    return facts;
  }

  /** Makes the owner the last one, and evicts the first ones beyond the limit. */
  #keep(ownerId: string, kept: OwnerFacts): void {
    // A Map keeps the order of insertion.
    this.#byOwner.delete(ownerId);
    this.#byOwner.set(ownerId, kept);
    let bytes = 0;
    for (const facts of this.#byOwner.values()) bytes += facts.bytes;
    for (const [owner, facts] of this.#byOwner) {
      if (bytes <= this.#bytesMax || this.#byOwner.size === 1) return;
      bytes -= facts.bytes;
      this.#byOwner.delete(owner);
    }
  }
}

const NO_FACTS = { chunks: 0, sets: 0, lines: 0, facts: [] };

/** What a read adds to: the sets, lines or chunks below number `to`. */
type Reading = { facts: OwnerFacts; to: number };

/** Reads the rows with sort keys from `from` to `to` in parts of `step`, oldest first. */
const readRange = async function* <R extends object>(
  readModels: ReadModels,
  scope: string,
  { from, to, step }: { from: number; to: number; step: number },
): AsyncGenerator<R, void> {
  for (let downTo = from; downTo < to; downTo += step) {
    const before = Math.min(downTo + step, to);
    const query = { scope, before, downTo, limit: step };
    const page = await readModels.list<R>('performance', query);
    for (const { row } of page.reverse()) {
      const pause = eventLoopTurns.pause();
      if (pause) await pause;
      yield row;
    }
  }
};

const readSets = async (
  readModels: ReadModels,
  ownerId: string,
  { facts, to }: Reading,
): Promise<void> => {
  if (to <= facts.dims.length) return;
  const groups = {
    from: FIRST_SET_SORT + Math.floor(facts.dims.length / SETS_PER_GROUP),
    to: FIRST_SET_SORT + Math.ceil(to / SETS_PER_GROUP),
    step: GROUPS_PER_READ,
  };
  for await (const group of readRange<PerformanceSets>(readModels, ownerId, groups))
    facts.addSets(group);
};

const readLines = async (
  readModels: ReadModels,
  ownerId: string,
  { facts, to }: Reading,
): Promise<void> => {
  const rows = {
    from: FIRST_LINES_SORT + facts.lineRows,
    to: FIRST_LINES_SORT + to,
    step: LINES_PER_READ,
  };
  for await (const row of readRange<PerformanceLines>(readModels, ownerId, rows))
    facts.addLines(row);
};

/** Adds the facts of the chunks and blocks that are not here yet. Returns false if chunks became a block meanwhile. */
const readChunks = async (
  readModels: ReadModels,
  ownerId: string,
  { facts, to }: Reading,
): Promise<boolean> => {
  const from = Math.floor(facts.length / FACTS_PER_CHUNK);
  const chunks = { from, to, step: CHUNKS_PER_READ };
  for await (const row of readRange<ChunkRow>(readModels, ownerId, chunks)) {
    if (firstOf(row) > facts.length) return false;
    if ('last' in row) facts.addBlock(row);
    else facts.add(row.facts, firstOf(row));
  }
  return facts.length >= to * FACTS_PER_CHUNK;
};
