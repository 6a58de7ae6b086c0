/** Facts of performance, made from rows of a store or from counts, without a service. */
import { type FactSelection, OwnerFacts, FactsCache } from '#src/performance/facts.ts';
import { METRIC, performance } from '#projections/performance.ts';
import type { ListQuery, ReadModels } from '#src/ports/read-model.ts';
import { TAIL_SORT, VALUES_PER_FACT } from '#src/ports/performance-rows.ts';
import type { PerformanceRecord } from './performance-records.ts';
import { type Given, rowsAfter } from '../world/fold.ts';

type Stored = { row: object; sort: number | null };

/** Read models with the rows of one projection and scope. */
export const readModelsWith = (rows: readonly Stored[]): ReadModels =>
  ({
    get: async () => rows.find(({ sort }) => sort === TAIL_SORT)?.row,
    list: async (_name: string, { before = Infinity, downTo = 0, limit }: ListQuery) =>
      rows
        .flatMap(({ row, sort }) => (sort === null ? [] : [{ row, sort, key: String(sort) }]))
        .filter(({ sort }) => sort < before && sort >= downTo)
        .toSorted((a, b) => b.sort - a.sort)
        .slice(0, limit),
  }) as unknown as ReadModels;

/** Folds events of `anna` and reads the facts back as a reader does. */
export const factsAfter = (given: readonly Given[]): Promise<OwnerFacts> =>
  new FactsCache().read(readModelsWith(Object.values(rowsAfter(performance, given))), 'anna');

const QUARTERS = 96;

/** Facts that count the same as such records. */
export const factsOf = (records: readonly PerformanceRecord[]): OwnerFacts => {
  const facts = new OwnerFacts();
  for (const [set, { dims, day, cells, rfq_value, won_value }] of records.entries()) {
    facts.dims[set] = dims;
    for (const [cell, counts] of Object.entries(cells)) {
      const [quarter = '', country = ''] = cell.split('|');
      const at = day * QUARTERS + Number(quarter);
      const add = (metric: number, detail: string | number | (string | number)[]): void => {
        const fact = [facts.length + 1, at, set, metric, detail];
        if (fact.length !== VALUES_PER_FACT) throw new Error('not a fact');
        facts.add(fact, facts.length);
      };
      const money = (sums: Record<string, number> = {}) =>
        Object.entries(sums).flatMap(([currency, amount]) => [amount, currency]);
      const [raw = 0, valid = 0, unique = 0, ...others] = counts;
      for (let n = 0; n < raw; n += 1)
        add(n < unique ? METRIC.clicks_unique : n < valid ? METRIC.clicks_valid : 0, country);
      for (const [index, count] of others.entries())
        for (let n = 0; n < count; n += 1) add(index + 3, country);
      if (rfq_value?.[cell]) add(METRIC.rfqs_taken_up, money(rfq_value[cell]));
      if (won_value?.[cell]) add(METRIC.leads_won, money(won_value[cell]));
    }
  }
  return facts;
};

/** All facts, one by one. */
export const allOf = (facts: OwnerFacts): FactSelection => {
  const { length, countryNames, chains } = facts;
  return { facts, length, countryNames, chains, isByDay: false };
};

export const selectionOf = (records: readonly PerformanceRecord[]): FactSelection =>
  allOf(factsOf(records));
