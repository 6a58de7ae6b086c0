import type { EventData } from '#contracts/events/index.ts';

/** The states that staff can move a lead to. */
export type StaffMove =
  | 'accepted'
  | 'rejected'
  | 'duplicate'
  | 'contacted'
  | 'qualified'
  | 'unqualified'
  | 'won'
  | 'lost';

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
