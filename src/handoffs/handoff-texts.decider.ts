/** Texts that people write in a handoff: sealed, and removed by an erasure. */
import type { EventData } from '#contracts/registries/events.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { eraseRfq } from './rfq-state.decider.ts';

export const endReason = ({
  sealed_reason,
}: EventData<'HandoffWithdrawn'>): Partial<HandoffState> =>
  sealed_reason ? { sealed_reason } : {};

/** Removes every text about a person from the state, and ends an open review or RFQ. */
export const eraseHandoff = (state: HandoffState, at: number): Partial<HandoffState> => {
  const { email: _erased, ...buyer } = state.buyer;
  const isUndecided = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    buyer,
    erased: true,
    sealed_line_notes: undefined,
    ...(state.sealed_note_to_buyer && { sealed_note_to_buyer: '' }),
    ...(state.sealed_reason && { sealed_reason: '' }),
    ...(isUndecided && { status: 'withdrawn', status_reason: 'erased' }),
    ...(state.rfq && { rfq: erasedRfq(state.rfq, at) }),
  };
};

/** An RFQ that was not confirmed is none. */
const erasedRfq = (rfq: NonNullable<HandoffState['rfq']>, at: number): HandoffState['rfq'] =>
  rfq.confirmation
    ? undefined
    : { ...eraseRfq(rfq, at), contact: '', submitted_at: rfq.submitted_at };
