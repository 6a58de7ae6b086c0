import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aggregate } from '#src/performance/aggregate.ts';
import type { Query } from '#src/performance/calendar.ts';
import type { PerformanceRecord } from '../support/oracle/performance-records.ts';
import { seedOr } from '../support/seed.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { selectionOf } from '../support/oracle/facts.ts';
import { verifies } from '../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const UNIQUE = 2;
/** 2026-10-01, and 60 days later. */
const FROM = 20_727;
const TO = FROM + 60;

const query = (more: Partial<Query>): Query => ({
  from: FROM,
  to: TO,
  granularity: 'day',
  timeZone: 'UTC',
  groupBy: [],
  filters: {},
  ...more,
});
const uniquesBy = async (
  rows: PerformanceRecord[],
  input: Query,
): Promise<Record<string, number>> => {
  const uniques: Record<string, number> = {};
  for (const { group, sum } of await (await aggregate(selectionOf(rows), input)).all()) {
    const name = String(group[input.groupBy.indexOf('country')]);
    uniques[name] = (uniques[name] ?? 0) + (sum.counts[UNIQUE] ?? 0);
  }
  return uniques;
};
const totalOf = async (rows: PerformanceRecord[], input: Query) =>
  (await aggregate(selectionOf(rows), input)).total().counts;

/** Clicks of three links over two months, with few clicks in most countries. */
const clicks = fc.array(
  fc.record({
    day: fc.integer({ min: FROM, max: TO }),
    link: fc.integer({ min: 0, max: 2 }),
    country: fc.constantFrom('', 'GB', 'GB', 'GB', 'DE', 'DE', 'FR', 'MT'),
    quarter: fc.integer({ min: 0, max: 95 }),
  }),
  { maxLength: 40 },
);
const rowsOf = (generated: { day: number; link: number; country: string; quarter: number }[]) =>
  generated.map(
    ({ day, link, country, quarter }): PerformanceRecord => ({
      day,
      dims: { link_id: `lnk_${link}` },
      cells: { [`${quarter}|${country}`]: [1, 1, 1] },
    }),
  );

describe('The countries of a performance query', () => {
  it('The countries of a performance query are hidden by their visitors in the whole query, so that all groupings have equal sums', async () => {
    await fc.assert(
      fc.asyncProperty(clicks, async (generated) => {
        const rows = rowsOf(generated);
        const byCountry = query({ groupBy: ['country'], granularity: 'total' });
        const whole = await uniquesBy(rows, byCountry);
        const { other = 0, null: none = 0, ...named } = whole;
        for (const count of Object.values(named)) expect(count).toBeGreaterThanOrEqual(3);
        expect(none).toBe(generated.filter(({ country }) => country === '').length);
        for (const granularity of ['day', 'week', 'month'] as const) {
          expect(await uniquesBy(rows, { ...byCountry, granularity })).toEqual(whole);
          expect(
            await uniquesBy(rows, query({ granularity, groupBy: ['link_id', 'country'] })),
          ).toEqual(whole);
        }
        for (const country of ['GB', 'DE', 'FR', 'MT'])
          for (const granularity of ['day', 'week', 'month', 'total'] as const) {
            const filtered = query({ granularity, filters: { country } });
            expect((await totalOf(rows, filtered))[UNIQUE]).toBe(named[country] ?? 0);
            expect((await totalOf(rows, { ...filtered, groupBy: ['link_id'] }))[UNIQUE]).toBe(
              named[country] ?? 0,
            );
          }
        expect((await totalOf(rows, query({ filters: { country: 'other' } })))[UNIQUE]).toBe(other);
        expect(await totalOf(rows, byCountry)).toEqual(await totalOf(rows, query({})));
        const one = { link_id: 'lnk_1' };
        expect(await totalOf(rows, query({ filters: one, groupBy: ['country'] }))).toEqual(
          await totalOf(rows, query({ filters: one })),
        );
      }),
      { numRuns: 200, seed: seedOr(20_261_121) },
    );
  });
});

describe('getPerformance', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await testApp({ COUNTRY_HEADER: 'cf-ipcountry' });
    key = (await app.agent('acme')).key;
    await app.publish([feedProduct('MUG-1')]);
    const { body } = await app.send({
      method: 'POST',
      url: `${V1}/links`,
      key,
      payload: { target: { kind: 'product', ref: 'MUG-1' } },
      headers: { 'idempotency-key': freshKey() },
    });
    const visits = ['DE', 'DE', 'DE', 'FR', 'MT', 'MT'];
    for (const [i, country] of visits.entries()) {
      app.clock.advance(i === 2 ? 86_400_000 : 0);
      const headers = { 'user-agent': 'Mozilla/5.0 (X11) Chrome/140', 'cf-ipcountry': country };
      const url = `/l/${(body as { code: string }).code}`;
      await app.send({ method: 'GET', url, remoteAddress: `10.0.0.${i}`, headers });
    }
  });
  afterAll(() => app.close());

  const ask = (parameters: string) =>
    app.send({
      method: 'GET',
      url: `${V1}/performance?from=2026-11-20&to=2026-11-21&${parameters}`,
      key,
    });

  it('`getPerformance` counts countries with few visitors together under a name that filters accept', async () => {
    verifies('resources.performance');
    const { body } = await ask('group_by=country');
    const { data } = body as {
      data: { bucket_start: string; dimensions: { country: string }; metrics: object }[];
    };
    expect(data.map(({ bucket_start, dimensions }) => [bucket_start, dimensions.country])).toEqual([
      ['2026-11-20', 'DE'],
      ['2026-11-21', 'DE'],
      ['2026-11-21', 'other'],
    ]);
    expect(body).toMatchObject({ totals: { clicks_unique: 6 } });
    for (const granularity of ['day', 'week', 'month', 'total'])
      for (const [country, clicks_unique] of [
        ['DE', 3],
        ['MT', 0],
        ['other', 3],
      ] as const)
        expect(await ask(`country=${country}&granularity=${granularity}`)).toMatchObject({
          body: { totals: { clicks_unique } },
        });
    expect(await ask('country=others')).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/country' }] },
    });
  });
});
