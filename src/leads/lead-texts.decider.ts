/** Texts that people write about a lead: sealed, and removed by an erasure. */
import type { LeadState } from './lead-state.decider.ts';

/** Reasons that the service itself gives; they contain no personal data. */
export const AUTOMATIC_REASONS = {
  known: 'already_known',
  own: 'duplicate_of_own_lead',
  lost: 'rfq_lost',
  withdrawn: 'rfq_withdrawn',
} as const;

/** Removes every text about a person from the state. */
export const eraseLead = (state: LeadState): Partial<LeadState> => ({
  erased: true,
  ...(state.sealed_reason && { sealed_reason: '' }),
  ...(state.contact && { contact: '' }),
  ...(state.interest?.note && { interest: { ...state.interest, note: '' } }),
});
