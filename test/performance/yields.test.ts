import { describe, expect, it } from 'vitest';
import { aggregate } from '#src/performance/aggregate.ts';
import { inOrder, type Query } from '#src/performance/calendar.ts';
import type { PerformanceRecord } from '../support/oracle/performance-records.ts';
import { selectionOf } from '../support/oracle/facts.ts';

const query: Query = {
  from: 20_000,
  to: 20_399,
  granularity: 'day',
  timeZone: 'Europe/London',
  groupBy: ['link_id', 'country'],
  filters: {},
};

/** Counts the turns of the event loop during `work`. */
const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0;
  let working = true;
  const count = (): void => {
    turns += 1;
    if (working) setImmediate(count);
  };
  setImmediate(count);
  await work();
  working = false;
  return turns;
};

describe('A long performance query', () => {
  const rows = selectionOf(
    Array.from(
      { length: 200_000 },
      (_, n): PerformanceRecord => ({
        day: 20_000 + (n % 400),
        dims: { link_id: `lnk_${n % 499}` },
        cells: { [`${n % 96}|GB`]: [1, 1, 1] },
      }),
    ),
  );

  it('A long performance query yields to other callbacks of the event loop', async () => {
    const buckets = await (await aggregate(rows, query)).all();
    // Both need more than a few milliseconds on any machine.
    expect(await turnsDuring(() => aggregate(rows, query))).toBeGreaterThanOrEqual(3);
    expect(await turnsDuring(() => inOrder(buckets, query))).toBeGreaterThanOrEqual(1);
    const report = await aggregate(rows, query);
    expect(await turnsDuring(() => report.inOrder())).toBeGreaterThanOrEqual(1);
  });
});
