import { describe, expect, test } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { knownContacts } from '#src/leads/claims.decider.ts';
import {
  mailboxRequests,
  type MailboxState,
  suppressedSince,
} from '#src/sealing/mailbox.decider.ts';

type Request = EventData<'PrivacyRequestRecorded'>;

const KEYS = { address: '1.a', mailbox: '1.m' };

/** The state after requests, the first of them at 1 and each 1 ms after the one before. */
const after = (...requests: Partial<Request>[]): MailboxState => {
  const states = requests.reduce<MailboxState | undefined>((state, request, index) => {
    const data = { mailbox_keys: KEYS, action: 'withdraw', ...request };
    const decision = mailboxRequests.decide(state, { type: 'RecordRequest', request: data });
    expect(decision).toEqual({
      accepted: true,
      events: [{ type: 'PrivacyRequestRecorded', data }],
    });
    return mailboxRequests.evolve(state, { type: 'PrivacyRequestRecorded', data, at: index + 1 });
  }, undefined);
  if (!states) throw new Error('no request');
  return states;
};
const sinceFor = (owner: string, ...requests: Partial<Request>[]): number | undefined =>
  suppressedSince(after(...requests).suppression, owner);

const ALL = { suppress: {} };
const ACME = { suppress: { owner_id: 'acme' } };
const LIFT_ALL = { lift: {} };
const LIFT_ACME = { lift: { owner_id: 'acme' } };

describe('The refusal of contact', () => {
  test.each<[string, Partial<Request>[], number | undefined, number | undefined]>([
    ['does not follow from an export', [{ action: 'export' }], undefined, undefined],
    ['by all owners binds each', [ALL], 1, 1],
    ['by one owner binds no other', [ACME], 1, undefined],
    ['stays after a request of another kind', [ALL, { action: 'find' }], 1, 1],
    ['ends for all owners', [ALL, ACME, LIFT_ALL], undefined, undefined],
    ['ends for one owner', [ACME, LIFT_ACME], undefined, undefined],
    ['by all owners can end for one', [ALL, LIFT_ACME], undefined, 1],
    ['by one owner comes back after it ended', [ALL, LIFT_ACME, ACME], 3, 1],
    ['by all owners binds an exempt owner again', [ALL, LIFT_ACME, ALL], 3, 3],
    [
      'by one owner leaves others exempt',
      [ALL, { lift: { owner_id: 'beta' } }, ACME],
      3,
      undefined,
    ],
  ])('The refusal of contact %s', (_name, requests, acme, beta) => {
    expect([sinceFor('acme', ...requests), sinceFor('beta', ...requests)]).toEqual([acme, beta]);
  });

  test('The refusal of contact keeps the newest request, which a repeated call continues', () => {
    expect(after(ALL, { action: 'erase', records: [] }).request).toMatchObject({
      action: 'erase',
      records: [],
    });
  });
});

describe('The known contacts of an agent on a day', () => {
  const known = (lead_id: string, address = '1.a') => ({ agent_id: 'agt_1', lead_id, address });
  const count = (state: ReadonlySet<string> | undefined, one: ReturnType<typeof known>, max = 2) =>
    knownContacts.decide(state, { type: 'CountKnown', known: one, max });
  const counted = (...all: ReturnType<typeof known>[]) =>
    all.reduce<ReadonlySet<string> | undefined>(
      (state, data) => knownContacts.evolve(state, { type: 'KnownContactSubmitted', data, at: 1 }),
      undefined,
    );

  test('The known contacts of an agent on a day are counted once for each lead and address', () => {
    expect(count(counted(known('led_1')), known('led_1'))).toEqual({ accepted: true, events: [] });
    for (const other of [known('led_2'), known('led_1', '1.b')])
      expect(count(counted(known('led_1')), other)).toEqual({
        accepted: true,
        events: [{ type: 'KnownContactSubmitted', data: other }],
      });
  });

  test('The known contacts of an agent on a day are refused beyond the limit, except for one that was counted', () => {
    const full = counted(known('led_1'), known('led_2'));
    expect(count(full, known('led_3'))).toMatchObject({ reason: 'limit_reached' });
    expect(count(full, known('led_2'))).toEqual({ accepted: true, events: [] });
    expect(count(full, known('led_3'), 3)).toMatchObject({ accepted: true });
  });
});
