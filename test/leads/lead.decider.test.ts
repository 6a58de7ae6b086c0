import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { LEAD_MOVES } from '#contracts/moves.ts';
import {
  type LeadState,
  MOVE_EVENTS,
  type StaffMove,
  type RfqOutcomeForLead,
  lead,
  type LeadCommand,
  stateAt,
  type LeadContent,
  type LeadSource,
} from '#src/leads/lead.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const DUE = 10_000;
const facts: EventData<'LeadSubmitted'> = {
  lead_id: 'led_1',
  agent_id: 'agt_1',
  external_id: 'crm-1',
  source: { kind: 'agent' },
  dims: {},
  claim_expires_at: DUE,
  company: { name: 'Shop', country: 'GB' },
  contact: 's1.led_1.x',
  interest: { note: 's1.led_1.n' },
};
const submitted = { type: 'LeadSubmitted' as const, data: facts };
const named = { lead_id: 'led_1', agent_id: 'agt_1', dims: {} };
const step = <const Type extends string>(type: Type, more = {}) => ({
  type,
  data: { ...named, ...more },
});
const move = (to: StaffMove, at = 1): LeadCommand => ({ type: 'MoveLead', at, to });
const AGENT = { source: { kind: 'agent' as const }, dims: {} };
const company = { name: 'Other', country: 'DE' };
const amended = (more: Partial<EventData<'LeadAmended'>>) => ({
  type: 'LeadAmended' as const,
  data: { lead_id: 'led_1', company, ...more },
});
const amending = (from: LeadSource): LeadCommand => ({
  type: 'AmendLead',
  at: 1,
  content: { company },
  from,
});
type Correction = EventData<'LeadOutcomeCorrected'>;
const correction = (
  more: Pick<Correction, 'from' | 'to' | 'outcome_at'> & Partial<Correction>,
) => ({
  type: 'LeadOutcomeCorrected' as const,
  data: { ...named, ...more },
});
const spec = specify(lead);

describe('A lead', () => {
  it('A lead is submitted, and rejected or marked as a duplicate at once if its contact is claimed', () => {
    const submit = (clash: 'none' | 'known' | 'own'): LeadCommand => ({
      type: 'SubmitLead',
      lead: facts,
      clash,
    });
    spec.given().when(submit('none')).then(submitted);
    const rejected = spec
      .given()
      .when(submit('known'))
      .then(submitted, step('LeadRejected', { reason: 'already_known' }));
    expect(rejected).toMatchObject({ state: 'rejected', state_reason: 'already_known' });
    spec
      .given()
      .when(submit('own'))
      .then(submitted, step('LeadMarkedDuplicate', { reason: 'duplicate_of_own_lead' }));
    spec.given(submitted).when(submit('none')).rejected('lead_exists');
  });

  it('A lead moves from submitted to won step by step', () => {
    const path = [step('LeadAccepted'), step('LeadContacted'), step('LeadQualified')] as const;
    spec.given(submitted).when(move('accepted')).then(path[0]);
    spec.given(submitted, path[0]).when(move('contacted')).then(path[1]);
    spec.given(submitted, path[0], path[1]).when(move('qualified')).then(path[2]);
    spec
      .given(submitted, ...path)
      .when({ type: 'ObserveRfq', at: 1, outcome: { state: 'open' } })
      .then(step('LeadRfqObserved'));
    spec
      .given(submitted, ...path)
      .when({ type: 'MoveLead', at: 1, to: 'won', value: { amount: 5, currency: 'GBP' } })
      .then(step('LeadWon', { value: { amount: 5, currency: 'GBP' } }));
  });

  it('A lead is moved by staff from one state to the next, with a sealed reason', () => {
    const moves = [
      ['accepted', 'LeadAccepted', []],
      ['rejected', 'LeadRejected', []],
      ['duplicate', 'LeadMarkedDuplicate', []],
      ['contacted', 'LeadContacted', ['LeadAccepted']],
      ['qualified', 'LeadQualified', ['LeadAccepted', 'LeadContacted']],
      ['unqualified', 'LeadUnqualified', ['LeadAccepted', 'LeadContacted']],
      ['won', 'LeadWon', ['LeadAccepted', 'LeadQualified']],
      ['lost', 'LeadLost', ['LeadAccepted', 'LeadQualified']],
    ] as const;
    for (const [to, type, before] of moves) {
      const command: LeadCommand = { type: 'MoveLead', at: 1, to, sealedReason: 's1.led_1.r' };
      const after = spec
        .given(submitted, ...before.map((one) => step(one)))
        .when(command)
        .then(step(type, { sealed_reason: 's1.led_1.r' }));
      expect(after).toMatchObject({ state: to, sealed_reason: 's1.led_1.r' });
      expect(after?.version).toBe(before.length + 1);
      spec
        .given()
        .when(command)
        .rejected('lead_unknown', /no such lead/);
    }
  });

  it('A lead can be withdrawn once, until it has an RFQ or a final state', () => {
    const withdraw: LeadCommand = { type: 'WithdrawLead', at: 1, sealedReason: 's1.led_1.w' };
    const event = step('LeadWithdrawn', { sealed_reason: 's1.led_1.w' });
    const path = [step('LeadAccepted'), step('LeadContacted'), step('LeadQualified')];
    for (const length of [0, 1, 2, 3])
      spec
        .given(submitted, ...path.slice(0, length))
        .when(withdraw)
        .then(event);
    spec.given(submitted, event).when(withdraw).then();
    for (const type of ['LeadRfqObserved', 'LeadWon', 'LeadUnqualified'] as const)
      spec
        .given(submitted, ...path, step(type))
        .when(withdraw)
        .rejected('lead_closed', /cannot be withdrawn/);
  });

  it('A lead records the RFQ of its handoff while staff work on it', () => {
    const observe: LeadCommand = { type: 'ObserveRfq', at: 1, outcome: { state: 'open' } };
    const observed = step('LeadRfqObserved');
    const path = [step('LeadAccepted'), step('LeadContacted'), step('LeadQualified')];
    for (const length of [1, 2, 3]) {
      const after = spec
        .given(submitted, ...path.slice(0, length))
        .when(observe)
        .then(observed);
      expect(after?.state).toBe('rfq_submitted');
    }
    spec.given(submitted).when(observe).then();
    spec.given(submitted, step('LeadRejected')).when(observe).then();
    spec
      .given(submitted, step('LeadAccepted'))
      .when({ type: 'ObserveRfq', at: DUE, outcome: { state: 'open' } })
      .then();
  });

  it('A lead has no event for an amendment with the values that it has', () => {
    const { company: same, contact, interest } = facts;
    const content = { company: same, contact, interest } as LeadContent;
    const repeat: LeadCommand = { type: 'AmendLead', at: 1, content, from: AGENT };
    spec.given(submitted).when(repeat).then();
    const other = { ...repeat, content: { ...content, contact: 's1.led_1.y' } };
    const event = {
      type: 'LeadAmended' as const,
      data: { lead_id: 'led_1', ...other.content },
    };
    expect(spec.given(submitted).when(other).then(event)?.contact).toBe('s1.led_1.y');
    const named: LeadCommand = {
      ...repeat,
      from: { source: { kind: 'agent', ref: 'bot' }, dims: {} },
    };
    const amendment = {
      type: 'LeadAmended' as const,
      data: { lead_id: 'led_1', ...content, ...named.from },
    };
    expect(spec.given(submitted).when(named).then(amendment)?.source.ref).toBe('bot');
    spec.given(submitted, amendment).when(repeat).then();
  });

  it('A lead has a way out of each state that is not final, and accepts no other move', () => {
    const paths = {
      submitted: [],
      accepted: ['LeadAccepted'],
      rejected: ['LeadRejected'],
      duplicate: ['LeadMarkedDuplicate'],
      contacted: ['LeadAccepted', 'LeadContacted'],
      qualified: ['LeadAccepted', 'LeadContacted', 'LeadQualified'],
      unqualified: ['LeadAccepted', 'LeadContacted', 'LeadUnqualified'],
      rfq_submitted: ['LeadAccepted', 'LeadRfqObserved'],
      won: ['LeadAccepted', 'LeadRfqObserved', 'LeadWon'],
      lost: ['LeadAccepted', 'LeadRfqObserved', 'LeadLost'],
      withdrawn: ['LeadWithdrawn'],
    } as const satisfies Record<LeadState['state'], readonly string[]>;
    const moves: Readonly<Record<string, readonly string[]>> = LEAD_MOVES;
    for (const [state, path] of Object.entries(paths)) {
      const history = spec.given(submitted, ...path.map((type) => step(type)));
      expect(history.state?.state).toBe(state);
      for (const to of Object.keys(MOVE_EVENTS) as StaffMove[]) {
        if (to === state) continue;
        const decision = lead.decide(history.state, move(to));
        expect(decision.accepted, `${state} to ${to}`).toBe(moves[state]?.includes(to) ?? false);
      }
    }
  });

  it("A lead follows the outcome of its handoff's RFQ, and each correction of it", () => {
    const observe = (outcome: RfqOutcomeForLead): LeadCommand => ({
      type: 'ObserveRfq',
      at: 1,
      outcome,
    });
    const won = observe({ state: 'won', isCounted: true });
    const lost = observe({ state: 'lost', reason: 'lost' });
    const from_rfq = true as const;
    const sent = [submitted, step('LeadAccepted'), step('LeadRfqObserved')] as const;
    const wonStep = step('LeadWon', { from_rfq });
    const lostStep = step('LeadLost', { reason: 'rfq_lost', from_rfq });
    spec
      .given(...sent)
      .when(observe({ state: 'open' }))
      .then();
    spec
      .given(...sent)
      .when(won)
      .then(wonStep);
    spec
      .given(...sent)
      .when(observe({ state: 'won', isCounted: false }))
      .then(step('LeadWon', { from_rfq, uncounted: true }));
    spec
      .given(...sent)
      .when(lost)
      .then(lostStep);
    spec.given(submitted, step('LeadAccepted')).when(won).then(step('LeadRfqObserved'), wonStep);
    spec
      .given(...sent, wonStep)
      .when(won)
      .then();
    const corrected = (
      from: Correction['from']['state'],
      to: Correction['to']['state'],
      reason?: string,
    ) =>
      correction({
        ...(reason !== undefined && { reason }),
        from_rfq,
        from: { state: from },
        to: { state: to },
        outcome_at: 1_003,
      });
    spec
      .given(...sent, wonStep)
      .when(lost)
      .then(corrected('won', 'lost', 'rfq_lost'));
    spec
      .given(...sent, lostStep)
      .when(won)
      .then(corrected('lost', 'won'));
    const reopened = corrected('won', 'rfq_submitted');
    const open = spec
      .given(...sent, wonStep)
      .when(observe({ state: 'open' }))
      .then(reopened);
    expect(open).not.toHaveProperty('outcome_at');
    spec
      .given(...sent, wonStep, reopened)
      .when(won)
      .then(wonStep);
    for (const end of ['LeadWon', 'LeadRejected'] as const)
      spec.given(submitted, step(end)).when(lost).then();
    const alone = lead.decide(spec.given(...sent).state, move('won'));
    expect(alone).toMatchObject({ detail: expect.stringContaining('follows the RFQ') as string });
  });

  it("A lead's own outcome is corrected or reversed by staff, with both values", () => {
    const [five, six] = [5, 6].map((amount) => ({ amount, currency: 'GBP' }));
    const correct = (to: 'won' | 'lost' | 'qualified', value?: typeof five): LeadCommand => {
      return { type: 'CorrectLead', at: 1, to, value, sealedReason: 'r' };
    };
    const won = step('LeadWon', { value: five });
    const corrected = (to: Correction['to']) =>
      correction({
        sealed_reason: 'r',
        from: { state: 'won', value: five },
        to,
        outcome_at: 1_001,
      });
    spec
      .given(submitted, won)
      .when(correct('won', six))
      .then(corrected({ state: 'won', value: six }));
    spec.given(submitted, won).when(correct('won', five)).then();
    const reversed = spec
      .given(submitted, won)
      .when(correct('qualified'))
      .then(corrected({ state: 'qualified' }));
    expect(reversed).toMatchObject({ state: 'qualified', sealed_reason: 'r' });
    for (const member of ['value', 'outcome_at']) expect(reversed).not.toHaveProperty(member);
    spec
      .given(submitted)
      .when(correct('lost'))
      .rejected('move_not_allowed', /no outcome to correct/);
    spec
      .given(submitted, step('LeadWon', { from_rfq: true }))
      .when(correct('lost'))
      .rejected('move_not_allowed', /correct that/);
  });

  it('A lead is amended while it is submitted or accepted, and withdrawn until its state is final', () => {
    const amend = amending(AGENT);
    for (const history of [[submitted], [submitted, step('LeadAccepted')]])
      expect(lead.decide(spec.given(...history).state, amend)).toMatchObject({ accepted: true });
    spec.given(submitted, step('LeadWithdrawn')).when(amend).rejected('lead_closed');
    spec.given(submitted).when({ type: 'WithdrawLead', at: 1 }).then(step('LeadWithdrawn'));
    spec
      .given(submitted, step('LeadRejected'))
      .when({ type: 'WithdrawLead', at: 1 })
      .rejected('lead_closed');
  });

  it('A lead contains exactly the content of its last amendment', () => {
    const event = amended({ left_out: ['contact', 'interest'] });
    const state = spec.given(submitted).when(amending(AGENT)).then(event);
    expect(state).toMatchObject({ company, source: facts.source });
    // Not undefined either: a row that is read back from a store has no such member.
    for (const member of event.data.left_out ?? []) expect(state).not.toHaveProperty(member);
  });

  it('A lead keeps what an amendment of an older log omitted', () => {
    const { state } = spec.given(submitted, amended({}));
    expect(state).toMatchObject({ company, contact: facts.contact, interest: facts.interest });
  });

  it('A lead accepts a source while its only source is the agent, and then keeps that source', () => {
    const from = {
      source: { kind: 'handoff' as const, ref: 'hnd_1' },
      handoff_id: 'hnd_1',
      dims: { campaign: 'autumn' },
    };
    const decide = (state: LeadState | undefined, from: LeadSource) =>
      lead.decide(state, amending(from));
    const withSource = amended({ left_out: ['contact', 'interest'], ...from });
    expect(decide(spec.given(submitted).state, from)).toEqual({
      accepted: true,
      events: [withSource],
    });
    const { state } = spec.given(submitted, withSource);
    expect(state).toMatchObject(from);
    for (const same of [from, AGENT])
      expect(decide(state, same)).toEqual({ accepted: true, events: [] });
    for (const source of [
      { kind: 'handoff' as const, ref: 'hnd_2' },
      { kind: 'agent' as const, ref: 'bot' },
      { kind: 'manual' as const },
    ])
      expect(decide(state, { source, dims: {} })).toMatchObject({ reason: 'source_fixed' });
    spec
      .given(submitted, withSource)
      .when(move('accepted'))
      .then(step('LeadAccepted', { dims: from.dims, handoff_id: 'hnd_1' }));
  });

  it('A lead shows only the reason for its current state', () => {
    const accepted = step('LeadAccepted', { reason: 'Good fit' });
    expect(spec.given(submitted, accepted).state).toMatchObject({ state_reason: 'Good fit' });
    for (const next of [step('LeadContacted'), step('LeadWithdrawn')])
      expect(spec.given(submitted, accepted, next).state).not.toHaveProperty('state_reason');
    expect(spec.given(submitted, accepted, amended({})).state).toMatchObject({
      state_reason: 'Good fit',
    });
  });

  it('A lead lapses if staff do not accept it in time', () => {
    const { state } = spec.given(submitted);
    expect(state && stateAt(state, DUE - 1)).toBe('submitted');
    expect(state && stateAt(state, DUE)).toBe('lapsed');
    spec.given(submitted).when(move('accepted', DUE)).rejected('move_not_allowed');
    const contacted = spec.given(submitted, step('LeadAccepted'), step('LeadContacted')).state;
    expect(contacted && stateAt(contacted, DUE)).toBe('contacted');
  });

  it('A lead loses the person and keeps the company by an erasure', () => {
    const after = spec
      .given(submitted)
      .when({ type: 'EraseSubject', subject: 'led_1', reason: 'Asked' })
      .then({ type: 'SubjectErased', data: { subject: 'led_1', reason: 'Asked' } });
    expect(after).toMatchObject({
      contact: '',
      interest: { note: '' },
      company: { name: 'Shop' },
      erased: true,
    });
  });

  it('A lead accepts no personal data after an erasure', () => {
    const erased = {
      type: 'SubjectErased' as const,
      data: { subject: 'led_1', reason: 'Asked' },
    };
    spec.given(submitted, erased).when(amending(AGENT)).rejected('lead_closed');
    const why = step('LeadRejected', { reason: 'No', sealed_reason: 's1.led_1.w' });
    const { state } = spec.given(submitted, erased, why);
    expect(state).toMatchObject({ state: 'rejected' });
    for (const member of ['state_reason', 'sealed_reason'])
      expect(state).not.toHaveProperty(member);
  });
});
