/** What people write in a handoff: sealed since, in clear in older events, and gone with an erasure. */
import type { EventData } from '#contracts/events/index.ts';
import type { HandoffState } from './handoff-state.ts';

type Lines = EventData<'HandoffCreated'>['lines'];

/** Why it ended as it did, in clear or sealed. */
export const why = ({
  reason,
  sealed_reason,
}: EventData<'HandoffWithdrawn'>): Partial<HandoffState> => ({
  ...(reason && { status_reason: reason }),
  ...(sealed_reason && { sealed_reason }),
});

/** What an erasure leaves: what was said in clear, in older events, is forgotten with what was sealed. */
export const erased = (state: HandoffState): Partial<HandoffState> => {
  const { email: _erased, ...buyer } = state.buyer;
  const waiting = state.status === 'awaiting_buyer' || state.status === 'in_review';
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
    // Nobody is left to review it.
    ...(waiting && { status: 'withdrawn', status_reason: 'erased' }),
    ...(state.rfq && { rfq: { contact: '', submitted_at: state.rfq.submitted_at } }),
  };
};

/** No event repeats in clear what somebody wrote beside a line. */
export const withoutNotes = (lines: Lines): Lines =>
  lines.map(({ note: _written, ...line }) => line);

/** `lines` with the notes of older events, which stay with their line whatever becomes of the list. */
export const withNotesOf = (before: Lines, lines: Lines): Lines => {
  const notes = new Map(before.map(({ line_id, note }) => [line_id, note]));
  return lines.map((line) => {
    const note = line.note ?? notes.get(line.line_id);
    return note === undefined ? line : { ...line, note };
  });
};
