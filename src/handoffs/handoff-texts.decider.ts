/** Texts that people write in a handoff: sealed in newer events, plain in older ones, removed by an erasure. */
import type { EventData } from '#contracts/registries/events.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { eraseRfq } from './rfq-state.decider.ts';

type Lines = EventData<'HandoffCreated'>['lines'];

export const endReason = ({
  reason,
  sealed_reason,
}: EventData<'HandoffWithdrawn'>): Partial<HandoffState> => ({
  ...(reason && { status_reason: reason }),
  ...(sealed_reason && { sealed_reason }),
});

/** Removes every text about a person, sealed or plain, from the state, and ends an open review or RFQ. */
export const eraseHandoff = (state: HandoffState, at: number): Partial<HandoffState> => {
  const { email: _erased, ...buyer } = state.buyer;
  const isUndecided = state.status === 'awaiting_buyer' || state.status === 'in_review';
  return {
    buyer,
    erased: true,
    lines: withoutNotes(state.lines),
    sealed_line_notes: undefined,
    ...((state.note_to_buyer ?? state.sealed_note_to_buyer) && {
      note_to_buyer: undefined,
      sealed_note_to_buyer: '',
    }),
    ...((state.status_reason ?? state.sealed_reason) && {
      status_reason: undefined,
      sealed_reason: '',
    }),
    ...(isUndecided && { status: 'withdrawn', status_reason: 'erased' }),
    ...(state.rfq && { rfq: erasedRfq(state.rfq, at) }),
  };
};

/** An RFQ that was not confirmed is none. */
const erasedRfq = (rfq: NonNullable<HandoffState['rfq']>, at: number): HandoffState['rfq'] =>
  rfq.confirmation
    ? undefined
    : { ...eraseRfq(rfq, at), contact: '', submitted_at: rfq.submitted_at };

/** The lines without their notes, which no new event contains as plain text. */
export const withoutNotes = (lines: Lines): Lines =>
  lines.map(({ note: _removed, ...line }) => line);

/** The lines with the notes that the lines of the same id have in `before`. Only older events contain notes. */
export const withNotesOf = (before: Lines, lines: Lines): Lines => {
  const notes = new Map(before.map(({ line_id, note }) => [line_id, note]));
  return lines.map((line) => {
    const note = line.note ?? notes.get(line.line_id);
    return note === undefined ? line : { ...line, note };
  });
};
