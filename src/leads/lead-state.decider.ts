import type { EventData, LeadEventType } from '#contracts/registries/events.ts';
import { LEAD_MOVES } from '#contracts/moves.ts';
import type { Proposing } from '#src/shared/proposal.ts';
import type { RecordVersion } from '#src/shared/decider.ts';

/** The event of each move of staff. */
export const MOVE_EVENTS = {
  accepted: 'LeadAccepted',
  rejected: 'LeadRejected',
  duplicate: 'LeadMarkedDuplicate',
  contacted: 'LeadContacted',
  qualified: 'LeadQualified',
  unqualified: 'LeadUnqualified',
  won: 'LeadWon',
  lost: 'LeadLost',
} as const satisfies Record<(typeof LEAD_MOVES)[keyof typeof LEAD_MOVES][number], LeadEventType>;

export type StaffMove = keyof typeof MOVE_EVENTS;

export type LeadStatus = 'submitted' | StaffMove | 'rfq_submitted' | 'withdrawn' | 'lapsed';

/** A win or a correction that another person must approve. */
export type LeadMove = Pick<
  EventData<'LeadMoveProposed'>,
  'to' | 'value' | 'is_correction' | 'sealed_reason'
>;

export type LeadState = EventData<'LeadSubmitted'> &
  RecordVersion &
  Proposing<LeadMove> & {
    state: Exclude<LeadStatus, 'lapsed'>;
    state_reason?: string | undefined;
    /** Empty after an erasure, like every sealed text. */
    sealed_reason?: string | undefined;
    value?: { amount: number; currency: string } | undefined;
    /** When it got its outcome, in epoch milliseconds. */
    outcome_at?: number | undefined;
    /** It took the outcome of the RFQ of its handoff. */
    from_rfq?: true | undefined;
    /** Another lead counts for the same RFQ. */
    uncounted?: true | undefined;
    erased: boolean;
  };

/** Whether only an erasure or a correction can follow. The claim of a lead expires by the clock, without an event. */
export const isFinal = (state: LeadState['state']): boolean => !(state in LEAD_MOVES);

/** Whether staff can move a lead from one state to the other. */
export const isMove = (from: LeadStatus, to: StaffMove): boolean =>
  from in LEAD_MOVES &&
  (LEAD_MOVES[from as keyof typeof LEAD_MOVES] as readonly string[]).includes(to);
