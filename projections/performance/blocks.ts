/** Chunks of facts as one block of columns. */
import { packNumbers } from '#src/ports/packed-numbers.ts';
import {
  type PerformanceBlock,
  type PerformanceFacts,
  VALUES_PER_FACT,
} from '#src/ports/performance-rows.ts';

/** Makes a block of chunks in log order; `last` is the number of the last one. */
export const blockOf = (last: number, chunks: readonly PerformanceFacts[]): PerformanceBlock => {
  const positions: number[] = [];
  const quarters: number[] = [];
  const sets: number[] = [];
  const metrics: number[] = [];
  const countries: number[] = [];
  const names: string[] = [''];
  const details: PerformanceBlock['details'] = [];
  for (const facts of chunks) {
    let position = 0;
    let quarter = 0;
    for (let at = 0; at < facts.length; at += VALUES_PER_FACT) {
      const detail = facts[at + 4] ?? 0;
      const name = typeof detail === 'string' ? detail : '';
      if (!names.includes(name)) names.push(name);
      if (typeof detail !== 'string' && detail !== 0) details.push([positions.length, detail]);
      positions.push((position += facts[at] as number));
      quarters.push((quarter += facts[at + 1] as number));
      sets.push(facts[at + 2] as number);
      metrics.push(facts[at + 3] as number);
      countries.push(names.indexOf(name));
    }
  }
  const [position = 0] = positions;
  const quarter = quarters.reduce((least, one) => Math.min(least, one), Infinity);
  return {
    last,
    position,
    positions: packNumbers(positions.map((one) => one - position)),
    quarter,
    quarters: packNumbers(quarters.map((one) => one - quarter)),
    sets: packNumbers(sets),
    metrics: packNumbers(metrics),
    names,
    countries: packNumbers(countries),
    details,
  };
};
