import { lowerBound } from '#src/ports/lower-bound.ts';

/** The radices of the number of a place. */
export const SETS_MAX = 2 ** 20;
export const COUNTRIES_MAX = 2 ** 10;
const METRICS_MAX = 2 ** 4;

export type SeriesPlace = { set: number; country: number; metric: number };

export const seriesName = ({ set, country, metric }: SeriesPlace): number =>
  (set * COUNTRIES_MAX + country) * METRICS_MAX + metric;

/** The counts of one place by local day: `sums[n]` is that of all days up to `days[n]`. */
export class Series {
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
