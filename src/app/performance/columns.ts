import type { PerformanceFacts, PerformanceSet } from '#src/ports/rows.ts';

const CAPACITY_FIRST = 1_024;
/** No index. */
export const NONE = -1;

export type Dims = PerformanceSet['dims'];
export type Detail = PerformanceFacts[number];

/** One counted event, or the number of equal ones. `time` is a quarter hour, or a local day, since the epoch. */
export type Fact = {
  position: number;
  time: number;
  set: number;
  metric: number;
  country: number;
};

const grown = <Column extends Float64Array | Int32Array | Uint16Array | Uint8Array>(
  column: Column,
  capacity: number,
): Column => {
  const next = new (column.constructor as new (length: number) => Column)(capacity);
  next.set(column);
  return next;
};

/** Facts as columns, which only ever grow. */
export class Columns {
  length = 0;
  positions = new Float64Array(CAPACITY_FIRST);
  times = new Int32Array(CAPACITY_FIRST);
  sets = new Int32Array(CAPACITY_FIRST);
  metrics = new Uint8Array(CAPACITY_FIRST);
  countries = new Uint16Array(CAPACITY_FIRST);
  /** Numbers of surplus visits and amounts of money, by fact. */
  readonly details = new Map<number, Detail>();
  /** The dimensions of each set. */
  readonly dims: Dims[] = [];
  /** The fact before of the same set, NONE for the first one; and the last fact and the number of facts of each set. */
  #previous = new Int32Array(CAPACITY_FIRST);
  readonly #ofSet: { last: number; count: number }[] = [];

  get capacity(): number {
    return this.positions.length;
  }

  /** Adds a fact and returns its index. */
  push({ position, time, set, metric, country }: Fact): number {
    if (this.length === this.capacity) this.#grow();
    const index = this.length;
    this.positions[index] = position;
    this.times[index] = time;
    this.sets[index] = set;
    this.metrics[index] = metric;
    this.countries[index] = country;
    const own = (this.#ofSet[set] ??= { last: NONE, count: 0 });
    this.#previous[index] = own.last;
    own.last = index;
    own.count += 1;
    this.length += 1;
    return index;
  }

  /** The indexes of all facts of some sets; undefined if they are more than `max`. Costs by their number. */
  indexesOf(sets: readonly number[], max: number): Int32Array | undefined {
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

  #grow(): void {
    const capacity = 2 * this.capacity;
    this.positions = grown(this.positions, capacity);
    this.times = grown(this.times, capacity);
    this.sets = grown(this.sets, capacity);
    this.metrics = grown(this.metrics, capacity);
    this.countries = grown(this.countries, capacity);
    this.#previous = grown(this.#previous, capacity);
  }
}
