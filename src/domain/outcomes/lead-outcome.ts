/** The outcome of a lead: of its own, or that of the RFQ of its handoff. */
import type { EventData, EventOf, LeadEventType } from '#contracts/events/index.ts';
import { accept, type Decision, reject } from '../decider.ts';
import { isSameValue } from '../equality.ts';
import type { LeadState } from '../lead-state.ts';
import { AUTOMATIC_REASONS } from '../lead-texts.ts';

type Event = EventOf<LeadEventType>;
type Corrected = EventData<'LeadOutcomeCorrected'>;
type Reference = Pick<LeadState, 'lead_id' | 'agent_id' | 'dims' | 'link_id' | 'handoff_id'>;

/** The outcome of an RFQ for one of its leads. `isCounted`: this lead is the one that counts as won. */
export type RfqOutcomeForLead =
  | { state: 'open' }
  | { state: 'won'; isCounted: boolean }
  | { state: 'lost'; reason: 'lost' | 'withdrawn' };

export type CorrectLead = {
  type: 'CorrectLead';
  to: 'won' | 'lost' | 'qualified';
  value?: { amount: number; currency: string } | undefined;
  sealedReason: string | undefined;
};

/** The events by which a lead follows the RFQ of its handoff. */
export const followRfq = (
  lead: LeadState,
  outcome: RfqOutcomeForLead,
  reference: Reference,
): Event[] => {
  const reason = outcome.state === 'lost' ? AUTOMATIC_REASONS[outcome.reason] : undefined;
  const isUncounted = outcome.state === 'won' ? !outcome.isCounted : lead.uncounted === true;
  const uncounted = isUncounted ? (true as const) : undefined;
  const data = { ...reference, reason, from_rfq: true as const };
  if (lead.state === 'rfq_submitted') {
    if (outcome.state === 'open') return [];
    return outcome.state === 'won'
      ? [{ type: 'LeadWon', data: { ...data, uncounted } }]
      : [{ type: 'LeadLost', data }];
  }
  const from = outcomeOf(lead);
  const state = outcome.state === 'open' ? 'rfq_submitted' : outcome.state;
  if (!lead.from_rfq || !from || from.state === state) return [];
  const { outcome_at = 0 } = lead;
  return [
    {
      type: 'LeadOutcomeCorrected',
      data: { ...data, from, to: { state }, outcome_at, uncounted },
    },
  ];
};

export const decideCorrection = (
  lead: LeadState,
  { to: state, value, sealedReason }: CorrectLead,
  reference: Reference,
): Decision<Event, 'move_not_allowed'> => {
  const from = outcomeOf(lead);
  if (lead.from_rfq)
    return reject(
      'move_not_allowed',
      `the lead follows the RFQ of ${lead.handoff_id}: correct that`,
    );
  if (!from)
    return reject('move_not_allowed', `the lead is ${lead.state} and has no outcome to correct`);
  const to = { state, ...(value && { value }) };
  const { outcome_at = 0 } = lead;
  const data = { ...reference, sealed_reason: sealedReason, from, to, outcome_at };
  return isSameValue(from, to) ? accept() : accept({ type: 'LeadOutcomeCorrected', data });
};

const outcomeOf = ({ state, value }: LeadState): Corrected['from'] | undefined =>
  state === 'won' || state === 'lost' ? { state, ...(value && { value }) } : undefined;
