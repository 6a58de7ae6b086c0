/** Handoffs of the pinned log, and what its other records share with them. */
import type { EventData } from '#contracts/registries/events.ts';
import { MIDNIGHT } from '../world/fold.ts';
import { HOUR_MS, story, type Told } from './pinned-story.ts';

export const DIMS = {
  campaign: 'autumn',
  channel: 'email',
  sub_ids: ['a', 'b'],
  product_id: 'prd_1',
  category: 'Mugs',
};
const EUR = [{ amount: 7_200, currency: 'EUR' }];
export const BY = { agent_id: 'agt_1', dims: DIMS };

const line = (n: number, more: Partial<EventData<'HandoffCreated'>['lines'][number]> = {}) => ({
  line_id: `lin_${n}`,
  product_id: `prd_${n}`,
  sku: `MUG-${n}`,
  title: `Mug ${n}`,
  category: 'Mugs',
  product_revision: n,
  quantity: 12 * n,
  unit_price: 600,
  tier_min_quantity: 12,
  currency: 'EUR',
  ...more,
});
/** What a line comes to, as it is counted. */
const worth = (n: number, amount: number) => ({
  line_id: `lin_${n}`,
  product_id: `prd_${n}`,
  category: 'Mugs',
  amount,
  currency: 'EUR',
});
const list = (n: number, more: Partial<EventData<'HandoffCreated'>> = {}): Told => [
  'HandoffCreated',
  {
    handoff_id: `hnd_${n}`,
    agent_id: 'agt_1',
    title: `List ${n}`,
    locale: 'en',
    dims: DIMS,
    buyer: { company: 'Harbour Café', country: 'DE', email: `s1.hnd_${n}.mail` },
    lines: [line(1), line(2, { warnings: ['below_moq'] })],
    totals: EUR,
    token_hash: `hash${n}`,
    review_origin: 'https://t.example',
    expires_at: MIDNIGHT + 30 * 24 * HOUR_MS,
    window_days: 30,
    ...more,
  },
];
/** What staff offer: the first line instead, the second one left out. */
const OFFER: NonNullable<EventData<'RfqMoveProposed'>['offer']> = {
  lines: [
    {
      line_id: 'lin_1',
      product_id: 'prd_3',
      product_revision: 3,
      sku: 'MUG-3',
      title: 'Mug 3',
      category: 'Mugs',
      quantity: 12,
      unit_price: 500,
      currency: 'EUR',
      replaces: { product_id: 'prd_1', sku: 'MUG-1', title: 'Mug 1' },
    },
  ],
  left_out: [{ line_id: 'lin_2' }],
  charges: [{ label: 'Shipping', amount: 1_200, currency: 'EUR' }],
  values: EUR,
  valid_until: MIDNIGHT + 240 * HOUR_MS,
  sealed_texts: 's1.hnd_1.terms',
};
const FIRST = { number: 1, hash: 'quoted1' };
const ofList = (n: number) => ({ handoff_id: `hnd_${n}`, ...BY, link_id: 'lnk_1' });
const opened = (n: number): Told => ['HandoffOpenedByBuyer', ofList(n)];

const sent = (n: number, number = 1, more: object = {}): Told => [
  'RfqSubmittedByBuyer',
  {
    ...ofList(n),
    list_revision: 1,
    totals: EUR,
    contact: `s1.hnd_${n}.contact`,
    contact_subject: `con_${n}_${number}`,
    mailbox_keys: { address: `1.a${n}`, mailbox: `1.m${n}` },
    confirmation: {
      number,
      token_hash: `confirms${n}_${number}`,
      until: MIDNIGHT + 336 * HOUR_MS,
    },
    consent_text: 'Yes',
    seen: { named: 'other', created_at: MIDNIGHT, by_program: true },
    ...more,
  },
];
const confirmed = (n: number): Told => [
  'RfqConfirmedByBuyer',
  {
    ...ofList(n),
    totals: EUR,
    lines: [worth(1, 7_200)],
    submitted_at: MIDNIGHT,
    mailbox: `1.m${n}`,
    by_program: true,
  },
];
const endOf = (n: number, number: number) => ({
  ...ofList(n),
  contact_subject: `con_${n}_${number}`,
});

export const HANDOFFS = [
  story('anna-handoff_30', list(30, { deliver: true }), [
    'HandoffDelivered',
    { ...ofList(30), outbound_id: 'out_30', list_sha256: 'list30' },
  ]),
  story(
    'anna-handoff_10',
    list(10),
    sent(10, 1),
    ['RfqDropped', { ...endOf(10, 1), reason: 'replaced' }],
    sent(10, 2, {
      confirmation: {
        number: 2,
        token_hash: 'confirms10_2',
        until: MIDNIGHT + 336 * HOUR_MS,
        first_at: MIDNIGHT,
      },
    }),
    confirmed(10),
    ['SubjectErased', { subject: 'hnd_10', reason: 'asked', contact_subject: 'con_10_2' }],
  ),
  story(
    'anna-handoff_11',
    list(11),
    sent(11, 1),
    ['RfqConfirmationExpired', endOf(11, 1)],
    sent(11, 2),
    [
      'RfqConfirmedByStaff',
      {
        ...ofList(11),
        sealed_reason: 's1.hnd_11.known',
        lines: [worth(1, 7_200)],
        totals: EUR,
        submitted_at: MIDNIGHT,
      },
    ],
  ),
  story(
    'anna-handoff_9',
    [
      'BuyerListCreated',
      {
        ...ofList(9),
        visit_id: 'v-9',
        alternatives: [{ agent_id: 'agt_2', link_id: 'lnk_1', visit_id: 'v-8' }],
        locale: 'en',
        lines: [line(1)],
        totals: EUR,
        token_hash: 'hash9',
        review_origin: 'https://t.example',
        expires_at: MIDNIGHT + 30 * 24 * HOUR_MS,
        window_days: 30,
      },
    ],
    ['HandoffDeclinedByBuyer', { ...ofList(9), sealed_reason: 's1.hnd_9.why' }],
  ),
  story(
    'anna-handoff_1',
    list(1, {
      sealed_note_to_buyer: 's1.hnd_1.note',
      sealed_line_notes: 's1.hnd_1.lines',
      link_id: 'lnk_1',
      external_id: 'ext-1',
      task_id: 'tsk_1',
      context_id: 'ctx_1',
      metadata: { round: 2 },
    }),
    opened(1),
    opened(1),
    [
      'HandoffListRevisedByBuyer',
      { ...ofList(1), changed: [line(1, { quantity: 24 })], totals: EUR },
    ],
    sent(1, 1, {
      list_revision: 2,
      news: [{ line_id: 'lin_1', price: { amount: 650, currency: 'EUR' }, warnings: ['stock'] }],
    }),
    confirmed(1),
    ['RfqTakenUp', { ...ofList(1), lines: [worth(1, 7_200), worth(2, 0)] }],
    [
      'RfqMoveProposed',
      {
        ...ofList(1),
        sealed_reason: 's1.hnd_1.large',
        to: 'quoted',
        values: EUR,
        offer: OFFER,
      },
    ],
    ['RfqMoveRefused', { ...ofList(1), sealed_reason: 's1.hnd_1.low' }],
    ['RfqQuoted', { ...ofList(1), ...OFFER, number: 1, hash: 'quoted1', token_hash: 'quotes1' }],
    ['QuotationDeclined', { ...ofList(1), ...FIRST, sealed_reason: 's1.hnd_1.dear' }],
    [
      'RfqQuoted',
      { ...ofList(1), ...OFFER, number: 2, hash: 'quoted2', token_hash: 'quotes2', alone: true },
    ],
    [
      'QuotationQuestionAsked',
      { ...ofList(1), number: 2, question: 1, sealed_question: 's1.hnd_1.question' },
    ],
    ['QuotationQuestionAnswered', { ...ofList(1), question: 1, sealed_answer: 's1.hnd_1.answer' }],
    ['QuotationAgreed', { ...ofList(1), number: 2, hash: 'quoted2' }],
    [
      'RfqWon',
      {
        ...ofList(1),
        values: EUR,
        quotation: { number: 2, hash: 'quoted2' },
        agreed: true,
        counted_lead: 'led_8',
        lines: [worth(1, 6_000)],
      },
    ],
    [
      'GoodsAllocated',
      {
        ...ofList(1),
        lines: [
          { line_id: 'lin_1', quantity: 12, source: 'B-12', warnings: ['stock_below_quantity'] },
        ],
        goods: 'allocated',
      },
    ],
    [
      'GoodsShipped',
      {
        ...ofList(1),
        lines: [{ line_id: 'lin_1', quantity: 8 }],
        shipment: 1,
        shipped_on: '2026-11-21',
        sealed_parcel: 's1.hnd_1.parcel',
        goods: 'allocated',
      },
    ],
    [
      'GoodsDelivered',
      {
        ...ofList(1),
        lines: [{ line_id: 'lin_1', quantity: 8 }],
        shipments: [1],
        delivered_on: '2026-11-22',
        goods: 'allocated',
      },
    ],
    [
      'GoodsCancelled',
      {
        ...ofList(1),
        lines: [{ line_id: 'lin_1', quantity: 4 }],
        sealed_reason: 's1.hnd_1.cancelled',
        goods: 'delivered',
      },
    ],
    [
      'GoodsReturned',
      {
        ...ofList(1),
        lines: [{ line_id: 'lin_1', quantity: 7 }],
        sealed_reason: 's1.hnd_1.returned',
        goods: 'delivered',
      },
    ],
    [
      'RfqOutcomeCorrected',
      {
        ...ofList(1),
        sealed_reason: 's1.hnd_1.returned',
        from: { state: 'won', values: EUR, lines: [worth(1, 6_000)] },
        to: {
          state: 'won',
          values: [{ amount: 5, currency: 'EUR' }],
          lines: [worth(1, 5)],
        },
        outcome_at: MIDNIGHT,
        counted_lead: 'led_8',
      },
    ],
  ),
  story(
    'bert-handoff_6',
    list(6),
    sent(6),
    confirmed(6),
    ['RfqLost', ofList(6)],
    [
      'RfqOutcomeCorrected',
      { ...ofList(6), from: { state: 'lost' }, to: { state: 'won', values: EUR }, outcome_at: 0 },
    ],
  ),
  story('bert-handoff_7', list(7), sent(7), confirmed(7), ['RfqWithdrawn', ofList(7)]),
  story('bert-handoff_8', list(8), sent(8), confirmed(8), [
    'SubjectErased',
    { subject: 'hnd_8', reason: 'asked' },
  ]),
  story('anna-handoff_2', list(2, { lines: [line(1)] }), [
    'HandoffDeclinedByBuyer',
    { ...ofList(2), sealed_reason: 's1.hnd_2.why' },
  ]),
  story(
    'anna-handoff_3',
    list(3),
    [
      'HandoffRevisedByAgent',
      { ...ofList(3), title: 'Other list', list: { lines: [line(1)], totals: EUR } },
    ],
    ['HandoffWithdrawn', { handoff_id: 'hnd_3', sealed_reason: 's1.hnd_3.why' }],
  ),
  story(
    'bert-handoff_4',
    list(4, { agent_id: 'agt_2', buyer: {}, dims: {} }),
    opened(4),
    [
      'HandoffListRevisedByBuyer',
      { ...ofList(4), changed: [line(2, { quantity: 48 })], removed: ['lin_1'], totals: EUR },
    ],
    ['HandoffInvalidated', { handoff_id: 'hnd_4', sealed_reason: 's1.hnd_4.why' }],
  ),
  story('anna-handoff_5', list(5), ['SubjectErased', { subject: 'hnd_5', reason: 'asked' }]),
];
