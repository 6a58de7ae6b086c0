/* An RFQ between its sending and its confirmation, and the exact events. */
import { describe, expect, it } from 'vitest';
import type { EventData, Happened, HandoffEventType } from '#contracts/registries/events.ts';
import {
  type HandoffState,
  handoff,
  type HandoffCommand,
  isOpen,
} from '#src/handoffs/handoff.decider.ts';
import { mailedMailbox, type MailedState, waitMs } from '#src/sending/mail.decider.ts';
import { asStored } from '../support/world/decider-spec.ts';

const EXPIRY = 10;
const UNTIL = 100;
const NAMED = { handoff_id: 'hnd_1', agent_id: 'agt_1', dims: {} };
const TOTALS = [{ amount: 500, currency: 'GBP' }];
const LIST: EventData<'HandoffCreated'> = {
  ...NAMED,
  title: 'List',
  locale: 'en',
  buyer: {},
  lines: [],
  totals: TOTALS,
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: EXPIRY,
  window_days: 30,
};

type Event = Happened<HandoffEventType>;
const event = (type: HandoffEventType, more: object = {}, at = 2): Event =>
  ({ type, data: { ...NAMED, ...more }, at }) as Event;
const sentAs = (number: number, more: object = {}, at = 2): Event =>
  event(
    'RfqSubmittedByBuyer',
    {
      list_revision: 1,
      totals: TOTALS,
      contact: `sealed ${number}`,
      contact_subject: `con_1_${number}`,
      mailbox_keys: { address: '1.a', mailbox: '1.m' },
      confirmation: { number, token_hash: 'c', until: UNTIL, ...more },
      consent_text: 'I ask',
      seen: { named: 'nobody', created_at: 1 },
    },
    at,
  );
const fold = (...events: Event[]): HandoffState =>
  [{ type: 'HandoffCreated' as const, data: LIST, at: 1 }, ...events].reduce<
    HandoffState | undefined
  >(handoff.evolve, undefined) as HandoffState;
const decide = (state: HandoffState, command: HandoffCommand) =>
  asStored(handoff.decide(state, command)) as object;
const accepted = (...events: object[]) => ({ accepted: true, events });
const made = (type: HandoffEventType, data: object = {}) => ({ type, data: { ...NAMED, ...data } });
const rejected = (reason: string) => expect.objectContaining({ accepted: false, reason }) as object;

const confirm = (over: object = {}): HandoffCommand => ({
  type: 'ConfirmRfq',
  at: 50,
  number: 1,
  listRevision: 1,
  ...over,
});
const send = (at: number): HandoffCommand => ({
  type: 'SubmitRfq',
  at,
  listRevision: 1,
  contact: 'sealed 2',
  contactSubject: 'con_1_2',
  mailboxKeys: { address: '1.a', mailbox: '1.m' },
  seen: { named: 'nobody' },
  confirmation: { tokenHash: 'd', until: UNTIL + at },
  consentText: 'I ask',
  shown: TOTALS,
  totals: TOTALS,
  lines: [],
  news: [],
});
const dropped = (reason: string, number = 1) =>
  made('RfqDropped', { contact_subject: `con_1_${number}`, reason });
const confirmed = event(
  'RfqConfirmedByBuyer',
  { totals: TOTALS, lines: [], submitted_at: 2, mailbox: '1.m' },
  50,
);

describe('An RFQ that was sent', () => {
  const pending = fold(sentAs(1));

  it('An RFQ that was sent is confirmed by the holder of its mailbox, for the list that the page showed', () => {
    const data = { totals: TOTALS, lines: [], submitted_at: 2 };
    expect(decide(pending, confirm())).toEqual(
      accepted(made('RfqConfirmedByBuyer', { ...data, mailbox: '1.m' })),
    );
    expect(decide(pending, confirm({ listRevision: 2 }))).toEqual(rejected('list_changed'));
    expect(decide(pending, confirm({ at: UNTIL }))).toEqual(rejected('confirmation_over'));
    const after = fold(sentAs(1), confirmed);
    expect(after).toMatchObject({
      status: 'rfq_submitted',
      rfq: { state: 'confirmed', confirmed_by: 'mailbox', contact_subject: 'con_1_1' },
    });
    expect(decide(after, confirm())).toEqual(accepted());
  });

  it('An RFQ that was sent keeps its list open until the confirmation ends, even if the list would have expired', () => {
    expect(isOpen(pending, UNTIL - 1)).toBe(true);
    expect(isOpen(pending, UNTIL)).toBe(false);
    expect(isOpen(fold(), EXPIRY)).toBe(false);
  });

  it('An RFQ that was sent is replaced when it is sent again, and the earlier link then confirms nothing', () => {
    expect(decide(pending, send(5))).toEqual(
      accepted(dropped('replaced'), {
        ...sentAs(2),
        at: undefined,
        data: {
          ...sentAs(2).data,
          confirmation: { number: 2, token_hash: 'd', until: UNTIL + 5, first_at: 2 },
        },
      }),
    );
    const again = fold(
      sentAs(1),
      { ...event('RfqDropped'), ...dropped('replaced') } as Event,
      sentAs(2, { first_at: 2 }, 5),
    );
    expect(again.rfq).toMatchObject({ submitted_at: 2, contact: 'sealed 2' });
    expect(decide(again, confirm())).toEqual(rejected('link_replaced'));
    expect(decide(again, { type: 'DisownRfq', at: 50, number: 1 })).toEqual(
      rejected('link_replaced'),
    );
    expect(decide(again, confirm({ number: 2 }))).toMatchObject({ accepted: true });
  });

  it('An RFQ that was sent ends when the holder of the mailbox did not send it, and the list is open again', () => {
    const disown: HandoffCommand = { type: 'DisownRfq', at: 5, number: 1 };
    expect(decide(pending, disown)).toEqual(accepted(dropped('disowned')));
    const after = fold(sentAs(1), { ...event('RfqDropped'), ...dropped('disowned') } as Event);
    expect(after).toMatchObject({ status: 'in_review', rfqs_sent: 1 });
    expect(after).not.toHaveProperty('rfq');
    expect(isOpen(after, EXPIRY - 1)).toBe(true);
    expect(decide(after, disown)).toEqual(accepted());
    expect(decide(after, confirm())).toEqual(rejected('confirmation_over'));
    expect(decide(fold(sentAs(1), confirmed), disown)).toEqual(rejected('confirmation_over'));
  });

  it('An RFQ that was sent expires when its time is over, and not before', () => {
    const expire = (at: number): HandoffCommand => ({ type: 'ExpireConfirmation', at });
    expect(decide(pending, expire(UNTIL - 1))).toEqual(accepted());
    expect(decide(pending, expire(UNTIL))).toEqual(
      accepted(made('RfqConfirmationExpired', { contact_subject: 'con_1_1' })),
    );
    expect(decide(fold(sentAs(1), confirmed), expire(UNTIL))).toEqual(accepted());
    expect(decide(fold(), expire(UNTIL))).toEqual(accepted());
  });

  it('An RFQ that was sent ends with its list', () => {
    const decline: HandoffCommand = { type: 'DeclineHandoff', at: 5 };
    expect(decide(pending, decline)).toEqual(
      accepted(made('HandoffDeclinedByBuyer'), dropped('closed')),
    );
    for (const type of ['WithdrawHandoff', 'InvalidateHandoff'] as const)
      expect(decide(pending, { type, at: 5, sealedReason: 's' })).toMatchObject({
        events: [{}, dropped('closed')],
      });
  });

  it('An RFQ that was sent is erased with the handoff, whose event names the subject of the contact', () => {
    const erase: HandoffCommand = { type: 'EraseSubject', subject: 'hnd_1', reason: 'asked' };
    expect(decide(pending, erase)).toMatchObject({
      events: [{ data: { subject: 'hnd_1', contact_subject: 'con_1_1' } }],
    });
    const erased = event('SubjectErased', { subject: 'hnd_1', reason: 'asked' });
    const after = fold(sentAs(1), erased);
    expect(after).toMatchObject({ status: 'withdrawn' });
    expect(after).not.toHaveProperty('rfq');
  });
});

describe('A confirmed RFQ', () => {
  const withdraw: HandoffCommand = { type: 'WithdrawRfq', at: 60, number: 1 };

  it('A confirmed RFQ is withdrawn by its buyer, until it has an outcome', () => {
    const state = fold(sentAs(1), confirmed);
    const withdrawn = made('RfqWithdrawn', { reason: 'withdrawn_by_buyer' });
    expect(decide(state, withdraw)).toEqual(accepted(withdrawn));
    expect(decide(fold(sentAs(1), confirmed, event('RfqWithdrawn')), withdraw)).toEqual(accepted());
    const won = event('RfqWon', { values: TOTALS });
    expect(decide(fold(sentAs(1), confirmed, won), withdraw)).toEqual(
      rejected('rfq_move_not_allowed'),
    );
    expect(decide(fold(sentAs(1)), withdraw)).toEqual(rejected('confirmation_over'));
  });
});

describe('A mailbox that has confirmed nothing', () => {
  const limits = { betweenMs: 10, perPeriod: 3, periodMs: 100 };
  const mailed = (at: number, mail_id = `mal_${at}`) => ({
    type: 'MailboxMailed' as const,
    data: { mail_id },
    at,
  });
  const state = (...times: number[]): MailedState | undefined =>
    times.reduce<MailedState | undefined>(
      (now, at) => mailedMailbox.evolve(now, mailed(at)),
      undefined,
    );
  const mail = (before: MailedState | undefined, at: number, mailId = 'mal_new') =>
    mailedMailbox.decide(before, {
      type: 'MailMailbox',
      at,
      mailId,
      isApproved: false,
      limits,
    });

  it('A mailbox that has confirmed nothing gets a message, the next one after a pause, and a limited number in a period', () => {
    expect(mail(undefined, 0)).toMatchObject({ accepted: true });
    expect(mail(state(0), 9)).toMatchObject({ reason: 'mailed_often' });
    expect(mail(state(0), 10)).toMatchObject({ accepted: true });
    expect(mail(state(0, 10, 20), 99)).toMatchObject({ reason: 'mailed_often' });
    expect(mail(state(0, 10, 20), 100)).toMatchObject({ accepted: true });
  });

  it('A mailbox that has confirmed nothing is told how long to wait', () => {
    expect(waitMs({ mailed: [] }, { at: 0, isApproved: false, limits })).toBe(0);
    expect(waitMs(state(0) as MailedState, { at: 4, isApproved: false, limits })).toBe(6);
    expect(waitMs(state(0, 10, 20) as MailedState, { at: 40, isApproved: false, limits })).toBe(60);
  });

  it('A mailbox that has confirmed nothing gets what its holder asks for at once after a letter that a person approved, and no second such letter', () => {
    const before = mailedMailbox.evolve(undefined, {
      ...mailed(0),
      data: { mail_id: 'mal_0', approved: true },
    });
    expect(mail(before, 1)).toMatchObject({ accepted: true });
    expect(waitMs(before, { at: 1, isApproved: true, limits })).toBe(9);
    const full = [1, 12].reduce((now, at) => mailedMailbox.evolve(now, mailed(at)), before);
    expect(mail(full, 99)).toMatchObject({ reason: 'mailed_often' });
  });

  it('A message that is tried again to a mailbox that has confirmed nothing is counted once', () => {
    expect(mail(state(0), 1, 'mal_0')).toEqual({ accepted: true, events: [] });
  });

  it('A mailbox gets no message while its holder refuses them', () => {
    const blocked = mailedMailbox.evolve(undefined, {
      type: 'MailboxBlocked',
      data: { until: 50 },
      at: 1,
    });
    expect(mail(blocked, 49)).toMatchObject({ reason: 'mailbox_blocked' });
    expect(mail(blocked, 50)).toMatchObject({ accepted: true });
    const block = (until: number) =>
      mailedMailbox.decide(blocked, { type: 'BlockMailbox', at: 2, until });
    expect(block(50)).toEqual({ accepted: true, events: [] });
    expect(block(51)).toMatchObject({ events: [{ type: 'MailboxBlocked' }] });
  });
});
