/* What staff can do with an RFQ in each of its states, and the exact events. */
import { describe, expect, it } from 'vitest';
import type { EventData, Happened, HandoffEventType } from '#contracts/registries/events.ts';
import {
  RFQ_CORRECTIONS,
  RFQ_MOVES,
  RFQ_OUTCOMES,
  RFQ_STATES,
  RFQ_TARGETS,
  type RfqStateName,
  type RfqTarget,
} from '#contracts/moves.ts';
import { type HandoffState, handoff, type HandoffCommand } from '#src/handoffs/handoff.decider.ts';
import { type RfqMove, rfqStateAt } from '#src/handoffs/rfq.decider.ts';
import { asStored } from '../support/world/decider-spec.ts';

const DUE = 1_000;
const GBP = [{ amount: 500, currency: 'GBP' }];
const EUR = [{ amount: 500, currency: 'EUR' }];
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
  consented_at: 2,
});
const confirmed = event('RfqConfirmedByBuyer', { totals: GBP, submitted_at: 2 });
const quoted = event('RfqQuoted', { values: GBP, valid_until: DUE });
const won = event('RfqWon', { values: GBP, counted_lead: 'led_1' }, 3);
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
  expired: { state: fold(sent, confirmed, quoted), at: DUE },
  won: { state: fold(sent, confirmed, quoted, won), at: 5 },
  lost: { state: fold(sent, confirmed, event('RfqLost', {}, 3)), at: 5 },
  withdrawn: { state: fold(sent, confirmed, event('RfqWithdrawn', {}, 3)), at: 5 },
};

const moveTo = (to: RfqTarget, more: Partial<RfqMove> = {}, over: object = {}): HandoffCommand =>
  to === 'confirmed'
    ? { type: 'ConfirmByStaff', sealedReason: 'known' }
    : {
        type: 'MoveRfq',
        at: 5,
        move: {
          to,
          ...((to === 'quoted' || to === 'won') && { values: EUR }),
          ...(to === 'quoted' && { valid_until: DUE + 5 }),
          ...more,
        },
        approvalAbove: undefined,
        countedLead: undefined,
        ...over,
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
  it('An RFQ moves in each state exactly to the states of the table in the contract', () => {
    for (const name of RFQ_STATES) {
      const { state, at } = STATES[name];
      expect(state.rfq && rfqStateAt(state.rfq, at)).toBe(name);
      const reached = RFQ_TARGETS.filter((to) => {
        const { events = [] } = decide(state, moveTo(to, {}, { at }));
        const [made] = events;
        return made && after(state, { ...made, at }).rfq?.state === to;
      });
      expect(reached, name).toEqual(
        RFQ_TARGETS.filter((to) =>
          ((RFQ_MOVES as Record<string, readonly string[]>)[name] ?? []).includes(to),
        ),
      );
    }
  });

  it('An RFQ can leave each state that has no outcome, and have each outcome corrected', () => {
    for (const to of Object.values(RFQ_MOVES)) expect(to.length).toBeGreaterThan(0);
    for (const name of RFQ_OUTCOMES)
      for (const to of RFQ_CORRECTIONS) {
        const { state } = STATES[name];
        const { events = [] } = decide(state, moveTo(to, { is_correction: true }));
        expect(events.length, `${name} to ${to}`).toBe(to === name && to !== 'won' ? 0 : 1);
      }
  });

  it('An RFQ is quoted with values until a time that is not past', () => {
    const { state } = STATES.confirmed;
    const data = { values: EUR, valid_until: DUE, sealed_reason: 'r' };
    expect(decide(state, moveTo('quoted', { valid_until: DUE, sealed_reason: 'r' }))).toEqual(
      accepted('RfqQuoted', data),
    );
    expect(decide(state, moveTo('quoted', { values: undefined }))).toMatchObject(
      rejected('values_required'),
    );
    for (const valid_until of [undefined, 5])
      expect(decide(state, moveTo('quoted', { valid_until }))).toMatchObject(
        rejected('quote_over'),
      );
  });

  it('An RFQ is won for the quoted values unless the move names others', () => {
    const { state } = STATES.quoted;
    const counted = { countedLead: 'led_9' };
    expect(decide(state, moveTo('won', { values: undefined }, counted))).toEqual(
      accepted('RfqWon', { values: GBP, counted_lead: 'led_9' }),
    );
    expect(decide(state, moveTo('won'))).toEqual(accepted('RfqWon', { values: EUR }));
  });

  it('An RFQ does not change when a move is repeated', () => {
    const again = (name: RfqStateName, command: HandoffCommand) =>
      expect(decide(STATES[name].state, command)).toEqual({ accepted: true, events: [] });
    again('in_progress', moveTo('in_progress'));
    again('quoted', moveTo('quoted', { values: GBP, valid_until: DUE }));
    again('won', moveTo('won', { values: GBP }));
    again('lost', moveTo('lost', { is_correction: true }));
    expect(decide(STATES.won.state, moveTo('won'))).toMatchObject(rejected('rfq_move_not_allowed'));
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
  const correct = (to: RfqTarget, more: Partial<RfqMove> = {}, over: object = {}) =>
    moveTo(to, { is_correction: true, ...more }, over);

  it('A correction changes the value of the day of the outcome, and keeps the lead that counts', () => {
    const { state } = STATES.won;
    const decision = decide(state, correct('won', {}, { countedLead: 'led_9' }));
    expect(decision).toEqual(
      accepted('RfqOutcomeCorrected', {
        from: { state: 'won', values: GBP },
        to: { state: 'won', values: EUR },
        outcome_at: 3,
        counted_lead: 'led_1',
      }),
    );
    const [made] = decision.events ?? [];
    expect(made && after(state, { ...made, at: 7 }).rfq).toMatchObject({
      state: 'won',
      values: EUR,
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
    expect(decide(STATES.lost.state, correct('won', {}, { countedLead: 'led_2' }))).toEqual(
      accepted('RfqOutcomeCorrected', {
        from: { state: 'lost' },
        to: { state: 'won', values: EUR },
        outcome_at: 3,
        counted_lead: 'led_2',
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

describe('A move above the limit', () => {
  const limited = { approvalAbove: LIMITS };
  const proposed = event('RfqMoveProposed', { to: 'quoted', values: GBP, valid_until: DUE });
  const approve = (proposal: number, at = 5): HandoffCommand => ({
    type: 'ApproveRfqMove',
    at,
    proposal,
    countedLead: undefined,
  });
  const asked = (name: RfqStateName, to: RfqTarget, more: Partial<RfqMove> = {}) =>
    decide(STATES[name].state, moveTo(to, { values: GBP, ...more }, limited)).events?.[0]?.type;

  it('A move above the limit is only proposed: a quotation, a win and a correction, even in a currency without a limit', () => {
    expect(asked('confirmed', 'quoted')).toBe('RfqMoveProposed');
    expect(asked('quoted', 'won')).toBe('RfqMoveProposed');
    expect(asked('quoted', 'won', { values: [{ amount: 1, currency: 'USD' }] })).toBe(
      'RfqMoveProposed',
    );
    expect(asked('won', 'lost', { is_correction: true, values: undefined })).toBe(
      'RfqMoveProposed',
    );
    expect(asked('lost', 'won', { is_correction: true })).toBe('RfqMoveProposed');
  });

  it('A move at the limit, or without a value, is made at once', () => {
    const values = [{ amount: 499, currency: 'GBP' }];
    expect(asked('confirmed', 'quoted', { values })).toBe('RfqQuoted');
    expect(asked('quoted', 'lost', { values: undefined })).toBe('RfqLost');
    expect(asked('lost', 'withdrawn', { is_correction: true, values: undefined })).toBe(
      'RfqOutcomeCorrected',
    );
  });

  it('A move above the limit is made when another person approves the proposal by its number', () => {
    const state = fold(sent, confirmed, proposed);
    expect(state.rfq).toMatchObject({ state: 'confirmed', proposed: { number: 1, to: 'quoted' } });
    const decision = decide(state, approve(1));
    expect(decision).toEqual(accepted('RfqQuoted', { values: GBP, valid_until: DUE }));
    const [made] = decision.events ?? [];
    expect(made && after(state, { ...made, at: 6 }).rfq).not.toHaveProperty('proposed');
    expect(decide(state, approve(1, DUE))).toMatchObject(rejected('quote_over'));
  });

  it('A move above the limit is not proposed twice, and another proposal replaces it', () => {
    const state = fold(sent, confirmed, proposed);
    const same = moveTo('quoted', { values: GBP, valid_until: DUE }, limited);
    expect(decide(state, same)).toEqual({ accepted: true, events: [] });
    const other = fold(sent, confirmed, proposed, { ...proposed, at: 4 });
    expect(other.rfq?.proposed?.number).toBe(2);
    expect(decide(other, approve(1))).toMatchObject(rejected('proposal_unknown'));
  });

  it('A proposed move is forgotten when it is refused, or when the RFQ moves', () => {
    const state = fold(sent, confirmed, proposed);
    const refuse: HandoffCommand = {
      type: 'RefuseRfqMove',
      at: 5,
      proposal: 1,
      sealedReason: 'no',
    };
    expect(decide(state, refuse)).toEqual(accepted('RfqMoveRefused', { sealed_reason: 'no' }));
    for (const next of [event('RfqMoveRefused', { sealed_reason: 'no' }), event('RfqTakenUp')])
      expect(decide(after(state, next), approve(1))).toMatchObject(rejected('proposal_unknown'));
  });
});
