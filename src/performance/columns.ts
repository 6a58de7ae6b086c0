import type { PerformanceFacts, PerformanceSets } from '#src/ports/performance-rows.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';

const CAPACITY_FIRST = 1_024;
const RESERVE = 1.25;
/** Facts between two looks at the clock: less than a millisecond. */
export const SLICE = 16_384;
/** No index. */
export const NONE = -1;

export type Dims = PerformanceSets['dims'][number];
export type Detail = PerformanceFacts[number];

/** One counted event, or the number of equal ones. `time` is a quarter hour, or a local day, since the epoch. */
export type Fact = { time: number; set: number; metric: number; country: number };

type Column = Float64Array | Int32Array | Uint16Array | Uint8Array;

const grown = <Kind extends Column>(column: Kind, capacity: number): Kind => {
  const next = new (column.constructor as new (length: number) => Kind)(capacity);
  next.set(column);
  return next;
};

/** Facts as columns, which only ever grow. */
export class Columns {
  length = 0;
  times = new Int32Array(CAPACITY_FIRST);
  sets = new Int32Array(CAPACITY_FIRST);
  metrics = new Uint8Array(CAPACITY_FIRST);
  countries = new Uint16Array(CAPACITY_FIRST);
  /** Numbers of surplus visits and amounts of money, by fact. */
  readonly details = new Map<number, Detail>();
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
export class FactChains {
  readonly #facts: Columns;
  /** The fact before of the same set, NONE for the first one; and the last fact and the number of facts of each set. */
  #previous = new Int32Array(0);
  readonly #ofSet: { last: number; count: number }[] = [];
  #length = 0;

  constructor(facts: Columns) {
    this.#facts = facts;
  }

  /**
   * The indexes of all facts of some sets; undefined if they are more than `max`. Costs by their number, and by the number of
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
