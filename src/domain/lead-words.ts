/** What people write about a lead: sealed since, in clear in older events, and gone with an erasure. */
import type { LeadState } from './lead-state.ts';

/** Codes that a lead is judged with at once: nobody's words. */
export const OWN_REASONS = { known: 'already_known', own: 'duplicate_of_own_lead' } as const;

/** Whether somebody wrote it: it is none of our own codes. */
export const isWords = (reason: string | undefined): reason is string =>
  reason !== undefined && !Object.values<string>(OWN_REASONS).includes(reason);

/** What an erasure leaves: what was said in clear, in older events, is forgotten with what was sealed. */
export const erased = (state: LeadState): Partial<LeadState> => ({
  erased: true,
  ...((state.sealed_reason ?? isWords(state.state_reason)) && {
    state_reason: undefined,
    sealed_reason: '',
  }),
  ...(state.contact && { contact: '' }),
  ...(state.interest?.note && { interest: { ...state.interest, note: '' } }),
});
