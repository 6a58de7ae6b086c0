/* What staff can do with an RFQ in each of its states, and the exact events. */
import { describe, expect, it } from 'vitest';
import type { EventData, Happened, HandoffEventType } from '#contracts/registries/events.ts';
import {
  RFQ_CORRECTIONS,
  RFQ_MOVES,
  RFQ_OUTCOMES,
  RFQ_STATES,
  type Mover,
  rfqMovers,
  type RfqStateName,
} from '#contracts/moves.ts';
import { type HandoffState, handoff, type HandoffCommand } from '#src/handoffs/handoff.decider.ts';
import { hashOfQuotation, type Offer, valuesOf } from '#src/handoffs/quotation.decider.ts';
import { type RfqMove, rfqStateAt } from '#src/handoffs/rfq.decider.ts';
import type { ApprovalRules } from '#src/shared/proposal.ts';
import { asStored } from '../support/world/decider-spec.ts';

const DUE = 1_000;
const GBP = [{ amount: 500, currency: 'GBP' }];
const EUR = [{ amount: 500, currency: 'EUR' }];
const LESS = [{ amount: 400, currency: 'GBP' }];
const LIMITS = [{ amount: 499, currency: 'GBP' }];
const NAMED = { handoff_id: 'hnd_1', agent_id: 'agt_1', dims: { campaign: 'autumn' } };
const LIST: EventData<'HandoffCreated'> = {
  ...NAMED,
  title: 'List',
  locale: 'en',
  buyer: {},
  lines: [],
  totals: GBP,
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: 10,
  window_days: 30,
};

type Event = Happened<HandoffEventType>;
const event = (type: HandoffEventType, more: object = {}, at = 2): Event =>
  ({ type, data: { ...NAMED, ...more }, at }) as Event;
const sent = event('RfqSubmittedByBuyer', {
  list_revision: 1,
  totals: GBP,
  contact: 's',
  contact_subject: 'con_1_1',
  mailbox_keys: { address: '1.a', mailbox: '1.m' },
  confirmation: { number: 1, token_hash: 'c', until: DUE },
  consent_text: 'I ask',
  seen: { named: 'nobody', created_at: 1 },
});
const confirmed = event('RfqConfirmedByBuyer', {
  totals: GBP,
  lines: [],
  mailbox: '1.m',
  submitted_at: 2,
});
const offerOf = (amount: number, valid_until = DUE): Offer => {
  const line = {
    product_id: 'prd_1',
    product_revision: 1,
    sku: 'KIT',
    title: 'Mug',
    category: 'Mugs',
  };
  const lines = [{ line_id: '1', ...line, quantity: 1, unit_price: amount, currency: 'GBP' }];
  return {
    lines,
    left_out: [],
    charges: [],
    values: valuesOf({ lines, charges: [] }),
    valid_until,
  };
};
const quotedAs = (number: number, offer = offerOf(500), at = 2): Event =>
  event(
    'RfqQuoted',
    { ...offer, number, hash: hashOfQuotation('hnd_1', { ...offer, number }), token_hash: 'q' },
    at,
  );
const HASH = hashOfQuotation('hnd_1', { ...offerOf(500), number: 1 });
const FIRST = { number: 1, hash: HASH };
const quoted = quotedAs(1);
const agreed = event('QuotationAgreed', FIRST);
const linesOf = (values: typeof GBP) => [
  { line_id: '1', product_id: 'prd_1', category: 'Mugs', ...values[0] },
];
const won = event(
  'RfqWon',
  {
    values: GBP,
    lines: linesOf(GBP),
    quotation: FIRST,
    agreed: true,
    counted_lead: 'led_1',
  },
  3,
);
const fold = (...events: Event[]): HandoffState =>
  [{ type: 'HandoffCreated' as const, data: LIST, at: 1 }, ...events].reduce<
    HandoffState | undefined
  >(handoff.evolve, undefined) as HandoffState;

/** The events that lead to each state, and a time at which the RFQ is in it. */
const STATES: Record<RfqStateName, { state: HandoffState; at: number }> = {
  unconfirmed: { state: fold(sent), at: 5 },
  confirmed: { state: fold(sent, confirmed), at: 5 },
  in_progress: { state: fold(sent, confirmed, event('RfqTakenUp')), at: 5 },
  quoted: { state: fold(sent, confirmed, quoted), at: 5 },
  agreed: { state: fold(sent, confirmed, quoted, agreed), at: DUE + 1 },
  declined: {
    state: fold(sent, confirmed, quoted, event('QuotationDeclined', FIRST)),
    at: 5,
  },
  expired: { state: fold(sent, confirmed, quoted), at: DUE },
  won: { state: fold(sent, confirmed, quoted, won), at: 5 },
  lost: { state: fold(sent, confirmed, event('RfqLost', {}, 3)), at: 5 },
  withdrawn: { state: fold(sent, confirmed, event('RfqWithdrawn', {}, 3)), at: 5 },
};

type StaffTarget = RfqMove['to'];

/** A move of staff; of `quoted`, a quotation that voids the newest one if that can be answered. */
const moveTo = (
  to: StaffTarget | 'confirmed',
  more: Partial<RfqMove> = {},
  over: object = {},
): HandoffCommand => {
  if (to === 'confirmed') return { type: 'ConfirmByStaff', sealedReason: 'known' };
  if (to === 'quoted') return quote(over);
  return {
    type: 'MoveRfq',
    at: 5,
    move: { to, ...more },
    named: undefined,
    approval: {},
    countedLead: undefined,
    ...over,
  };
};
const quote = (over: object = {}): HandoffCommand => ({
  type: 'QuoteRfq',
  at: 5,
  offer: offerOf(500, DUE + 5),
  sealedReason: undefined,
  replaces: undefined,
  approval: {},
  tokenHash: 'q',
  ...over,
});
/** The buyer's answer to the newest quotation. */
const answer = (
  { rfq }: HandoffState,
  to: 'agreed' | 'declined',
  over: object = {},
): HandoffCommand => ({
  type: 'AnswerQuotation',
  at: 5,
  number: rfq?.quote?.number ?? 1,
  hash: rfq?.quote?.hash ?? HASH,
  answer: to,
  sealedReason: undefined,
  ...over,
});
/** What reaches a state, by each who may try it. */
const attempts = (
  state: HandoffState,
  to: RfqStateName,
  at: number,
): { by: 'staff' | 'buyer'; command: HandoffCommand }[] => {
  const newest = state.rfq?.quote?.number;
  const staff = (command: HandoffCommand) => ({ by: 'staff' as const, command });
  const buyer = (command: HandoffCommand) => ({ by: 'buyer' as const, command });
  switch (to) {
    case 'confirmed':
      return [
        staff(moveTo(to)),
        buyer({ type: 'ConfirmRfq', at, number: 1, listRevision: state.list_revision }),
      ];
    case 'quoted':
      return [
        staff(quote({ at, offer: offerOf(600, at + DUE) })),
        staff(quote({ at, offer: offerOf(600, at + DUE), replaces: newest })),
      ];
    case 'agreed':
    case 'declined':
      return [buyer(answer(state, to, { at }))];
    case 'withdrawn':
      return [staff(moveTo(to, {}, { at })), buyer({ type: 'WithdrawRfq', at, number: 1 })];
    case 'in_progress':
    case 'won':
    case 'lost':
      return [staff(moveTo(to, {}, { at }))];
    default:
      return [];
  }
};
const decide = (state: HandoffState, command: HandoffCommand) =>
  asStored(handoff.decide(state, command)) as { accepted: boolean; events?: Event[] };
const after = (state: HandoffState, ...events: Event[]): HandoffState =>
  events.reduce<HandoffState>((one, next) => handoff.evolve(one, next), state);
const accepted = (type: HandoffEventType, data: object) => ({
  accepted: true,
  events: [{ type, data: { ...NAMED, ...data } }],
});
const rejected = (reason: string) => ({ accepted: false, reason });

describe('An RFQ', () => {
  it('An RFQ moves in each state exactly as the table in the contract says, by the people whom it names', () => {
    for (const name of RFQ_STATES) {
      const { state, at } = STATES[name];
      expect(state.rfq && rfqStateAt(state.rfq, at)).toBe(name);
      for (const to of RFQ_STATES) {
        const made = new Set<Mover>();
        for (const { by, command } of attempts(state, to, at)) {
          const { events = [] } = decide(state, command);
          const reached = after(state, ...events.map((one) => ({ ...one, at }))).rfq;
          const last = events.at(-1)?.type;
          if (last === 'RfqMoveProposed') made.add('two of staff');
          else if (last && reached?.state === to) made.add(by);
        }
        const movers = name in RFQ_MOVES ? rfqMovers(name as keyof typeof RFQ_MOVES, to) : [];
        expect([...made].sort(), `${name} to ${to}`).toEqual([...movers].sort());
      }
    }
  });

  it('An RFQ can leave each state that has no outcome, and have each outcome corrected', () => {
    for (const to of Object.values(RFQ_MOVES)) expect(Object.keys(to).length).toBeGreaterThan(0);
    for (const name of RFQ_OUTCOMES)
      for (const to of RFQ_CORRECTIONS) {
        const { state } = STATES[name];
        const { events = [] } = decide(state, moveTo(to, { is_correction: true, values: EUR }));
        expect(events.length, `${name} to ${to}`).toBe(to === name && to !== 'won' ? 0 : 1);
      }
  });

  it('A quotation takes the RFQ up, has a number and a hash, and is valid until a time that is not past', () => {
    const { state } = STATES.confirmed;
    const offer = offerOf(700, 6);
    expect(decide(state, quote({ offer, sealedReason: 'r' }))).toEqual({
      accepted: true,
      events: [
        { type: 'RfqTakenUp', data: { ...NAMED, lines: [] } },
        {
          type: 'RfqQuoted',
          data: {
            ...NAMED,
            ...offer,
            sealed_reason: 'r',
            number: 1,
            hash: hashOfQuotation('hnd_1', { ...offer, number: 1 }),
            token_hash: 'q',
          },
        },
      ],
    });
    expect(decide(state, quote({ offer: offerOf(700, 5) }))).toMatchObject(rejected('quote_over'));
  });

  it('A hash covers every member of a quotation', () => {
    const offer = { ...offerOf(500), sealed_texts: 's' };
    const hashes = [
      { ...offer, number: 1 },
      { ...offer, number: 2 },
      { ...offer, number: 1, sealed_texts: 't' },
      { ...offer, number: 1, valid_until: 9 },
      { ...offer, number: 1, values: EUR },
      { ...offer, number: 1, left_out: [{ line_id: '2' }] },
      { ...offer, number: 1, charges: [{ label: 'Shipping', amount: 1, currency: 'GBP' }] },
      { ...offer, number: 1, lines: offerOf(501).lines },
    ].map((one) => hashOfQuotation('hnd_1', one));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('A later quotation names the one that it voids, and with it the answer of the buyer', () => {
    for (const name of ['quoted', 'agreed', 'declined'] as const) {
      const { state, at } = STATES[name];
      const offer = offerOf(600, at + DUE);
      for (const replaces of [undefined, 2])
        expect(decide(state, quote({ at, offer, replaces }))).toMatchObject(
          rejected('quotation_not_named'),
        );
      const { events = [] } = decide(state, quote({ at, offer, replaces: 1 }));
      const next = after(state, ...events.map((one) => ({ ...one, at })));
      expect(next.rfq).toMatchObject({ state: 'quoted', quote: { number: 2 } });
      expect(decide(next, answer(next, 'agreed', { at, ...FIRST }))).toMatchObject(
        rejected('quotation_replaced'),
      );
    }
    expect(decide(STATES.in_progress.state, quote({ replaces: 1 }))).toMatchObject(
      rejected('quotation_not_named'),
    );
  });

  it('An RFQ is won with the newest quotation and for its values: by one person if the buyer agreed, otherwise by two', () => {
    const counted = { countedLead: 'led_9' };
    const data = { values: GBP, quotation: FIRST, counted_lead: 'led_9', lines: linesOf(GBP) };
    expect(decide(STATES.agreed.state, moveTo('won', { values: EUR }, counted))).toEqual(
      accepted('RfqWon', { ...data, agreed: true }),
    );
    expect(decide(STATES.quoted.state, moveTo('won', { values: EUR }, counted))).toEqual(
      accepted('RfqMoveProposed', { to: 'won', values: GBP, quotation: FIRST }),
    );
    expect(
      decide(STATES.quoted.state, moveTo('won', {}, { ...counted, approval: { isAlone: true } })),
    ).toEqual(accepted('RfqWon', { ...data, alone: true }));
    expect(decide(STATES.agreed.state, moveTo('won', {}, { named: 2 }))).toMatchObject(
      rejected('quotation_replaced'),
    );
  });

  it('A buyer answers exactly the newest quotation while it is valid, and can change the answer until then', () => {
    const { state } = STATES.quoted;
    expect(decide(state, answer(state, 'agreed'))).toEqual(accepted('QuotationAgreed', FIRST));
    for (const over of [{ number: 2 }, { hash: 'x' }])
      expect(decide(state, answer(state, 'agreed', over))).toMatchObject(
        rejected('quotation_replaced'),
      );
    for (const to of ['agreed', 'declined'] as const)
      expect(decide(state, answer(state, to, { at: DUE }))).toMatchObject(rejected('quote_over'));
    const { state: no } = STATES.declined;
    expect(decide(no, answer(no, 'agreed', { at: DUE }))).toMatchObject(rejected('quote_over'));
    for (const name of ['agreed', 'declined'] as const)
      expect(decide(STATES[name].state, answer(STATES[name].state, name))).toEqual({
        accepted: true,
        events: [],
      });
  });

  it('A question stays open until it is answered, ends no proposal, and is asked a limited number of times', () => {
    const proposal = event('RfqMoveProposed', { to: 'won', values: GBP, quotation: FIRST });
    let state = fold(sent, confirmed, quoted, proposal);
    const ask = (question: number): HandoffCommand => ({
      type: 'AskQuestion',
      at: 5,
      number: 1,
      question,
      sealedQuestion: 's',
    });
    const reply = (question: number): HandoffCommand => ({
      type: 'AnswerQuestion',
      at: 5,
      question,
      sealedAnswer: 'a',
    });
    for (let number = 1; number <= 5; number += 1)
      state = after(state, { ...(decide(state, ask(number)).events?.[0] as Event), at: 5 });
    expect(state.rfq).toMatchObject({ proposed: { number: 1 }, open_questions: [1, 2, 3, 4, 5] });
    expect(decide(state, ask(6))).toMatchObject(rejected('too_many_questions'));
    expect(decide(state, ask(5))).toEqual({ accepted: true, events: [] });
    expect(decide(state, reply(6))).toMatchObject(rejected('question_answered'));
    state = after(state, { ...(decide(state, reply(2)).events?.[0] as Event), at: 5 });
    expect(state.rfq?.open_questions).toEqual([1, 3, 4, 5]);
    expect(decide(state, reply(2))).toMatchObject(rejected('question_answered'));
    expect(decide(STATES.won.state, ask(1))).toMatchObject(rejected('rfq_move_not_allowed'));
  });

  it('An RFQ does not change when a move is repeated', () => {
    const again = (name: RfqStateName, command: HandoffCommand) =>
      expect(decide(STATES[name].state, command)).toEqual({ accepted: true, events: [] });
    again('in_progress', moveTo('in_progress'));
    again('won', moveTo('won'));
    again('lost', moveTo('lost', { is_correction: true }));
  });

  it('An RFQ does not exist before the buyer sends it', () => {
    expect(decide(fold(), moveTo('lost'))).toMatchObject(rejected('rfq_unsent'));
    expect(() => after(fold(), event('RfqLost'))).toThrow('without an RFQ');
  });

  it('An RFQ makes a new version of its handoff only with its outcome', () => {
    const base = STATES.confirmed.state;
    for (const type of ['RfqTakenUp', 'RfqMoveProposed', 'RfqMoveRefused'] as const) {
      const { version, updated_at } = after(base, event(type, { to: 'lost' }, 9));
      expect([version, updated_at]).toEqual([base.version, base.updated_at]);
    }
    expect(after(base, { ...quoted, at: 9 }).version).toBe(base.version);
    expect(after(base, { ...won, at: 9 })).toMatchObject({
      version: base.version + 1,
      updated_at: 9,
    });
  });
});

describe('A correction', () => {
  const correct = (to: StaffTarget, more: Partial<RfqMove> = {}, over: object = {}) =>
    moveTo(to, { is_correction: true, ...(to === 'won' && { values: LESS }), ...more }, over);

  it('A correction changes the value of the day of the outcome, and keeps the lead that counts', () => {
    const { state } = STATES.won;
    const decision = decide(state, correct('won', {}, { countedLead: 'led_9' }));
    expect(decision).toEqual(
      accepted('RfqOutcomeCorrected', {
        from: { state: 'won', values: GBP, lines: linesOf(GBP) },
        to: { state: 'won', values: LESS, lines: linesOf(LESS) },
        outcome_at: 3,
        counted_lead: 'led_1',
        taken_up: [],
      }),
    );
    const [made] = decision.events ?? [];
    expect(made && after(state, { ...made, at: 7 }).rfq).toMatchObject({
      state: 'won',
      values: LESS,
      outcome_at: 3,
      counted_lead: 'led_1',
    });
  });

  it('A correction reverses an outcome, so that the RFQ can be moved again', () => {
    const { state } = STATES.won;
    const [made] = decide(state, correct('in_progress')).events ?? [];
    const open = made && after(state, { ...made, at: 7 });
    expect(open?.rfq).toMatchObject({ state: 'in_progress' });
    expect(open?.rfq).not.toHaveProperty('values');
    expect(open?.rfq).not.toHaveProperty('outcome_at');
    expect(open && decide(open, moveTo('lost'))).toEqual(accepted('RfqLost', {}));
  });

  it('A correction wins an RFQ that was recorded as lost on the day of that outcome', () => {
    const alone = { approval: { isAlone: true }, countedLead: 'led_2' };
    expect(decide(STATES.lost.state, correct('won', {}, alone))).toEqual(
      accepted('RfqOutcomeCorrected', {
        from: { state: 'lost' },
        to: { state: 'won', values: LESS, lines: [] },
        outcome_at: 3,
        counted_lead: 'led_2',
        alone: true,
        taken_up: [],
      }),
    );
    expect(decide(STATES.lost.state, correct('won', { values: undefined }))).toMatchObject(
      rejected('values_required'),
    );
  });

  it('A correction is refused without an outcome', () => {
    for (const name of ['confirmed', 'in_progress', 'quoted'] as const)
      expect(decide(STATES[name].state, correct('lost'))).toMatchObject(
        rejected('rfq_move_not_allowed'),
      );
  });
});

describe('A correction upwards', () => {
  it('A correction upwards in any currency needs two of staff, and one downwards does not', () => {
    const up = [[{ amount: 501, currency: 'GBP' }], EUR, [...LESS, ...EUR]];
    const correctTo = (state: HandoffState, values: RfqMove['values']) =>
      decide(state, moveTo('won', { is_correction: true, values })).events?.[0]?.type;
    for (const values of up) expect(correctTo(STATES.won.state, values)).toBe('RfqMoveProposed');
    expect(correctTo(STATES.lost.state, LESS)).toBe('RfqMoveProposed');
    expect(correctTo(STATES.won.state, LESS)).toBe('RfqOutcomeCorrected');
  });
});

describe('A move above the limit', () => {
  const limited = { approval: { above: LIMITS } };
  const offer = offerOf(500);
  const proposed = event('RfqMoveProposed', { to: 'quoted', values: GBP, offer });
  const approve = (proposal: number, at = 5): HandoffCommand => ({
    type: 'ApproveRfqMove',
    at,
    proposal,
    countedLead: undefined,
    tokenHash: 'q',
  });
  const asked = (name: RfqStateName, to: StaffTarget, more: Partial<RfqMove> = {}, over = {}) =>
    decide(STATES[name].state, moveTo(to, more, { ...limited, ...over })).events?.at(-1)?.type;

  it('A move above the limit is only proposed: a quotation and a correction, even in a currency without a limit', () => {
    expect(asked('confirmed', 'quoted')).toBe('RfqMoveProposed');
    expect(asked('won', 'lost', { is_correction: true })).toBe('RfqMoveProposed');
    expect(asked('won', 'won', { is_correction: true, values: LESS })).toBe('RfqMoveProposed');
    expect(asked('agreed', 'won')).toBe('RfqWon');
  });

  it('A move at the limit, or without a value, is made at once', () => {
    expect(asked('confirmed', 'quoted', {}, { offer: offerOf(499) })).toBe('RfqQuoted');
    expect(asked('quoted', 'lost')).toBe('RfqLost');
    expect(asked('lost', 'withdrawn', { is_correction: true })).toBe('RfqOutcomeCorrected');
  });

  it('A quotation above the limit is made when another person approves the proposal by its number', () => {
    const state = fold(sent, confirmed, proposed);
    expect(state.rfq).toMatchObject({ state: 'confirmed', proposed: { number: 1, to: 'quoted' } });
    const decision = decide(state, approve(1));
    expect(decision).toEqual(
      accepted('RfqQuoted', { ...offer, number: 1, hash: HASH, token_hash: 'q' }),
    );
    const [made] = decision.events ?? [];
    expect(made && after(state, { ...made, at: 6 }).rfq).not.toHaveProperty('proposed');
    expect(decide(state, approve(1, DUE))).toMatchObject(rejected('quote_over'));
  });

  it('A win is not proposed twice, and another proposal replaces it', () => {
    const proposal = event('RfqMoveProposed', { to: 'won', values: GBP, quotation: FIRST });
    const state = fold(sent, confirmed, quoted, proposal);
    expect(decide(state, moveTo('won'))).toEqual({ accepted: true, events: [] });
    const other = fold(sent, confirmed, quoted, proposal, { ...proposal, at: 4 });
    expect(other.rfq?.proposed?.number).toBe(2);
    expect(decide(other, approve(1))).toMatchObject(rejected('proposal_unknown'));
  });

  it('A proposed move is forgotten when it is refused, when the RFQ moves, or when the buyer answers', () => {
    const state = fold(sent, confirmed, quoted, proposed);
    const refuse: HandoffCommand = {
      type: 'RefuseRfqMove',
      at: 5,
      proposal: 1,
      sealedReason: 'no',
    };
    expect(decide(state, refuse)).toEqual(accepted('RfqMoveRefused', { sealed_reason: 'no' }));
    for (const next of [
      event('RfqMoveRefused', { sealed_reason: 'no' }),
      event('RfqTakenUp'),
      agreed,
    ])
      expect(decide(after(state, next), approve(1))).toMatchObject(rejected('proposal_unknown'));
  });
});

/** A generator of whole numbers below `max`, the same for each seed (mulberry32). */
const randomFrom = (seed: number) => {
  let at = seed;
  return (max: number): number => {
    at = (at + 0x6d2b79f5) | 0;
    let t = Math.imul(at ^ (at >>> 15), 1 | at);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * max);
  };
};

describe('A random walk', () => {
  /** Everything that anybody can try, with numbers of now and of before. */
  const commandsOf = (
    state: HandoffState,
    at: number,
    random: (max: number) => number,
  ): HandoffCommand[] => {
    const { rfq } = state;
    const approval: ApprovalRules = [{}, { above: LIMITS }, { isAlone: true }][random(3)] ?? {};
    const number = Math.max(1, (rfq?.quote?.number ?? 0) - random(2));
    const proposal = Math.max(1, (rfq?.proposals ?? 0) - random(2));
    const values = [{ amount: random(2_000), currency: 'GBP' }];
    const offer = offerOf(random(2_000), at + random(40));
    return [
      ...RFQ_STATES.flatMap((to) => attempts(state, to, at)).map(({ command }) => command),
      ...RFQ_CORRECTIONS.map((to) =>
        moveTo(to, { is_correction: true, ...(to === 'won' && { values }) }, { at, approval }),
      ),
      moveTo('won', {}, { at, approval, countedLead: 'led_1' }),
      quote({ at, offer, approval }),
      quote({ at, offer, approval, replaces: number }),
      answer(state, 'agreed', { at, number }),
      answer(state, 'declined', { at, number }),
      { type: 'ApproveRfqMove', at, proposal, countedLead: 'led_1', tokenHash: 'q' },
      { type: 'RefuseRfqMove', at, proposal, sealedReason: 'no' },
      { type: 'AskQuestion', at, number, question: (rfq?.questions ?? 0) + 1, sealedQuestion: 's' },
      { type: 'AnswerQuestion', at, question: 1 + random(3), sealedAnswer: 'a' },
    ];
  };

  it('A random walk by staff and buyer finds a way out of every open state, no money twice, and no win with another quotation', () => {
    const visited = new Set<RfqStateName>();
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomFrom(seed);
      let state = fold(sent);
      let at = 5;
      let counted = 0;
      for (let step = 0; step < 60; step += 1) {
        at += random(12);
        const before = state.rfq && rfqStateAt(state.rfq, at);
        if (before === undefined) break;
        visited.add(before);
        const commands = commandsOf(state, at, random);
        const decided = commands.map((command) => decide(state, command));
        const isOpen = !(RFQ_OUTCOMES as readonly string[]).includes(before);
        const leaves = decided.some(({ events = [] }) => events.length > 0);
        expect(leaves || !isOpen, `seed ${seed} is stuck in ${before}`).toBe(true);
        const { events = [] } = decided[random(decided.length)] ?? {};
        for (const each of events) {
          const { rfq } = state;
          if (each.type === 'RfqWon') {
            expect(counted, `seed ${seed} wins twice`).toBe(0);
            const { values, quotation, agreed: isAgreed, alone } = each.data;
            expect({ values, quotation }).toEqual({
              values: rfq?.quote?.values,
              quotation: { number: rfq?.quote?.number, hash: rfq?.quote?.hash },
            });
            expect(isAgreed === true).toBe(rfq?.state === 'agreed');
            if (!isAgreed && !alone) expect(rfq?.proposed).toMatchObject({ to: 'won' });
            counted = values[0]?.amount ?? 0;
          }
          if (each.type === 'RfqOutcomeCorrected') {
            const { from, to, alone } = each.data;
            expect(from.values?.[0]?.amount ?? 0, `seed ${seed} corrects another value`).toBe(
              counted,
            );
            const next = to.values?.[0]?.amount ?? 0;
            if (next > counted && !alone) expect(rfq?.proposed?.is_correction).toBe(true);
            counted = next;
          }
          state = after(state, { ...each, at });
        }
      }
    }
    expect([...visited].sort()).toEqual([...RFQ_STATES].sort());
  });
});
