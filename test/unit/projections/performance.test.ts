import { describe, expect, test } from 'vitest';
import { METRICS } from '#contracts/records/performance.ts';
import type { DayCounts } from '#projections/performance.ts';
import { CELL, DAY_SORT, performance, performanceFold } from '#projections/performance.ts';
import type { Given } from '../../support/world/fold.ts';
import {
  happened,
  inLog,
  MIDNIGHT,
  QUARTER_MS,
  rowsAfter,
  TODAY,
} from '../../support/world/fold.ts';
import {
  DIMS,
  erased,
  handoffCreated,
  handoffNamed,
  leadNamed,
  leadSubmitted,
  linkCreated,
  rfqSubmitted,
  visit,
} from '../../support/world/stories.ts';

const DAY_MS = 96 * QUARTER_MS;
const rowOf = (given: Given[], key: string): DayCounts | undefined =>
  rowsAfter(performance, given)[`anna/${TODAY}/${key}`]?.row;
const only = (given: Given[]): DayCounts => {
  const rows = Object.values(rowsAfter(performance, given));
  expect(rows).toHaveLength(1);
  return rows[0]?.row as DayCounts;
};

describe('The read model of performance', () => {
  test('counts in the order of METRICS', () => {
    expect(Object.keys(CELL)).toEqual([...METRICS]);
    expect(Object.values(CELL)).toEqual(METRICS.map((_, i) => i));
  });

  test('has a row for each day and link, with the dimensions of its events', () => {
    const given = [
      linkCreated('1'),
      visit('1', 'v1', { country: 'DE' }, MIDNIGHT + 5 * QUARTER_MS),
      visit('1', 'v1', { country: 'DE' }, MIDNIGHT + DAY_MS - 1),
      visit('1', 'v1', {}, MIDNIGHT + DAY_MS),
    ];
    const dims = { agent_id: 'agt_1', ...DIMS, link_id: 'lnk_1' };
    expect(rowsAfter(performance, given)).toEqual({
      [`anna/${TODAY}/lnk_1`]: {
        row: {
          day: TODAY,
          sort: TODAY * DAY_SORT + 2,
          dims,
          cells: { '5|DE': [1, 1, 1], '95|DE': [1, 1] },
          visitors: ['v1'],
        },
        sort: TODAY * DAY_SORT + 2,
      },
      [`anna/${TODAY + 1}/lnk_1`]: {
        row: {
          day: TODAY + 1,
          sort: (TODAY + 1) * DAY_SORT + 4,
          dims,
          cells: { '0|': [1, 1, 1] },
          visitors: ['v1'],
        },
        sort: (TODAY + 1) * DAY_SORT + 4,
      },
    });
  });

  test('counts summed visits as raw and surplus, and not as valid or unique', () => {
    const summed = happened(
      'VisitsSummed',
      'anna-visits_1.p.0',
      { link_id: 'lnk_1', agent_id: 'agt_1', dims: DIMS, visits: 500 },
      MIDNIGHT,
    );
    const rows = Object.values(
      rowsAfter(performance, [visit('1', 'v1', {}, MIDNIGHT), summed, summed]),
    );
    expect(rows.map(({ row }) => row['cells'])).toEqual([
      { '0|': [1001, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1000] },
    ]);
  });

  test('counts every click as raw, clicks without signals as valid, and each visitor once for each link and day', () => {
    const visitors = ['m', 'a', 'z', 'm', 'b', 'a', 'z'];
    const row = only([
      ...visitors.map((visitor) => visit('1', visitor)),
      visit('1', 'bot', { signals: ['bot'] }),
      visit('1', 'n', { signals: [] }),
    ]);
    expect(row.cells).toEqual({ '0|': [9, 8, 5] });
    expect(row.visitors).toEqual(['a', 'b', 'm', 'n', 'z']);
    expect(rowOf([visit('1', 'v'), visit('2', 'v')], 'lnk_2')?.cells).toEqual({ '0|': [1, 1, 1] });
  });

  test('counts a visitor whose first visit had a signal', () => {
    const row = only([visit('1', 'v', { signals: ['head'] }), visit('1', 'v')]);
    expect(row.cells).toEqual({ '0|': [2, 1, 1] });
  });

  test('keeps any number of cells', () => {
    const given = Array.from({ length: 96 }, (_, i) =>
      visit('1', 'v', { country: i % 2 ? 'GB' : 'DE' }, MIDNIGHT + i * QUARTER_MS),
    );
    const { cells } = only(given);
    expect(Object.keys(cells)).toHaveLength(96);
    expect(cells['95|GB']).toEqual([1, 1]);
  });

  test('counts the outcomes of a handoff, and its totals for each currency', () => {
    const row = only([
      handoffCreated('1', { link_id: 'lnk_9' }),
      happened('HandoffOpenedByBuyer', 'handoff_1', handoffNamed('1')),
      happened('HandoffDeclinedByBuyer', 'handoff_1', handoffNamed('1')),
      rfqSubmitted('1', [
        { amount: 7, currency: 'EUR' },
        { amount: 500, currency: 'GBP' },
      ]),
      rfqSubmitted('1', [{ amount: 3, currency: 'EUR' }]),
    ]);
    expect(row.dims).toEqual({ agent_id: 'agt_1', ...DIMS, link_id: 'lnk_9', handoff_id: 'hnd_1' });
    expect(row.cells).toEqual({ '0|': [0, 0, 0, 1, 1, 1, 2] });
    expect(row.rfq_value).toEqual({ '0|': { EUR: 10, GBP: 500 } });
    expect(row).not.toHaveProperty('won_value');
  });

  test('counts leads with their dimensions, and keeps different sources in different rows', () => {
    const value = { amount: 900, currency: 'GBP' };
    const given = [
      leadSubmitted('1'),
      leadSubmitted('2'),
      happened('LeadAccepted', 'lead_1', leadNamed('1')),
      happened('LeadQualified', 'lead_1', leadNamed('1')),
      happened('LeadWon', 'lead_1', { ...leadNamed('1'), value }),
      happened('LeadWon', 'lead_2', leadNamed('2'), MIDNIGHT + QUARTER_MS),
    ];
    const row = only(given);
    expect(row.dims).toEqual({ agent_id: 'agt_1', ...DIMS });
    expect(row.cells).toEqual({
      '0|': [0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1],
      '1|': [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    });
    expect(row.won_value).toEqual({ '0|': { GBP: 900 } });
    const apart = [
      leadSubmitted('1'),
      leadSubmitted('2', { agent_id: 'agt_2' }),
      leadSubmitted('3', { link_id: 'lnk_1' }),
      leadSubmitted('4', { handoff_id: 'hnd_1' }),
      leadSubmitted('5', { dims: { campaign: 'spring' } }),
      linkCreated('1'),
      handoffCreated('1'),
    ];
    expect(Object.keys(rowsAfter(performance, apart))).toHaveLength(6);
  });

  test('sorts rows by day, then by first event, without equal sort values', () => {
    const given = [visit('1', 'v', {}, MIDNIGHT + DAY_MS), visit('2', 'v'), visit('3', 'v')];
    const sorts = Object.values(rowsAfter(performance, given)).map(({ sort }) => sort ?? 0);
    expect(sorts.toSorted((a, b) => a - b)).toEqual([
      TODAY * DAY_SORT + 2,
      TODAY * DAY_SORT + 3,
      (TODAY + 1) * DAY_SORT + 1,
    ]);
    expect(Number.isSafeInteger(65_000 * DAY_SORT + DAY_SORT - 1)).toBe(true);
  });

  test('folds the events of an owner to the same rows in one batch', () => {
    const given = [
      linkCreated('1'),
      visit('1', 'v1', { country: 'DE' }),
      erased('lead_1'),
      visit('1', 'v2'),
    ];
    const expected = Object.values(rowsAfter(performance, given)).map(({ row }) => row);
    const fold = performanceFold();
    for (const event of inLog(given)) fold.take(event);
    expect(JSON.parse(JSON.stringify(fold.rows()))).toEqual(expected);
  });
});
