import type { Dimension } from '#contracts/performance/performance.records.ts';
import { eventLoopTurns, inTurns } from '#src/shared/turns.ts';
import type { Query } from './buckets.ts';
import { calendarOf } from './calendar.ts';
import { Columns, type Dims, type FactSelection, NONE, type FactChains } from './columns.ts';
import { matcherOf, restrictDims, valueOf } from './dimensions.ts';
import { type SeriesPlace, Series, seriesName } from './series.ts';

/** A day of a series, in two arrays that grow by half. */
const BYTES_PER_DAY = 24;
/** A series without its days, with its entry in the Map. */
const BYTES_PER_SERIES = 300;
const QUARTERS = 96;
const ROLL_UP_SLICE = 8_192;
/** More than the days since the epoch of any event. */
const DAYS_MAX = 2 ** 17;

export type FactSource = Columns & {
  readonly countryNames: readonly string[];
  readonly chains: FactChains;
};

/** The facts of an owner summed by local day, as one series for each set of some dimensions, country and metric. */
export class RollUp {
  readonly #source: FactSource;
  readonly #localDays: (utcDay: number) => (quarter: number) => number;
  readonly #dimensions: readonly Dimension[];
  /** All countries are one where no question names countries. */
  readonly #hasCountries: boolean;
  readonly #byName = new Map<number, Series>();
  /** By set: its dimensions, its series, and its facts with amounts, which are not summed. */
  readonly #dims: Dims[] = [];
  readonly #series: Series[][] = [];
  readonly #amounts: number[][] = [];
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
      for (const index of this.#amounts[of] ?? []) {
        const day = this.#dayAt(index);
        if (index >= upTo || day < query.from || day > query.to) continue;
        cells.details.set(cells.length, this.#source.details.get(index) ?? 0);
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
      if (day < from || day > to || this.#hasAmounts(at)) continue;
      const name =
        seriesName(this.#placeOf(at)) * DAYS_MAX + (granularity === 'total' ? from : day);
      counts.set(name, (counts.get(name) ?? 0) + this.#countOf(at));
    }
    return counts;
  }

  /** The sets that pass the filters. Costs by the number of all sets, unless each dimension has a filter. */
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
    const place = this.#placeOf(index);
    if (this.#hasAmounts(index)) {
      (this.#amounts[place.set] ??= []).push(index);
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

  #placeOf(index: number): SeriesPlace {
    const { sets, metrics, countries } = this.#source;
    return {
      set: this.#set(sets[index] ?? 0),
      country: this.#hasCountries ? (countries[index] ?? 0) : 0,
      metric: metrics[index] ?? 0,
    };
  }

  #hasAmounts(index: number): boolean {
    return Array.isArray(this.#source.details.get(index));
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
    const known = this.#setOf[set];
    if (known !== undefined) return known;
    const dims = this.#source.dims[set] ?? {};
    const name = this.#nameOf((dimension) => valueOf(dims, dimension));
    let id = this.#setIds.get(name);
    if (id === undefined) {
      id = this.#dims.push(restrictDims(dims, this.#dimensions)) - 1;
      this.#setIds.set(name, id);
    }
    this.#setOf[set] = id;
    return id;
  }

  #nameOf(value: (dimension: Dimension) => string | null): string {
    return JSON.stringify(
      this.#dimensions.map((name) => (name === 'country' ? null : value(name))),
    );
  }
}
