/** Texts that people write about a lead: sealed in newer events, plain in older ones, removed by an erasure. */
import type { LeadState } from './lead-state.decider.ts';

/** Reasons that the service itself gives; they contain no personal data. */
export const AUTOMATIC_REASONS = {
  known: 'already_known',
  own: 'duplicate_of_own_lead',
  lost: 'rfq_lost',
  withdrawn: 'rfq_withdrawn',
} as const;

export const isWrittenReason = (reason: string | undefined): reason is string =>
  reason !== undefined && !Object.values<string>(AUTOMATIC_REASONS).includes(reason);

/** Removes every text about a person, sealed or plain, from the state. */
export const eraseLead = (state: LeadState): Partial<LeadState> => ({
  erased: true,
  ...((state.sealed_reason ?? isWrittenReason(state.state_reason)) && {
    state_reason: undefined,
    sealed_reason: '',
  }),
  ...(state.contact && { contact: '' }),
  ...(state.interest?.note && { interest: { ...state.interest, note: '' } }),
});
