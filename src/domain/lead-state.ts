import type { EventData } from '#contracts/events/index.ts';

/** For each move of staff, the state that it starts from and its event. */
export const MOVES = {
  accepted: { from: 'submitted', event: 'LeadAccepted' },
  rejected: { from: 'submitted', event: 'LeadRejected' },
  duplicate: { from: 'submitted', event: 'LeadMarkedDuplicate' },
  contacted: { from: 'accepted', event: 'LeadContacted' },
  qualified: { from: 'contacted', event: 'LeadQualified' },
  unqualified: { from: 'contacted', event: 'LeadUnqualified' },
  won: { from: 'rfq_submitted', event: 'LeadWon' },
  lost: { from: 'rfq_submitted', event: 'LeadLost' },
} as const;

/** The states that staff can move a lead to. */
export type StaffMove = keyof typeof MOVES;

export type LeadStatus = 'submitted' | StaffMove | 'rfq_submitted' | 'withdrawn' | 'lapsed';

export type LeadState = EventData<'LeadSubmitted'> & {
  state: Exclude<LeadStatus, 'lapsed'>;
  state_reason?: string | undefined;
  /** Empty after an erasure, like every sealed text. */
  sealed_reason?: string | undefined;
  value?: { amount: number; currency: string };
  erased: boolean;
  created_at: number;
  updated_at: number;
  version: number;
};
