import type { EventData } from '#contracts/events/index.ts';

/** For each move of staff, the states that it starts from and its event. */
export const MOVES = {
  accepted: { from: ['submitted'], event: 'LeadAccepted' },
  rejected: { from: ['submitted'], event: 'LeadRejected' },
  duplicate: { from: ['submitted'], event: 'LeadMarkedDuplicate' },
  contacted: { from: ['accepted'], event: 'LeadContacted' },
  qualified: { from: ['contacted'], event: 'LeadQualified' },
  unqualified: { from: ['contacted', 'qualified'], event: 'LeadUnqualified' },
  won: { from: ['qualified', 'rfq_submitted'], event: 'LeadWon' },
  lost: { from: ['qualified', 'rfq_submitted'], event: 'LeadLost' },
} as const satisfies Record<string, { from: readonly string[]; event: string }>;

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

/** Whether no event but an erasure can follow. A lead whose claim expired is not final: its state follows from the clock. */
export const isFinal = (state: LeadState['state']): boolean =>
  !Object.values(MOVES).some(({ from }: { from: readonly string[] }) => from.includes(state));
