import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { type HandoffState, handoff, type HandoffCommand } from '#src/handoffs/handoff.decider.ts';
import { specify } from '../support/world/decider-spec.ts';
import { verifies } from '../support/source/verifies.ts';

const DUE = 10_000;
const line = (quantity: number) => ({
  line_id: '1',
  product_id: 'prd_1',
  sku: 'MUG',
  title: 'Mug',
  product_revision: 0,
  quantity,
  unit_price: 100,
  tier_min_quantity: 1,
  category: 'Mugs',
  currency: 'GBP',
});
const facts: EventData<'HandoffCreated'> = {
  handoff_id: 'hnd_1',
  agent_id: 'agt_1',
  title: 'List',
  locale: 'en',
  dims: { campaign: 'autumn' },
  buyer: { email: 's1.hnd_1.x' },
  lines: [line(2)],
  totals: [{ amount: 200, currency: 'GBP' }],
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: DUE,
  window_days: 30,
};
const created = { type: 'HandoffCreated' as const, data: facts };
const named = { handoff_id: 'hnd_1', agent_id: 'agt_1', dims: { campaign: 'autumn' } };
const opened = { type: 'HandoffOpenedByBuyer' as const, data: named };
const revised = (quantity: number) => ({
  type: 'HandoffListRevisedByBuyer' as const,
  data: { ...named, changed: [line(quantity)], totals: GBP(quantity * 100) },
});
const revise = (listRevision: number, quantity: number): Revise => ({
  type: 'ReviseList',
  at: 2,
  listRevision,
  limits: { revisions: 3, lines: 100 },
  lines: [line(quantity)],
  totals: GBP(quantity * 100),
});
const KEYS = { address: '1.a', mailbox: '1.m' };
const sent = (list_revision: number, amount: number, more: object = {}) => ({
  type: 'RfqSubmittedByBuyer' as const,
  data: {
    ...named,
    list_revision,
    totals: [{ amount, currency: 'GBP' }],
    contact: 's1.hnd_1.c',
    contact_subject: 'con_1_1',
    mailbox_keys: KEYS,
    confirmation: { number: 1, token_hash: 'c', until: 50_000, ...more },
    consent_text: 'I ask',
    seen: { named: 'nobody' as const, created_at: 1_000 },
  },
});
const confirmed = (amount: number) => ({
  type: 'RfqConfirmedByBuyer' as const,
  data: {
    ...named,
    totals: [{ amount, currency: 'GBP' }],
    lines: [],
    mailbox: '1.m',
    submitted_at: 1_000,
  },
});
const GBP = (amount: number) => [{ amount, currency: 'GBP' }];
type Submit = Extract<HandoffCommand, { type: 'SubmitRfq' }>;
type Line = EventData<'HandoffCreated'>['lines'][number];
type Revise = Extract<HandoffCommand, { type: 'ReviseList' }>;
const send = (listRevision: number, quantity: number, at = 5): Submit => ({
  type: 'SubmitRfq',
  at,
  listRevision,
  contact: 's1.hnd_1.c',
  contactSubject: 'con_1_1',
  mailboxKeys: KEYS,
  seen: { named: 'nobody' },
  confirmation: { tokenHash: 'c', until: 50_000 },
  consentText: 'I ask',
  lines: [line(quantity)],
  totals: GBP(quantity * 100),
  shown: GBP(quantity * 100),
  news: [],
});
const spec = specify(handoff);

describe('A handoff', () => {
  it('A handoff is created without an RFQ', () => {
    const after = spec.given().when({ type: 'CreateHandoff', handoff: facts }).then(created);
    expect(after).toMatchObject({ status: 'awaiting_buyer', list_revision: 1 });
    expect(after?.rfq).toBeUndefined();
  });

  it('A handoff is opened, changed and sent by its buyer, with the list that the buyer saw', () => {
    verifies('service.6.buyer', 'service.6.commitments', 'states.handoff');
    spec.given(created).when({ type: 'OpenHandoff', at: 1 }).then(opened);
    const after = spec.given(created, opened).when(revise(1, 5)).then(revised(5));
    expect(after).toMatchObject({ status: 'in_review', list_revision: 2 });
    spec.given(created, revised(5)).when(send(1, 5)).rejected('list_changed');
    const submitted = spec.given(created, revised(5)).when(send(2, 5)).then(sent(2, 500));
    expect(submitted).toMatchObject({
      status: 'in_review',
      rfq: { state: 'unconfirmed', submitted_at: 1_000 },
    });
  });

  it('A handoff is sent together with quantities that were not saved, both or neither', () => {
    const both = [revised(5), sent(2, 500)] as const;
    const after = spec
      .given(created)
      .when(send(1, 5))
      .then(...both);
    expect(after).toMatchObject({ status: 'in_review', list_revision: 2, lines: [line(5)] });
    spec.given(created, revised(5)).when(send(1, 7)).rejected('list_changed');
  });

  it('A handoff is sent only with the totals that the buyer saw, in any order', () => {
    spec
      .given(created)
      .when({ ...send(1, 5), shown: GBP(200) })
      .rejected('totals_changed');
    spec
      .given(created)
      .when({ ...send(1, 2), shown: [] })
      .rejected('totals_changed');
    const [pounds, euros] = [
      { amount: 500, currency: 'GBP' },
      { amount: 3, currency: 'EUR' },
    ] as const;
    const totals = [pounds, euros];
    const both = { ...send(1, 5), totals, shown: [euros, pounds] };
    const decided = handoff.decide(spec.given(created).state, both);
    expect(decided).toMatchObject({ accepted: true, events: [{ data: { totals } }, {}] });
  });

  it('A handoff is sent with the changes of its lines, which keep their prices', () => {
    const price = { amount: 120, currency: 'GBP' };
    const news = [{ line_id: '1', price, warnings: ['below_moq'] }];
    const event = sent(1, 200);
    const after = spec
      .given(created)
      .when({ ...send(1, 2), news })
      .then({ ...event, data: { ...event.data, news } });
    expect(after?.lines).toEqual([{ ...line(2), warnings: ['below_moq'], price_when_sent: price }]);
    const withdrawn = [{ line_id: '1', warnings: ['withdrawn'] }];
    const afterWithdrawal = spec
      .given(created)
      .when({ ...send(1, 2), news: withdrawn })
      .then({ ...event, data: { ...event.data, news: withdrawn } });
    expect(afterWithdrawal?.lines).toEqual([{ ...line(2), warnings: ['withdrawn'] }]);
  });

  it('A handoff records no event for equal quantities, regardless of the revision that the buyer saw', () => {
    spec.given(created).when(revise(1, 2)).then();
    spec.given(created, revised(5)).when(revise(1, 5)).then();
    spec.given(created, revised(5)).when(revise(1, 2)).rejected('list_changed');
  });

  it('A handoff records the difference of a change, which folds into the list', () => {
    const [first, second, third, fourth] = ['1', '2', '3', '4'].map((line_id) => ({
      ...line(2),
      line_id,
    })) as [Line, Line, Line, Line];
    const before = [first, second, third, fourth];
    const four = { ...created, data: { ...facts, lines: before } };
    const changed = [
      { ...second, quantity: 3, unit_price: 90 },
      { ...third, warnings: ['stock_below_quantity'] },
    ];
    const lines = [first, ...changed];
    const { data } = revised(0);
    const difference = { ...revised(0), data: { ...data, changed, removed: ['4'] } };
    const after = spec
      .given(four)
      .when({ ...revise(1, 0), lines })
      .then(difference);
    expect(after?.lines).toEqual([first, ...changed]);
    expect(after).toMatchObject({ list_revision: 2, lines_revised: 2 });
    const { changed: _none, ...same } = data;
    const less = { ...revised(0), data: { ...same, removed: ['1'] } };
    expect(spec.given(four, less).state?.lines).toEqual(before.slice(1));
  });

  it('A handoff accepts a limited number of changes and changed lines, and later changes only with the RFQ', () => {
    const changes = [revised(3), revised(4), revised(5)] as const;
    spec
      .given(created, ...changes.slice(1))
      .when(revise(3, 3))
      .then(revised(3));
    const spent = spec.given(created, ...changes);
    spent.when(revise(4, 6)).rejected('too_many_revisions');
    spent.when(revise(3, 6)).rejected('list_changed');
    spent.when(revise(4, 5)).then();
    spent.when(send(4, 6)).then(revised(6), sent(5, 600));
    const lines = { revisions: 9, lines: 2 };
    const given = (...given: ReturnType<typeof revised>[]) => spec.given(created, ...given);
    given(revised(3))
      .when({ ...revise(2, 4), limits: lines })
      .then(revised(4));
    given(revised(3), revised(4))
      .when({ ...revise(3, 5), limits: lines })
      .rejected('too_many_revisions');
  });

  it('A handoff closes with the answer of the buyer, and when it expires', () => {
    spec.given(created).when({ type: 'OpenHandoff', at: DUE }).rejected('handoff_expired');
    spec
      .given(created)
      .when(send(1, 2, DUE))
      .rejected('handoff_expired');
    spec
      .given(created, sent(1, 200), confirmed(200))
      .when({ type: 'DeclineHandoff', at: 6 })
      .rejected('handoff_closed');
    spec
      .given(created)
      .when({ type: 'WithdrawHandoff', at: 1, sealedReason: 's1.hnd_1.w' })
      .then({
        type: 'HandoffWithdrawn',
        data: { handoff_id: 'hnd_1', sealed_reason: 's1.hnd_1.w' },
      });
  });

  it('A handoff loses only the data of its buyer by an erasure', () => {
    const erase: HandoffCommand = { type: 'EraseSubject', subject: 'hnd_1', reason: 'Asked' };
    const event = {
      type: 'SubjectErased' as const,
      data: { subject: 'hnd_1', reason: 'Asked', contact_subject: 'con_1_1' },
    };
    const after = spec.given(created, sent(1, 200), confirmed(200)).when(erase).then(event);
    expect(after).toMatchObject({ erased: true, status: 'rfq_submitted', rfq: { contact: '' } });
    expect(after?.buyer.email).toBeUndefined();
  });

  it('A handoff gets an RFQ only from its buyer, regardless of the order of other commands', () => {
    verifies('service.5');
    const notBuyer = fc.constantFrom<HandoffCommand>(
      { type: 'CreateHandoff', handoff: facts },
      { type: 'WithdrawHandoff', at: 1, sealedReason: 'x' },
      { type: 'InvalidateHandoff', at: 1, sealedReason: 'x' },
      { type: 'EraseSubject', subject: 'hnd_1', reason: 'x' },
    );
    fc.assert(
      fc.property(fc.array(notBuyer, { maxLength: 12 }), (commands) => {
        let state: HandoffState | undefined;
        for (const command of commands) {
          const decision = handoff.decide(state, command);
          if (!decision.accepted) continue;
          for (const event of decision.events) {
            expect(event.type).not.toMatch(/^Rfq/);
            state = handoff.evolve(state, { ...event, at: 1 });
          }
        }
        expect(state?.status).not.toBe('rfq_submitted');
      }),
    );
  });
});
