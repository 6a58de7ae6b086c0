/** The wins and corrections of a lead that need a second person, and the exact events. */
import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { type LeadCommand, lead } from '#src/leads/lead.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

const GBP = (amount: number) => ({ amount, currency: 'GBP' });
const named = { lead_id: 'led_1', agent_id: 'agt_1', dims: {} };
const facts: EventData<'LeadSubmitted'> = {
  ...named,
  external_id: 'crm-1',
  source: { kind: 'agent' },
  claim_expires_at: 10_000,
  company: { name: 'Shop', country: 'GB' },
};
const step = <const Type extends string, More extends object>(type: Type, more = {} as More) => ({
  type,
  data: { ...named, ...more },
});
const spec = specify(lead);
const QUALIFIED = [
  { type: 'LeadSubmitted' as const, data: facts },
  step('LeadAccepted'),
  step('LeadContacted'),
  step('LeadQualified', { sealed_reason: 'fits' }),
] as const;
const WON = [...QUALIFIED, step('LeadWon', { value: GBP(600) })] as const;

const approval = { above: [GBP(499)] };
const win = (amount: number): LeadCommand => ({
  type: 'MoveLead',
  at: 1,
  to: 'won',
  value: GBP(amount),
  sealedReason: 'large',
  approval,
});
const correct = (to: 'won' | 'lost' | 'qualified', amount?: number): LeadCommand => ({
  type: 'CorrectLead',
  at: 1,
  to,
  value: amount === undefined ? undefined : GBP(amount),
  sealedReason: 'wrong',
  approval,
});
const approve = (proposal: number): LeadCommand => ({ type: 'ApproveLeadMove', at: 1, proposal });
const refuse: LeadCommand = { type: 'RefuseLeadMove', at: 1, proposal: 1, sealedReason: 'no' };

const proposedWin = step('LeadMoveProposed', {
  to: 'won' as const,
  value: GBP(500),
  sealed_reason: 'large',
});
const proposedLoss = step('LeadMoveProposed', {
  to: 'lost' as const,
  is_correction: true as const,
  sealed_reason: 'wrong',
});

describe('A win of a lead', () => {
  it('A win of a lead without an RFQ is made at once only where one person is enough, and the event says so', () => {
    spec
      .given(...QUALIFIED)
      .when({ ...win(1), approval: { isAlone: true } } as LeadCommand)
      .then(step('LeadWon', { value: GBP(1), sealed_reason: 'large', alone: true as const }));
    spec
      .given(...QUALIFIED)
      .when({ type: 'MoveLead', at: 1, to: 'won', approval: {} })
      .then(step('LeadMoveProposed', { to: 'won' as const }));
  });

  it('A win of a lead without an RFQ is proposed, without a new version of the lead or a different reason', () => {
    const before = spec.given(...QUALIFIED).state;
    const after = spec
      .given(...QUALIFIED)
      .when(win(500))
      .then(proposedWin);
    expect(after).toMatchObject({
      state: 'qualified',
      sealed_reason: 'fits',
      version: before?.version,
      updated_at: before?.updated_at,
      proposed: { number: 1, to: 'won', value: GBP(500) },
    });
    spec
      .given(...QUALIFIED, proposedWin)
      .when(win(500))
      .then();
    expect(
      spec
        .given(...QUALIFIED, proposedWin)
        .when(win(501))
        .then(step('LeadMoveProposed', { ...proposedWin.data, value: GBP(501) }))?.proposed,
    ).toMatchObject({ number: 2 });
  });

  it('A proposed win of a lead is made by the approval of its number, as it was proposed', () => {
    const won = spec
      .given(...QUALIFIED, proposedWin)
      .when(approve(1))
      .then(step('LeadWon', { value: GBP(500), sealed_reason: 'large' }));
    expect(won).not.toHaveProperty('proposed');
    spec
      .given(...QUALIFIED, proposedWin)
      .when(approve(2))
      .rejected('proposal_unknown');
    spec
      .given(...QUALIFIED)
      .when(approve(1))
      .rejected('proposal_unknown');
  });

  it('A win of a lead is no longer proposed after its refusal, and after every other change of the lead', () => {
    const refused = step('LeadMoveRefused', { sealed_reason: 'no' });
    const before = spec.given(...QUALIFIED).state;
    expect(
      spec
        .given(...QUALIFIED, proposedWin)
        .when(refuse)
        .then(refused),
    ).toEqual({ ...before, proposals: 1 });
    const erased = { type: 'SubjectErased' as const, data: { subject: 'led_1', reason: 'r' } };
    for (const change of [refused, step('LeadLost'), step('LeadRfqObserved'), erased])
      spec
        .given(...QUALIFIED, proposedWin, change)
        .when(approve(1))
        .rejected('proposal_unknown');
  });
});

describe('A correction of a lead', () => {
  it('A correction of a lead is proposed if it raises the outcome, or if the value before or after it is above the limit', () => {
    spec
      .given(...WON)
      .when(correct('lost'))
      .then(proposedLoss);
    const lost = [...QUALIFIED, step('LeadLost')] as const;
    spec
      .given(...lost)
      .when(correct('won', 500))
      .then(
        step('LeadMoveProposed', {
          ...proposedLoss.data,
          to: 'won' as const,
          value: GBP(500),
        }),
      );
    const upwards = { ...correct('won', 400), approval: {} } as LeadCommand;
    spec
      .given(...lost)
      .when(upwards)
      .then(
        step('LeadMoveProposed', { ...proposedLoss.data, to: 'won' as const, value: GBP(400) }),
      );
    spec
      .given(...WON)
      .when({ ...correct('won', 400), approval: {} } as LeadCommand)
      .then(
        step('LeadOutcomeCorrected', {
          from: { state: 'won' as const, value: GBP(600) },
          to: { state: 'won' as const, value: GBP(400) },
          outcome_at: 1_004,
          sealed_reason: 'wrong',
        }),
      );
    spec
      .given(...lost)
      .when(correct('qualified'))
      .then(
        step('LeadOutcomeCorrected', {
          from: { state: 'lost' as const },
          to: { state: 'qualified' as const },
          outcome_at: 1_004,
          sealed_reason: 'wrong',
        }),
      );
  });

  it('A proposed correction of a lead is made by the approval of its number', () => {
    spec
      .given(...WON, proposedLoss)
      .when(approve(1))
      .then(
        step('LeadOutcomeCorrected', {
          from: { state: 'won' as const, value: GBP(600) },
          to: { state: 'lost' as const },
          outcome_at: 1_004,
          sealed_reason: 'wrong',
        }),
      );
  });
});
