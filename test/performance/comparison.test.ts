/** A comparison counts each day with its counterpart in the earlier period, at any granularity. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getPerformance as contract } from '#contracts/performance/operations.ts';
import { type Metric, METRICS } from '#contracts/performance/records.ts';
import { getPerformance, type PerformanceDeps } from '#src/performance/get-performance.ts';
import { bucketOf, dateOf, dayOf } from '#src/performance/calendar.ts';
import type { PerformanceRecord } from '../support/oracle/performance-records.ts';
import { seedOr } from '../support/seed.ts';
import { factsOf } from '../support/oracle/facts.ts';

const ZONES = ['UTC', 'Pacific/Kiritimati', 'Pacific/Niue', 'Australia/Lord_Howe', 'Europe/London'];
const GRANULARITIES = ['day', 'week', 'month', 'total'] as const;
const GROUPS = [undefined, ['campaign'], ['country'], ['link_id', 'country']];
/** The range includes two leap days. */
const FIRST = dayOf('2023-01-01');
const LAST = dayOf('2029-12-31');

const ask = async (rows: readonly PerformanceRecord[], asked: object) => {
  const deps = {
    following: { asOf: () => ({ position: 1, at: 0 }) },
    facts: { read: async () => factsOf(rows) },
    classifierVersion: 1,
  };
  const input = contract.input.parse({ limit: 1_000, ...asked });
  const call = { caller: { ownerId: 'acme' }, at: 0 };
  const outcome = await getPerformance(deps as unknown as PerformanceDeps, input, call as never);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.value;
};

type Answer = Awaited<ReturnType<typeof ask>>;
type Row = Answer['data'][number];

const clicksOf = (metrics: { [Name in Metric]?: number | undefined } | undefined): number =>
  metrics?.clicks_raw ?? 0;
const compared = ({ data }: Answer): [string, number, number][] =>
  data.map((row) => [row.bucket_start, clicksOf(row.metrics), clicksOf(row.comparison)]);

/** Counts and amounts of one kind of all rows, as totals show them. */
const summed = (all: (Row['metrics'] | undefined)[]) => {
  const amounts = (name: 'rfq_value' | 'won_value') => {
    const sums = new Map<string, number>();
    for (const { amount, currency } of all.flatMap((one) => one?.[name] ?? []))
      sums.set(currency, (sums.get(currency) ?? 0) + amount);
    return [...sums].sort().map(([currency, amount]) => ({ amount, currency }));
  };
  const counts = METRICS.map((name) => [
    name,
    all.reduce((sum, one) => sum + (one?.[name] ?? 0), 0),
  ]);
  const values = { rfq_value: amounts('rfq_value'), won_value: amounts('won_value') };
  return { ...(Object.fromEntries(counts) as Record<Metric, number>), ...values };
};

const happenings = fc.record({
  ago: fc.integer({ min: -2, max: 800 }),
  quarter: fc.integer({ min: 0, max: 95 }),
  country: fc.constantFrom('', 'GB', 'GB', 'GB', 'DE', 'MT'),
  link: fc.constantFrom('lnk_a', 'lnk_b'),
  campaign: fc.constantFrom(undefined, 'spring', 'autumn'),
  amount: fc.integer({ min: 1, max: 900 }),
  currency: fc.constantFrom('GBP', 'EUR'),
});
type Happening = typeof happenings extends fc.Arbitrary<infer Made> ? Made : never;

const rowsOf = (generated: Happening[], to: number): PerformanceRecord[] =>
  generated.map(({ ago, quarter, country, link, campaign, amount, currency }) => {
    const cell = `${quarter}|${country}`;
    const dims = { link_id: link, ...(campaign !== undefined && { campaign }) };
    const rfq_value = { [cell]: { [currency]: amount } };
    return { day: to - ago, dims, cells: { [cell]: [3, 2, 1] }, rfq_value };
  });

const tenADay = (from: string, to: string): PerformanceRecord[] => {
  const rows: PerformanceRecord[] = [];
  for (let day = dayOf(from); day <= dayOf(to); day++)
    rows.push({ day, dims: { link_id: 'lnk_a' }, cells: { '48|GB': [10, 10, 10] } });
  return rows;
};

describe('A performance comparison', () => {
  it('A performance comparison contains rows that add up to its totals, which equal the totals of the earlier period', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(happenings, { maxLength: 40 }),
        fc.integer({ min: FIRST + 800, max: LAST }),
        fc.integer({ min: 1, max: 399 }),
        fc.constantFrom('previous_period', 'previous_year'),
        fc.constantFrom(...GROUPS),
        fc.constantFrom(...ZONES),
        async (generated, to, days, compare_to, group_by, time_zone) => {
          const rows = rowsOf(generated, to);
          const asked = { from: dateOf(to - days + 1), to: dateOf(to), group_by, time_zone };
          for (const granularity of GRANULARITIES) {
            const answer = await ask(rows, { ...asked, compare_to, granularity });
            const { data, totals, comparison_totals, comparison_period } = answer;
            expect(summed(data.map(({ comparison }) => comparison))).toEqual(comparison_totals);
            expect(summed(data.map(({ metrics }) => metrics))).toEqual(totals);
            const places = data.map((row) => JSON.stringify([row.bucket_start, row.dimensions]));
            expect(new Set(places).size).toBe(places.length);
            const then = await ask(rows, { ...asked, ...comparison_period });
            expect(comparison_totals).toEqual(then.totals);
            const starts = new Set<number>();
            for (let day = to - days + 1; day <= to; day++)
              starts.add(bucketOf(day, granularity, to - days + 1));
            for (const { bucket_start } of data) expect(starts).toContain(dayOf(bucket_start));
          }
        },
      ),
      { numRuns: 150, seed: seedOr(20_261_122) },
    ));

  it.each([
    ['week', '2026-10-24', '2026-11-22'],
    ['month', '2026-10-31', '2026-11-22'],
    ['month', '2026-03-01', '2026-03-31'],
    ['total', '2026-03-01', '2026-03-31'],
    ['day', '2024-02-28', '2024-03-01'],
  ])(
    'A performance comparison by %s from %s to %s compares equal numbers of days',
    async (granularity, from, to) => {
      const rows = tenADay('2023-01-01', '2026-12-31');
      const asked = { from, to, granularity, compare_to: 'previous_period' };
      for (const [, now, then] of compared(await ask(rows, asked))) expect(then).toBe(now);
    },
  );

  it('A performance comparison with the previous year compares the same dates, even in a leap year', async () => {
    const rows = tenADay('2023-01-01', '2028-12-31');
    const year = { compare_to: 'previous_year' };
    const weeks = { ...year, from: '2026-11-02', to: '2026-11-22', granularity: 'week' };
    expect(compared(await ask(rows, weeks)).map(([, ...both]) => both)).toEqual([
      [70, 70],
      [70, 70],
      [70, 70],
    ]);
    const leap = { ...year, from: '2024-02-28', to: '2024-03-01' };
    expect(compared(await ask(rows, leap))).toEqual([
      ['2024-02-28', 10, 10],
      ['2024-02-29', 10, 0],
      ['2024-03-01', 10, 10],
    ]);
    const after = { ...year, from: '2025-02-28', to: '2025-03-01' };
    expect(compared(await ask(rows, after))).toEqual([
      ['2025-02-28', 10, 20],
      ['2025-03-01', 10, 10],
    ]);
    const alone = { ...year, from: '2024-02-29', to: '2024-02-29' };
    expect(compared(await ask(rows, alone))).toEqual([['2024-02-29', 10, 10]]);
  });
});
