/* What each command does in each status of a handoff, and the exact events and states. */
import { describe, expect, it } from 'vitest';
import type { EventData, Happened, HandoffEventType } from '#contracts/registries/events.ts';
import {
  isSameQuantities,
  isSameTotals,
  withNews,
  type HandoffState,
  handoff,
  type HandoffCommand,
} from '#src/handoffs/handoff.decider.ts';
import { asStored } from '../support/world/decider-spec.ts';

const EXPIRY = 10_000;
const MUG = {
  line_id: '1',
  product_id: 'prd_1',
  sku: 'MUG',
  title: 'Mug',
  product_revision: 0,
  quantity: 2,
  unit_price: 100,
  tier_min_quantity: 1,
  category: 'Mugs',
  currency: 'GBP',
};
const LIST: EventData<'HandoffCreated'> = {
  handoff_id: 'hnd_1',
  agent_id: 'agt_1',
  link_id: 'lnk_1',
  title: 'List',
  locale: 'en',
  dims: { campaign: 'autumn' },
  buyer: { email: 's1.hnd_1.x', company: 'Shop' },
  lines: [MUG],
  totals: [{ amount: 200, currency: 'GBP' }],
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: EXPIRY,
  window_days: 30,
};
const HANDOFF = {
  handoff_id: 'hnd_1',
  agent_id: 'agt_1',
  dims: { campaign: 'autumn' },
  link_id: 'lnk_1',
};

type Event = Happened<HandoffEventType>;
const event = (type: HandoffEventType, data: object): Event => ({ type, data, at: 2 }) as Event;
const created: Event = { type: 'HandoffCreated', data: LIST, at: 1 };
const sent = event('RfqSubmittedByBuyer', {
  ...HANDOFF,
  list_revision: 1,
  totals: LIST.totals,
  contact: 's1.hnd_1.c',
  contact_subject: 'con_1_1',
  mailbox_keys: { address: '1.a', mailbox: '1.m' },
  confirmation: { number: 1, token_hash: 'c', until: 50_000 },
  consent_text: 'I ask',
  seen: { named: 'nobody', created_at: 1 },
});
const confirmed = event('RfqConfirmedByBuyer', {
  ...HANDOFF,
  totals: LIST.totals,
  lines: [],
  mailbox: '1.m',
  submitted_at: 2,
});
const erased = event('SubjectErased', { subject: 'hnd_1', reason: 'Asked' });
const foldEvents = (...events: Event[]): HandoffState | undefined =>
  events.reduce<HandoffState | undefined>(handoff.evolve, undefined);
const HANDOFFS = {
  none: undefined,
  awaiting: foldEvents(created),
  review: foldEvents(created, event('HandoffOpenedByBuyer', HANDOFF)),
  sent: foldEvents(created, sent, confirmed),
  declined: foldEvents(
    created,
    event('HandoffDeclinedByBuyer', { ...HANDOFF, sealed_reason: 's' }),
  ),
  withdrawn: foldEvents(
    created,
    event('HandoffWithdrawn', { handoff_id: 'hnd_1', sealed_reason: 's' }),
  ),
  invalidated: foldEvents(
    created,
    event('HandoffInvalidated', { handoff_id: 'hnd_1', sealed_reason: 'o' }),
  ),
  erased: foldEvents(created, erased),
};

const revision = {
  type: 'ReviseList' as const,
  at: 5,
  listRevision: 1,
  limits: { revisions: 3, lines: 9 },
  lines: [{ ...MUG, quantity: 3 }],
  totals: [{ amount: 300, currency: 'GBP' }],
};
const COMMANDS: Record<string, HandoffCommand> = {
  create: { type: 'CreateHandoff', handoff: LIST },
  open: { type: 'OpenHandoff', at: 5 },
  revise: revision,
  decline: { type: 'DeclineHandoff', at: 5 },
  send: {
    type: 'SubmitRfq',
    at: 5,
    listRevision: 1,
    contact: 's1.hnd_1.c',
    contactSubject: 'con_1_1',
    mailboxKeys: { address: '1.a', mailbox: '1.m' },
    seen: { named: 'nobody' },
    confirmation: { tokenHash: 'c', until: 50_000 },
    consentText: 'I ask',
    lines: [MUG],
    totals: LIST.totals,
    shown: LIST.totals,
    news: [],
  },
  withdraw: { type: 'WithdrawHandoff', at: 5, sealedReason: 'w' },
  invalidate: { type: 'InvalidateHandoff', at: 5, sealedReason: 'i' },
  erase: { type: 'EraseSubject', subject: 'hnd_1', reason: 'Asked' },
};
type Name = keyof typeof HANDOFFS;
const decide = (name: Name, command: string, over: object = {}) =>
  handoff.decide(HANDOFFS[name], { ...COMMANDS[command], ...over } as HandoffCommand);

/** The commands that append an event in each status, and those that are accepted without one. */
const ACCEPTED: Record<Name, { appends: string; repeats: string }> = {
  none: { appends: 'create', repeats: '' },
  awaiting: { appends: 'open revise decline send withdraw invalidate erase', repeats: '' },
  review: { appends: 'revise decline send withdraw invalidate erase', repeats: 'open' },
  sent: { appends: 'erase', repeats: 'send' },
  declined: { appends: 'erase', repeats: 'decline' },
  withdrawn: { appends: 'erase', repeats: 'withdraw' },
  invalidated: { appends: 'erase', repeats: 'invalidate' },
  erased: { appends: '', repeats: 'withdraw erase' },
};

describe('The table of a handoff', () => {
  it.each(Object.entries(ACCEPTED))(
    'A handoff accepts exactly these commands when it is %s',
    (name, row) => {
      const verdicts = Object.keys(COMMANDS).map((command) => {
        const decided = decide(name as Name, command);
        return [command, decided.accepted ? decided.events.length : decided.reason] as const;
      });
      const of = (count: number) => verdicts.filter(([, verdict]) => verdict === count);
      expect(
        of(1)
          .map(([command]) => command)
          .join(' '),
      ).toBe(row.appends);
      expect(
        of(0)
          .map(([command]) => command)
          .join(' '),
      ).toBe(row.repeats);
    },
  );

  it('A handoff says why a command is rejected', () => {
    const cases: [Name, string, object, string, string][] = [
      ['awaiting', 'create', {}, 'handoff_exists', 'handoff hnd_1 exists'],
      ['none', 'open', {}, 'handoff_unknown', 'no such handoff'],
      ['awaiting', 'open', { at: EXPIRY }, 'handoff_expired', 'the handoff has expired'],
      ['sent', 'withdraw', {}, 'handoff_closed', 'the handoff is rfq_submitted'],
      ['awaiting', 'revise', { listRevision: 2 }, 'list_changed', 'the list is now at revision 1'],
      [
        'awaiting',
        'revise',
        { limits: { revisions: 0, lines: 9 } },
        'too_many_revisions',
        'the list was changed as often as it can be',
      ],
      [
        'awaiting',
        'send',
        { shown: [] },
        'totals_changed',
        'the totals of the list differ from those that were shown',
      ],
    ];
    for (const [name, command, over, reason, detail] of cases)
      expect(decide(name, command, over)).toEqual({ accepted: false, reason, detail });
  });

  it("A handoff's commands write exactly these events", () => {
    const { link_id: _link, ...unlinked } = HANDOFF;
    const cases: [string, object, HandoffEventType, object][] = [
      ['open', {}, 'HandoffOpenedByBuyer', HANDOFF],
      ['decline', {}, 'HandoffDeclinedByBuyer', HANDOFF],
      [
        'decline',
        { sealedReason: 's' },
        'HandoffDeclinedByBuyer',
        { ...HANDOFF, sealed_reason: 's' },
      ],
      ['withdraw', {}, 'HandoffWithdrawn', { handoff_id: 'hnd_1', sealed_reason: 'w' }],
      ['invalidate', {}, 'HandoffInvalidated', { handoff_id: 'hnd_1', sealed_reason: 'i' }],
      ['erase', {}, 'SubjectErased', { subject: 'hnd_1', reason: 'Asked' }],
      [
        'revise',
        {},
        'HandoffListRevisedByBuyer',
        { ...HANDOFF, changed: revision.lines, totals: revision.totals },
      ],
      ['send', {}, 'RfqSubmittedByBuyer', sent.data],
    ];
    for (const [command, over, type, data] of cases)
      expect(asStored(decide('awaiting', command, over))).toStrictEqual({
        accepted: true,
        events: [{ type, data }],
      });
    const { link_id: _id, ...withoutLink } = LIST;
    const plain = foldEvents({ type: 'HandoffCreated', data: withoutLink, at: 1 });
    expect(asStored(handoff.decide(plain, { type: 'OpenHandoff', at: 5 }))).toStrictEqual({
      accepted: true,
      events: [{ type: 'HandoffOpenedByBuyer', data: unlinked }],
    });
    // A list with other ids has no line in common with the stored one.
    const lines = [{ ...MUG, line_id: '2' }];
    expect(decide('awaiting', 'revise', { lines })).toMatchObject({
      events: [{ data: { added: lines, removed: ['1'] } }],
    });
    const none = decide('awaiting', 'revise', { lines: [] });
    expect(none).toMatchObject({ events: [{ data: { removed: ['1'] } }] });
    expect(none).not.toHaveProperty('events.0.data.changed');
  });

  it("A handoff's events fold into exactly these members", () => {
    const base = {
      ...LIST,
      status: 'awaiting_buyer',
      list_revision: 1,
      erased: false,
      created_at: 1,
      updated_at: 1,
      version: 0,
    };
    const after = { ...base, updated_at: 2, version: 1 };
    expect(HANDOFFS.awaiting).toStrictEqual(base);
    expect(HANDOFFS.review).toStrictEqual({ ...after, status: 'in_review' });
    const rfq = {
      state: 'confirmed',
      confirmed_by: 'mailbox',
      contact: 's1.hnd_1.c',
      contact_subject: 'con_1_1',
      submitted_at: 2,
      seen: { named: 'nobody', created_at: 1, mailbox: '1.m', sent_at: 2, confirmed_at: 2 },
    };
    const sentOnce = { ...after, status: 'rfq_submitted', rfqs_sent: 1, version: 2 };
    expect(HANDOFFS.sent).toStrictEqual({ ...sentOnce, rfq });
    expect(HANDOFFS.declined).toStrictEqual({ ...after, status: 'declined', sealed_reason: 's' });
    expect(HANDOFFS.withdrawn).toStrictEqual({ ...after, status: 'withdrawn', sealed_reason: 's' });
    expect(HANDOFFS.invalidated).toStrictEqual({
      ...after,
      status: 'invalidated',
      sealed_reason: 'o',
    });
    expect(() => foldEvents(sent)).toThrow(
      'RfqSubmittedByBuyer on a handoff that was never created',
    );
  });

  it("A handoff's erasure removes what people wrote, and keeps everything else", () => {
    const after = {
      ...LIST,
      buyer: { company: 'Shop' },
      erased: true,
      list_revision: 1,
      created_at: 1,
      updated_at: 2,
      version: 1,
    };
    expect(HANDOFFS.erased).toStrictEqual({
      ...after,
      status: 'withdrawn',
      status_reason: 'erased',
    });
    const closed = (state: object) => handoff.evolve(state as HandoffState, erased);
    const rfq = {
      confirmed_by: 'mailbox',
      contact: '',
      contact_subject: 'con_1_1',
      submitted_at: 2,
      seen: { named: 'nobody', created_at: 1, mailbox: '1.m', sent_at: 2, confirmed_at: 2 },
    };
    const withRfq = (state: object) =>
      closed({ ...HANDOFFS.sent, rfq: { ...HANDOFFS.sent?.rfq, ...state }, version: 0 });
    const sentOnce = { ...after, status: 'rfq_submitted', rfqs_sent: 1 };
    expect(withRfq({})).toStrictEqual({
      ...sentOnce,
      rfq: {
        ...rfq,
        state: 'withdrawn',
        reason: 'erased',
        outcome_at: 2,
      },
    });
    const won = { state: 'won', values: LIST.totals, outcome_at: 1 };
    const proposed = { to: 'lost', number: 1, sealed_reason: 's' };
    expect(withRfq({ ...won, sealed_reason: 's', proposed })).toStrictEqual({
      ...sentOnce,
      rfq: { ...rfq, ...won, sealed_reason: '' },
    });
    const noted = { sealed_note_to_buyer: '' };
    const reasoned = { sealed_reason: '' };
    const ended = { ...HANDOFFS.awaiting, status: 'declined', version: 0 };
    const gone = { ...after, status: 'declined' };
    expect(closed(ended)).toStrictEqual(gone);
    expect(closed({ ...ended, sealed_note_to_buyer: 's' })).toStrictEqual({ ...gone, ...noted });
    expect(closed({ ...ended, sealed_reason: 's' })).toStrictEqual({ ...gone, ...reasoned });
  });
});

describe('The comparison of lists', () => {
  const total = (amount: number, currency: string) => ({ amount, currency });

  it('The comparison of lists compares totals by currency and amount', () => {
    const both = [total(1, 'GBP'), total(2, 'EUR')];
    expect(isSameTotals(both, both.toReversed())).toBe(true);
    expect(isSameTotals(both, [total(1, 'GBP'), total(3, 'EUR')])).toBe(false);
    expect(isSameTotals(both, [total(1, 'GBP'), total(2, 'USD')])).toBe(false);
    expect(isSameTotals(both, [total(1, 'GBP')])).toBe(false);
    expect(isSameTotals([total(1, 'GBP')], both)).toBe(false);
  });

  it('The comparison of lists compares quantities by line and order', () => {
    const other = { ...MUG, line_id: '2' };
    expect(isSameQuantities([MUG, other], [{ ...MUG, unit_price: 1 }, other])).toBe(true);
    expect(isSameQuantities([MUG, other], [MUG, { ...other, quantity: 3 }])).toBe(false);
    expect(isSameQuantities([MUG, other], [other, MUG])).toBe(false);
    expect(isSameQuantities([MUG], [MUG, other])).toBe(false);
    expect(isSameQuantities([], [MUG])).toBe(false);
  });

  it('The comparison of lists records another price, in amount or in currency', () => {
    const withPrice = (price?: { amount: number; currency: string }) =>
      withNews([MUG], [{ line_id: '1', warnings: ['x'], ...(price && { price }) }]);
    const warned = { ...MUG, warnings: ['x'] };
    expect(withPrice()).toStrictEqual([warned]);
    expect(withPrice(total(100, 'GBP'))).toStrictEqual([warned]);
    for (const price of [total(101, 'GBP'), total(100, 'EUR')])
      expect(withPrice(price)).toStrictEqual([{ ...warned, price_when_sent: price }]);
    expect(withNews([MUG], [])).toStrictEqual([MUG]);
  });
});
