/* What staff do with the goods of a won RFQ, in exact events and in random walks over all states by all actors. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GOODS_MOVES, GOODS_STATES, type GoodsState, RFQ_STATES } from '#contracts/moves.ts';
import type { EventOf, Happened, HandoffEventType } from '#contracts/registries/events.ts';
import { goodsStateOf, quantitiesOf } from '#src/handoffs/fulfillment.decider.ts';
import { type HandoffCommand, type HandoffState, handoff } from '#src/handoffs/handoff.decider.ts';
import { hashOfQuotation, type Offer, valuesOf } from '#src/handoffs/quotation.decider.ts';
import { isRfqOutcome, rfqStateAt } from '#src/handoffs/rfq.decider.ts';
import { changesNumbers, METRIC, numbersOf } from '#projections/performance.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { seedOr } from '../support/seed.ts';
import { asStored } from '../support/world/decider-spec.ts';

const NAMED = { handoff_id: 'hnd_1', agent_id: 'agt_1', dims: {} };
const DUE = 100_000;
type Event = Happened<HandoffEventType>;
const event = (type: HandoffEventType, more: object = {}, at = 2): Event =>
  ({ type, data: { ...NAMED, ...more }, at }) as Event;

const line = (id: number, quantity: number, unit_price: number, currency = 'GBP') => ({
  line_id: String(id),
  product_id: `prd_${id}`,
  product_revision: 1,
  sku: `KIT-${id}`,
  title: `Mug ${id}`,
  category: 'mugs',
  quantity,
  unit_price,
  tier_min_quantity: 1,
  currency,
});
const LINES = [line(1, 10, 300), line(2, 4, 125), line(3, 2, 50, 'EUR')];
const CHARGES = [{ amount: 700, currency: 'GBP', label: 'Shipping' }];
const offerOf = (factor = 1, charges = CHARGES): Offer => {
  const lines = LINES.map(({ tier_min_quantity: _tier, ...one }) => ({
    ...one,
    unit_price: one.unit_price * factor,
  }));
  return { lines, left_out: [], charges, values: valuesOf({ lines, charges }), valid_until: DUE };
};
const created = event('HandoffCreated', {
  title: 'List',
  locale: 'en',
  buyer: {},
  lines: LINES,
  totals: valuesOf({ lines: offerOf().lines, charges: [] }),
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: 10,
  window_days: 30,
});
const sent = event('RfqSubmittedByBuyer', {
  list_revision: 1,
  totals: [],
  contact: 's',
  contact_subject: 'con_1_1',
  mailbox_keys: { address: '1.a', mailbox: '1.m' },
  confirmation: { number: 1, token_hash: 'c', until: DUE },
  consent_text: 'I ask',
  seen: { named: 'nobody', created_at: 1 },
});
const fold = (events: readonly Event[], from?: HandoffState): HandoffState =>
  events.reduce<HandoffState | undefined>(handoff.evolve, from) as HandoffState;

/** Decides and folds; throws if the command is rejected. */
const act = (state: HandoffState, command: HandoffCommand, at = 3) => {
  const decided = handoff.decide(state, command);
  if (!decided.accepted) throw new Error(`${decided.reason}: ${decided.detail}`);
  const events = decided.events.map((one) => ({ ...(asStored(one) as object), at })) as Event[];
  return { events, state: fold(events, state) };
};
const HASH = hashOfQuotation('hnd_1', { ...offerOf(), number: 1 });
const wonState = (): HandoffState => {
  const quoted = {
    ...offerOf(),
    number: 1,
    hash: HASH,
    token_hash: 'q',
  };
  const state = fold([
    created,
    sent,
    event('RfqConfirmedByBuyer', { totals: [], submitted_at: 2 }),
    event('RfqTakenUp', { lines: [] }),
    event('RfqQuoted', quoted),
    event('QuotationAgreed', { number: 1, hash: HASH }),
  ]);
  return act(state, {
    type: 'MoveRfq',
    at: 3,
    move: { to: 'won' },
    named: 1,
    approval: {},
    countedLead: undefined,
  }).state;
};

const STOCK = new Map<string, number | null>([
  ['prd_1', 6],
  ['prd_2', null],
]);
const allocate = (lines?: { line_id: string; quantity?: number; source?: string }[]) =>
  ({ type: 'AllocateGoods', lines, stock: STOCK }) as const;
const ship = (lines?: { line_id: string; quantity?: number }[], known?: number) =>
  ({
    type: 'ShipGoods',
    lines,
    shippedOn: '2026-12-02',
    sealedParcel: 's1.parcel',
    known,
  }) as const;
const deliver = (shipment?: number) =>
  ({ type: 'DeliverGoods', shipment, deliveredOn: '2026-12-04' }) as const;
const cancel = (lines?: { line_id: string; quantity?: number }[], keepCharges = false) =>
  ({ type: 'CancelGoods', lines, keepCharges, sealedReason: undefined }) as const;
const takeBack = (lines?: { line_id: string; quantity?: number }[], approval = {}) =>
  ({ type: 'ReturnGoods', lines, keepCharges: false, sealedReason: 's1.why', approval }) as const;
const correct = (to: 'won' | 'lost' | 'in_progress', values?: object): HandoffCommand =>
  ({
    type: 'MoveRfq',
    at: 4,
    move: { to, is_correction: true, ...(values && { values }) },
    named: undefined,
    approval: { isAlone: true },
    countedLead: undefined,
  }) as HandoffCommand;
const one = (line_id: string, quantity?: number) => [
  { line_id, ...(quantity !== undefined && { quantity }) },
];
const GBP = (amount: number) => ({ amount, currency: 'GBP' });
const valuesIn = ({ rfq }: HandoffState) =>
  Object.fromEntries((rfq?.values ?? []).map(({ amount, currency }) => [currency, amount]));

describe('The goods of a won RFQ', () => {
  it('The goods of a won RFQ are allocated from a source, with a warning for a line beyond the stock of the catalog', () => {
    const first = act(wonState(), allocate([{ line_id: '1', quantity: 7, source: 'Shelf 3' }]));
    expect(first.events).toMatchObject([
      {
        type: 'GoodsAllocated',
        data: {
          lines: [
            { line_id: '1', quantity: 7, source: 'Shelf 3', warnings: ['stock_below_quantity'] },
          ],
          goods: 'unallocated',
        },
      },
    ]);
    const all = act(first.state, allocate());
    // The product of line 3 is not published, so the catalog has none; that of line 2 is not counted.
    const [made] = all.events as EventOf<'GoodsAllocated'>[];
    expect(made?.data.lines).toEqual([
      { line_id: '1', quantity: 10, warnings: ['stock_below_quantity'] },
      { line_id: '2', quantity: 4 },
      { line_id: '3', quantity: 2, warnings: ['stock_below_quantity'] },
    ]);
    expect(act(all.state, allocate()).events).toEqual([]);
    const released = act(all.state, allocate(one('2', 0)));
    expect(goodsStateOf(released.state.goods ?? { lines: [], shipments: [] })).toBe('unallocated');
  });

  it('The goods of a won RFQ are shipped in parts, delivered by shipment, and a repeated shipment is that one', () => {
    let { state } = act(wonState(), allocate());
    ({ state } = act(state, ship(one('1', 4))));
    expect(act(state, ship(one('1', 4), 1)).events).toEqual([]);
    const second = act(state, ship());
    expect(second.events).toMatchObject([
      { type: 'GoodsShipped', data: { shipment: 2, goods: 'shipped' } },
    ]);
    expect(act(second.state, ship(undefined, 2)).events).toEqual([]);
    const delivered = act(second.state, deliver(1));
    expect(delivered.events).toMatchObject([
      {
        type: 'GoodsDelivered',
        data: { shipments: [1], lines: [{ line_id: '1', quantity: 4 }], goods: 'shipped' },
      },
    ]);
    expect(act(delivered.state, deliver(1)).events).toEqual([]);
    expect(act(delivered.state, deliver()).events).toMatchObject([
      { data: { goods: 'delivered' } },
    ]);
  });

  it('The goods of a won RFQ take their value with them when they are cancelled, and the charges with the last ones', () => {
    const part = act(wonState(), cancel(one('1', 3)));
    expect(part.events).toMatchObject([
      { type: 'GoodsCancelled', data: { lines: [{ line_id: '1', quantity: 3 }] } },
      {
        type: 'RfqOutcomeCorrected',
        data: { reason: 'cancelled', outcome_at: 3, from: { values: [GBP(4200), {}] } },
      },
    ]);
    expect(valuesIn(part.state)).toEqual({ GBP: 3300, EUR: 100 });
    const rest = act(part.state, cancel());
    expect(valuesIn(rest.state)).toEqual({ GBP: 0, EUR: 0 });
    expect(rest.state.rfq?.state).toBe('won');
    expect(act(rest.state, cancel()).events).toEqual([]);
    expect(valuesIn(act(part.state, cancel(undefined, true)).state)).toEqual({ GBP: 700, EUR: 0 });
  });

  it('The goods of a won RFQ come back in proportion to what their line is worth after a correction', () => {
    let { state } = act(wonState(), correct('won', [GBP(2100), { amount: 33, currency: 'EUR' }]));
    ({ state } = act(state, allocate()));
    ({ state } = act(state, ship()));
    const halves = act(state, takeBack([...one('1', 5), ...one('3', 1)])).state;
    // Line 1 was worth 3000 of 4200, so 1500 of 2100: half of it is left, and of 33 of line 3 the smaller half.
    expect(valuesIn(halves)).toEqual({ GBP: 1350, EUR: 16 });
    expect(valuesIn(act(halves, takeBack()).state)).toEqual({ GBP: 0, EUR: 0 });
  });

  it('The goods of a won RFQ come back only with a second person where APPROVAL_ABOVE is set, as they are then', () => {
    let { state } = act(wonState(), allocate());
    ({ state } = act(state, ship()));
    const limits = { above: [GBP(1_000_000)] };
    const asked = act(state, takeBack(one('1', 5), limits));
    expect(asked.events).toMatchObject([
      {
        type: 'RfqMoveProposed',
        data: { to: 'won', is_correction: true, returned: one('1', 5), values: [GBP(2700), {}] },
      },
    ]);
    expect(act(asked.state, takeBack(one('1', 5), limits)).events).toEqual([]);
    const approve = (proposal: number) =>
      ({ type: 'ApproveRfqMove', at: 5, proposal, countedLead: undefined, tokenHash: '' }) as const;
    const approved = act(asked.state, approve(1));
    expect(approved.events).toMatchObject([
      { type: 'GoodsReturned', data: { lines: one('1', 5) } },
      { type: 'RfqOutcomeCorrected', data: { to: { values: [GBP(2700), {}] } } },
    ]);
    expect(handoff.decide(approved.state, approve(1))).toMatchObject({
      accepted: false,
      reason: 'proposal_unknown',
    });
    const alone = act(state, takeBack(one('1', 5), { ...limits, isAlone: true }));
    expect(alone.events).toMatchObject([
      { type: 'GoodsReturned', data: { alone: true } },
      { type: 'RfqOutcomeCorrected', data: { alone: true } },
    ]);
  });

  it.each<[string, (state: HandoffState) => HandoffState, HandoffCommand, string, RegExp]>([
    [
      'more than was won is allocated',
      (s) => s,
      allocate(one('2', 5)),
      'goods_exceeded',
      /line 2 \(KIT-2\) at most 4/,
    ],
    ['a line is unknown', (s) => s, allocate(one('9')), 'goods_unknown', /it has 1, 2, 3/],
    [
      'more than is allocated is shipped',
      (s) => act(s, allocate(one('1', 2))).state,
      ship(one('1', 3)),
      'goods_exceeded',
      /at most 2 can be shipped/,
    ],
    ['nothing is allocated', (s) => s, ship(), 'goods_exceeded', /allocate it first/],
    ['nothing was shipped', (s) => s, deliver(), 'goods_exceeded', /nothing was shipped/],
    [
      'a shipment is unknown',
      (s) => act(act(s, allocate()).state, ship()).state,
      deliver(2),
      'goods_unknown',
      /no shipment 2/,
    ],
    [
      'more comes back than was shipped',
      (s) => act(act(s, allocate(one('1', 2))).state, ship()).state,
      takeBack(one('1', 3)),
      'goods_exceeded',
      /at most 2 can be returned/,
    ],
    [
      'goods that are shipped are cancelled',
      (s) => act(act(s, allocate()).state, ship()).state,
      cancel(one('1', 1)),
      'goods_exceeded',
      /comes back as a return/,
    ],
    [
      'nothing is there to cancel',
      (s) => act(act(s, allocate()).state, ship()).state,
      cancel(),
      'goods_exceeded',
      /what comes back is a return/,
    ],
    [
      'the outcome is reversed while goods are out',
      (s) => act(act(s, allocate()).state, ship()).state,
      correct('lost'),
      'goods_out',
      /10 of line 1 \(KIT-1\) were shipped/,
    ],
    [
      'the RFQ is lost',
      (s) => act(s, correct('lost')).state,
      allocate(),
      'rfq_not_won',
      /the RFQ is lost/,
    ],
  ])(
    'The goods of a won RFQ stay where they are if %s',
    (_what, before, command, reason, detail) => {
      const decided = handoff.decide(before(wonState()), command);
      expect(decided).toMatchObject({ accepted: false, reason });
      expect(decided.accepted ? '' : decided.detail).toMatch(detail);
    },
  );

  it('The goods of a won RFQ have no text about a person after an erasure, and are shipped without', () => {
    let { state } = act(wonState(), allocate());
    ({ state } = act(state, ship(one('1', 4))));
    ({ state } = act(state, { type: 'EraseSubject', subject: 'hnd_1', reason: 'asked' }));
    expect(JSON.stringify(state.goods)).not.toContain('s1.parcel');
    expect(state.goods?.shipments).toMatchObject([{ number: 1, sealed_parcel: '' }]);
    expect(act(state, { ...ship(), sealedParcel: undefined }).events).toMatchObject([
      { type: 'GoodsShipped' },
    ]);
  });
});

/* Random walks. A step is one command of staff, of a second person, of the buyer, or of nobody, as an erasure. */

const quantities = fc.option(
  fc.uniqueArray(
    fc.record({
      line_id: fc.constantFrom('1', '2', '3', '4'),
      quantity: fc.option(fc.integer({ min: 0, max: 11 }), { nil: undefined }),
    }),
    { selector: ({ line_id }) => line_id, minLength: 1, maxLength: 3 },
  ),
  { nil: undefined, freq: 1 },
);
const approval = fc.constantFrom({}, {}, { above: [GBP(1_000)] }, { isAlone: true });
const all = <Name extends string>(type: Name) => fc.constant(type);
const proposal = fc.integer({ min: 1, max: 4 });
const moves = fc.record({
  type: all('MoveRfq'),
  move: fc.oneof(
    fc.record({ to: fc.constantFrom('in_progress', 'won', 'won', 'lost', 'withdrawn') }),
    fc.record({
      to: fc.constantFrom('in_progress', 'won', 'won', 'lost', 'withdrawn'),
      is_correction: fc.constant(true),
      values: fc.constantFrom([GBP(900)], [GBP(9_000), { amount: 7, currency: 'EUR' }]),
    }),
  ),
  approval,
});
const quotes = fc.record({
  type: all('QuoteRfq'),
  offer: fc.constantFrom(offerOf(), offerOf(2), offerOf(1, [])),
  isReplacing: fc.boolean(),
  approval,
});
const step: fc.Arbitrary<{ type: string }> = fc.oneof(
  { weight: 4, arbitrary: moves },
  { weight: 4, arbitrary: quotes },
  {
    weight: 4,
    arbitrary: fc.record({
      type: all('AnswerQuotation'),
      answer: fc.constantFrom('agreed', 'agreed', 'declined'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom('ApproveRfqMove', 'RefuseRfqMove'), proposal }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('ConfirmRfq', 'ConfirmByStaff') }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('WithdrawRfq', 'EraseSubject') }) },
  { weight: 6, arbitrary: fc.record({ type: all('AllocateGoods'), lines: quantities }) },
  { weight: 6, arbitrary: fc.record({ type: all('ShipGoods'), lines: quantities }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: all('DeliverGoods'), shipment: fc.constantFrom(undefined, 1, 2) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constantFrom('CancelGoods', 'ReturnGoods'),
      lines: quantities,
      keepCharges: fc.boolean(),
      approval,
    }),
  },
);

/** Fills in what depends on the state, as the use cases do. */
const commandOf = (state: HandoffState, given: { type: string; isReplacing?: boolean }) => {
  const quote = state.rfq?.quote;
  const { isReplacing, ...asked } = given;
  return {
    at: 3,
    sealedReason: undefined,
    countedLead: undefined,
    tokenHash: 'q',
    named: undefined,
    shippedOn: '2026-12-02',
    deliveredOn: '2026-12-04',
    sealedParcel: 's1.parcel',
    subject: 'hnd_1',
    reason: 'asked',
    listRevision: state.list_revision,
    stock: STOCK,
    number: given.type === 'AnswerQuotation' ? (quote?.number ?? 9) : 1,
    hash: quote?.hash ?? '',
    replaces: isReplacing ? quote?.number : undefined,
    ...asked,
  } as unknown as HandoffCommand;
};

const LOSE = { type: 'MoveRfq', move: { to: 'lost' }, approval: {} };

/** What performance has of the RFQ: the counts and values that are left when all its events are added up. */
const countedOf = (events: readonly Event[]) => {
  const counts = { taken_up: 0, won: 0 };
  const values: Record<string, number> = {};
  const byProduct: Record<string, number> = {};
  for (const each of events as unknown as FoldEvent[]) {
    if (!/^Rfq(TakenUp|Won|OutcomeCorrected)$/.test(each.type) || !changesNumbers(each)) continue;
    for (const { metric, detail } of numbersOf(each, () => 0)) {
      if (typeof detail !== 'object' || Array.isArray(detail)) throw new Error('no lines');
      if (metric === METRIC.rfqs_taken_up) counts.taken_up += detail.by;
      if (metric !== METRIC.rfqs_won) continue;
      counts.won += detail.by;
      for (const [product, , , ...amounts] of detail.entries)
        for (let at = 0; at < amounts.length; at += 2) {
          const [amount, currency] = [Number(amounts[at]), String(amounts[at + 1])];
          values[currency] = (values[currency] ?? 0) + amount;
          const key = `${product} ${currency}`;
          byProduct[key] = (byProduct[key] ?? 0) + amount;
        }
    }
  }
  return { counts, values, byProduct };
};

const not0 = (sums: Record<string, number>) =>
  Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0));

/** The commands that lead out of each state of goods that is not final. */
const WAYS_OUT: Partial<Record<GoodsState, HandoffCommand>> = {
  unallocated: allocate(),
  allocated: ship(),
  shipped: deliver(),
  delivered: takeBack(),
};

const quantitiesIn = (state: HandoffState) =>
  new Map((state.goods?.lines ?? []).map((each) => [each.line_id, quantitiesOf(each)]));

/** Checks that goods only went where the table of the contract lets them go. */
const expectMoves = (before: HandoffState, after: HandoffState) => {
  const earlier = quantitiesIn(before);
  for (const [id, now] of quantitiesIn(after)) {
    const then = earlier.get(id);
    if (!then) continue;
    const left = GOODS_STATES.filter((state) => now[state] < then[state]);
    const reached = GOODS_STATES.filter((state) => now[state] > then[state]);
    for (const from of left)
      expect(
        reached.some((to) => to in GOODS_MOVES[from]),
        `${from} to ${reached.join()}`,
      ).toBe(true);
    for (const to of reached)
      expect(
        left.some((from) => to in GOODS_MOVES[from]),
        `${left.join()} to ${to}`,
      ).toBe(true);
  }
};

describe('Random walks over an RFQ', () => {
  it('Random walks over an RFQ find no state without a way out, no goods that vanish, and no money that counts twice', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 20, maxLength: 60 }),
        fc.boolean(),
        (steps, isWon) => {
          const events: Event[] = [];
          let state = isWon ? wonState() : fold([created, sent]);
          if (isWon) {
            const won = state.rfq?.values ?? [];
            const lines = state.worth?.won ?? [];
            events.push(event('RfqTakenUp', { lines }), event('RfqWon', { values: won, lines }));
          }
          for (const given of steps) {
            if (!state.rfq) return;
            const before = state;
            const decided = handoff.decide(state, commandOf(state, given));
            if (!decided.accepted) {
              expect(decided.detail).not.toMatch(/undefined|NaN| -\d/);
              continue;
            }
            const happened = decided.events.map((e) => ({
              ...(asStored(e) as object),
              at: 3,
            })) as Event[];
            state = fold(happened, state);
            events.push(...happened);
            if (!state.rfq) return;
            reached.add(rfqStateAt(state.rfq, 3));
            const { rfq, goods } = state;
            // Goods exist while the RFQ is won.
            expect(goods !== undefined).toBe(rfq.state === 'won');
            for (const counts of quantitiesIn(state).values())
              for (const quantity of Object.values(counts))
                expect(quantity).toBeGreaterThanOrEqual(0);
            for (const each of goods?.lines ?? [])
              expect(Object.values(quantitiesOf(each)).reduce((a, b) => a + b)).toBe(each.quantity);
            expectMoves(before, state);
            // What performance has is what the RFQ is won for, by line.
            const counted = countedOf(events);
            expect(counted.counts.won).toBe(rfq.state === 'won' ? 1 : 0);
            expect(counted.counts.taken_up).toBeLessThanOrEqual(1);
            expect(not0(counted.values)).toEqual(not0(rfq.state === 'won' ? valuesIn(state) : {}));
            for (const each of state.worth?.won ?? [])
              expect(counted.byProduct[`${each.product_id} ${each.currency}`] ?? 0).toBe(
                each.amount,
              );
            for (const amount of Object.values(counted.byProduct))
              expect(amount).toBeGreaterThanOrEqual(0);
            if (goods) {
              const last = happened.findLast((e) => e.type.startsWith('Goods'));
              const place = goodsStateOf(goods);
              reached.add(place);
              if (last) expect((last as EventOf<'GoodsShipped'>).data.goods).toBe(place);
              const out = WAYS_OUT[place];
              expect(out !== undefined).toBe(Object.keys(GOODS_MOVES[place]).length > 0);
              const next = out && handoff.decide(state, out);
              if (next) expect(next.accepted && next.events.length).toBeGreaterThan(0);
            } else if (!isRfqOutcome(rfq.state) && !rfq.confirmation && !state.erased)
              expect(handoff.decide(state, commandOf(state, LOSE))).toMatchObject({
                accepted: true,
              });
          }
        },
      ),
      { numRuns: 600, seed: seedOr(20_261_131) },
    );
    for (const state of [...GOODS_STATES, ...RFQ_STATES])
      if (state !== 'expired' && state !== 'unconfirmed') expect([...reached]).toContain(state);
  });
});
