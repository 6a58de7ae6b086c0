import {
  COUNTRY_UNIQUES_MIN,
  METRICS,
  OTHER_COUNTRIES,
} from '#contracts/performance/performance.records.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';
import type { Query } from './buckets.ts';
import { calendarOf } from './calendar.ts';
import { type Dims, type FactSelection, NONE, SLICE } from './columns.ts';
import { matcherOf, valueOf } from './dimensions.ts';

const UNIQUE = METRICS.indexOf('clicks_unique');
const QUARTERS = 96;

/** The index of the bucket of each time of the period, by its number since `first`; and when each bucket starts. */
export type Times = { first: number; buckets: Int32Array; starts: number[] };

/** `isByDay`: the times are local days, and otherwise quarter hours. */
export const timesOf = (
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

/** The group of each set of dimensions, and the values of each group; sets that a filter excludes have none. */
export type Groups = { ofSet: Int32Array; values: (string | null)[][] };

export const groupsOf = (dims: readonly Dims[], { groupBy, filters }: Query): Groups => {
  const isMatch = matcherOf(filters);
  const ids = new Map<string | null | undefined, number>();
  const values: Groups['values'] = [];
  const ofSet = new Int32Array(dims.length).fill(NONE);
  for (const [set, one] of dims.entries()) {
    if (!isMatch(one)) continue;
    const group = groupBy.map((dimension) => valueOf(one, dimension));
    const key = group.length > 1 ? JSON.stringify(group) : group[0];
    let id = ids.get(key);
    if (id === undefined) {
      id = values.push(group) - 1;
      ids.set(key, id);
    }
    ofSet[set] = id;
  }
  return { ofSet, values };
};

/** Calls `act` with ranges of the facts, and lets other requests run between them. */
export const inSlices = async (
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

export const countriesOf = async (
  selection: FactSelection,
  times: Times,
  { groups, query }: { groups: Groups; query: Query },
): Promise<Countries> => {
  const { countryNames } = selection;
  const { country: wanted } = query.filters;
  const isGroup = query.groupBy.includes('country');
  if (wanted === undefined && !isGroup)
    return { classes: new Int32Array(countryNames.length), names: [''] };
  const hidden = await hiddenCountries(selection, times, groups);
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
  { ofSet }: Groups,
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
