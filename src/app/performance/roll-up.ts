import type { Dimension } from '#contracts/records/performance.ts';
import { KeyedQueue } from '../shared/keyed-queue.ts';
import { eventLoopTurns } from '../shared/turns.ts';
import type { Query } from './buckets.ts';
import { calendarOf } from './calendar.ts';
import { Columns, type Dims } from './columns.ts';
import { restrictDims } from './dimensions.ts';

export const BYTES_PER_FACT = 24;
/** A cell with its entry in the Map. */
const BYTES_PER_CELL = 80;
const ROLL_UPS_MAX = 12;
/** Fewer facts than this are counted one by one in about a millisecond. */
const FACTS_MIN = 20_000;
const QUARTERS = 96;
const SLICE = 8_192;

/** The radices of the number of a cell: its day, set of dimensions, country and metric. */
const SETS = 2 ** 20;
const COUNTRIES = 2 ** 10;
const METRICS = 2 ** 4;

/** Facts of an owner that a question is about: the first `length` ones. `weights`: how many events each one counts. */
export type FactSelection = {
  facts: Columns;
  length: number;
  countryNames: readonly string[];
  weights?: readonly number[];
  /** The facts among them that count, where a filter leaves few; `length` is their number. */
  indexes?: Int32Array;
  /** Whether times are local days of the question's time zone, and not quarter hours. */
  isByDay: boolean;
};

type Source = Columns & { readonly countryNames: readonly string[] };

/** Facts with equal local day, dimensions, country and metric, summed in one cell. Cells are updated by new facts. */
class RollUp {
  readonly cells = new Columns();
  readonly weights: number[] = [];
  readonly #source: Source;
  readonly #localDays: (utcDay: number) => (quarter: number) => number;
  readonly #dimensions: readonly Dimension[];
  /** Cells of all countries are one where no question names countries. */
  readonly #hasCountries: boolean;
  readonly #indexes = new Map<number, number>();
  readonly #setIds = new Map<string, number>();
  /** The set of the cells for each set of the facts. */
  readonly #setOf: number[] = [];
  readonly #dayOf = new Map<number, number>();
  #counted = 0;

  constructor(source: Source, timeZone: string, dimensions: readonly Dimension[]) {
    this.#source = source;
    const calendar = calendarOf(timeZone);
    this.#localDays = (day) => calendar.localDays(day);
    this.#dimensions = dimensions;
    this.#hasCountries = dimensions.includes('country');
  }

  /** Adds the facts that came since the last call. Costs by their number. */
  async update(): Promise<void> {
    const { length } = this.#source;
    while (this.#counted < length) {
      const pause = eventLoopTurns.pause();
      if (pause) await pause;
      const to = Math.min(this.#counted + SLICE, length);
      for (let index = this.#counted; index < to; index += 1) this.#add(index);
      this.#counted = to;
    }
  }

  #add(index: number): void {
    const { times, sets, metrics, countries, details } = this.#source;
    const time = this.#day(times[index] ?? 0);
    const set = this.#set(sets[index] ?? 0);
    const metric = metrics[index] ?? 0;
    const country = this.#hasCountries ? (countries[index] ?? 0) : 0;
    const detail = details.get(index);
    const cell = ((time * SETS + set) * COUNTRIES + country) * METRICS + metric;
    let at = Array.isArray(detail) ? undefined : this.#indexes.get(cell);
    if (at === undefined) {
      at = this.cells.push({ position: 0, time, set, metric, country });
      this.weights.push(0);
      if (!Array.isArray(detail)) this.#indexes.set(cell, at);
    }
    this.weights[at] = (this.weights[at] ?? 0) + (typeof detail === 'number' ? detail : 1);
    if (Array.isArray(detail)) this.cells.details.set(at, detail);
  }

  #day(quarter: number): number {
    let day = this.#dayOf.get(quarter);
    if (day === undefined) {
      const utcDay = Math.floor(quarter / QUARTERS);
      day = this.#localDays(utcDay)(quarter - utcDay * QUARTERS);
      this.#dayOf.set(quarter, day);
    }
    return day;
  }

  #set(set: number): number {
    const known = this.#setOf[set];
    if (known !== undefined) return known;
    const dims: Dims = restrictDims(this.#source.dims[set] ?? {}, this.#dimensions);
    const name = JSON.stringify(dims);
    let id = this.#setIds.get(name);
    if (id === undefined) {
      id = this.cells.dims.push(dims) - 1;
      this.#setIds.set(name, id);
    }
    this.#setOf[set] = id;
    return id;
  }
}

/** The roll-ups of an owner's facts: one for each time zone and set of dimensions that questions name repeatedly. */
export class RollUps {
  readonly #source: Source;
  readonly #factsMin: number;
  readonly #byName = new Map<string, RollUp | undefined>();
  readonly #queue = new KeyedQueue();

  /** With fewer than `factsMin` facts, nothing is rolled up. */
  constructor(source: Source, factsMin = FACTS_MIN) {
    this.#source = source;
    this.#factsMin = factsMin;
  }

  get bytes(): number {
    let bytes = 0;
    for (const rollUp of this.#byName.values())
      if (rollUp) bytes += rollUp.cells.capacity * (BYTES_PER_FACT + BYTES_PER_CELL);
    return bytes;
  }

  /**
   * Counts all facts with `count`, from the second question with these dimensions on from a roll-up. Its cells do not change
   * meanwhile.
   */
  async count<Result>(
    { timeZone, groupBy, filters }: Query,
    count: (selection: FactSelection) => Promise<Result>,
  ): Promise<Result> {
    const facts = this.#source;
    const { length, countryNames } = facts;
    const all: FactSelection = { facts, length, countryNames, isByDay: false };
    const dimensions = [...new Set([...groupBy, ...(Object.keys(filters) as Dimension[])])].sort();
    if (length < this.#factsMin || facts.dims.length > SETS || countryNames.length > COUNTRIES)
      return count(all);
    const name = JSON.stringify([timeZone, dimensions]);
    const wasAsked = this.#byName.has(name);
    const rollUp =
      this.#byName.get(name) ?? (wasAsked ? new RollUp(facts, timeZone, dimensions) : undefined);
    this.#keep(name, rollUp);
    if (!rollUp) return count(all);
    return this.#queue.run(name, async () => {
      await rollUp.update();
      const { cells, weights } = rollUp;
      return count({ facts: cells, length: cells.length, countryNames, weights, isByDay: true });
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
