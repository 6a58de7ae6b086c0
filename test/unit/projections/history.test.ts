import { expect, test } from 'vitest';
import { EVENTS } from '#contracts/events/index.ts';
import { history } from '#projections/history.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { BLOCK_POSITIONS, historyEntries } from '#src/ports/rows.ts';
import { happened, inLog, MIDNIGHT, rowsAfter } from '../../support/world/fold.ts';
import { erased, leadSubmitted, linkCreated, linkDisabled } from '../../support/world/stories.ts';

test('The history has the events of an owner in log order, in blocks of a fixed number of positions', () => {
  const given = [
    linkCreated('1'),
    happened('CodeClaimed', 'codes-code_1', { code: '1', link_id: 'lnk_1', owner_id: 'anna' }),
    leadSubmitted('1'),
    linkDisabled('1', MIDNIGHT + 7),
  ];
  const rows = rowsAfter(history, given);
  expect(Object.keys(rows)).toEqual(['anna/0']);
  const block = rows['anna/0']?.row;
  expect(block && historyEntries(block)).toEqual([
    { position: 1, revision: 0, type: 'LinkCreated', at: MIDNIGHT, stream: 'anna-link_1' },
    { position: 3, revision: 0, type: 'LeadSubmitted', at: MIDNIGHT, stream: 'anna-lead_1' },
    { position: 4, revision: 1, type: 'LinkDisabled', at: MIDNIGHT + 7, stream: 'anna-link_1' },
  ]);
});

test('The history keeps all events of a full block', () => {
  const given = Array.from({ length: BLOCK_POSITIONS - 1 }, (_, i) => leadSubmitted(String(i)));
  const block = rowsAfter(history, given)['anna/0']?.row;
  expect(block && historyEntries(block).map(({ stream }) => stream)).toEqual(
    given.map(({ stream }) => stream),
  );
});

test('The history starts a new block at the first position after the previous one', () => {
  const places = inLog([erased('lead_1'), erased('lead_1')], BLOCK_POSITIONS - 1).map(
    history.place,
  );
  expect(places).toEqual([
    { scope: 'anna', key: '0' },
    { scope: 'anna', key: '1' },
  ]);
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
    'ProductPublished',
    'ProductRevised',
    'ProductStockObserved',
    'ProductWithdrawn',
  ]);
});
