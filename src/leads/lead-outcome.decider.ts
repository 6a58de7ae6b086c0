/** A lead follows the RFQ of its handoff and takes its outcome. */
import type { EventOf, LeadEventType } from '#contracts/registries/events.ts';
import type { LeadState } from './lead-state.decider.ts';
import { AUTOMATIC_REASONS } from './lead-texts.decider.ts';
import { outcomeOf } from './lead-move.decider.ts';

type Event = EventOf<LeadEventType>;
/** What every event of a lead contains, so that it can be attributed without its stream. */
export type LeadReference = Pick<
  LeadState,
  'lead_id' | 'agent_id' | 'dims' | 'link_id' | 'handoff_id'
>;

/** The outcome of an RFQ for one of its leads. `isCounted`: this lead is the one that counts as won. */
export type RfqOutcomeForLead =
  | { state: 'open' }
  | { state: 'won'; isCounted: boolean }
  | { state: 'lost'; reason: 'lost' | 'withdrawn' };

/** The events by which a lead follows the RFQ of its handoff. */
export const followRfq = (
  lead: LeadState,
  outcome: RfqOutcomeForLead,
  reference: LeadReference,
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
