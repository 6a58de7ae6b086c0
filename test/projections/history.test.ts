import { expect, test } from 'vitest';
import { EVENTS } from '#contracts/registries/events.ts';
import { history } from '#projections/audits.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { EVENTS_PER_HISTORY_ROW, historyEntries } from '#src/ports/rows.ts';
import { happened, MIDNIGHT, rowsAfter } from '../support/world/fold.ts';
import { leadSubmitted, linkCreated, linkDisabled } from '../support/world/stories.ts';

test('The history has the events of an owner in log order', () => {
  const given = [
    linkCreated('1'),
    happened('CodeClaimed', 'codes-code_1', { code: '1', link_id: 'lnk_1', owner_id: 'anna' }),
    leadSubmitted('1'),
    linkDisabled('1', MIDNIGHT + 7),
  ];
  const rows = rowsAfter(history, given);
  expect(Object.keys(rows)).toEqual(['anna/newest']);
  const { row, sort } = rows['anna/newest'] ?? {};
  expect(sort).toBeNull();
  expect(row && historyEntries(row)).toEqual([
    { position: 1, revision: 0, type: 'LinkCreated', at: MIDNIGHT, stream: 'anna-link_1' },
    { position: 3, revision: 0, type: 'LeadSubmitted', at: MIDNIGHT, stream: 'anna-lead_1' },
    { position: 4, revision: 1, type: 'LinkDisabled', at: MIDNIGHT + 7, stream: 'anna-link_1' },
  ]);
});

test('A row of the history that has its number of events is listed by its first position', () => {
  const given = Array.from({ length: 2 * EVENTS_PER_HISTORY_ROW + 1 }, (_, i) =>
    leadSubmitted(String(i)),
  );
  const rows = rowsAfter(history, given);
  const placed = Object.entries(rows).map(([place, { row, sort }]) => {
    const positions = historyEntries(row).map(({ position }) => position);
    return [place, sort, positions[0], positions.length];
  });
  expect(placed.toSorted()).toEqual([
    ['anna/16', 1, 1, 16],
    ['anna/32', 17, 17, 16],
    ['anna/newest', null, 33, 1],
  ]);
  const streams = Object.values(rows).flatMap(({ row }) => historyEntries(row));
  expect(streams.map(({ stream }) => stream).toSorted()).toEqual(
    given.map(({ stream }) => stream).toSorted(),
  );
});

test('The projections have different names, and together fold each event type except the listed ones', () => {
  expect(new Set(PROJECTIONS.map(({ name }) => name)).size).toBe(PROJECTIONS.length);
  const handled = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
  const passedOver = Object.keys(EVENTS).filter(
    (type) => !handled.has(type as keyof typeof EVENTS),
  );
  expect(passedOver.toSorted()).toEqual([
    'CodeClaimed',
    'LeadClaimReleased',
    'LeadClaimed',
    'MailboxBlocked',
    'MailboxMailed',
    'PersonClaimed',
    'ProductPublished',
    'ProductRevised',
    'ProductStockObserved',
    'ProductWithdrawn',
  ]);
});
