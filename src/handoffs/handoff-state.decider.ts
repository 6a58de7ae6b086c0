import type { EventData } from '#contracts/registries/events.ts';
import type { RfqProgress } from './rfq-state.decider.ts';
import type { RecordVersion } from '#src/shared/decider.ts';

export type HandoffStatus =
  | 'awaiting_buyer'
  | 'in_review'
  | 'rfq_submitted'
  | 'declined'
  | 'withdrawn'
  | 'invalidated';

export type HandoffLine = EventData<'HandoffCreated'>['lines'][number] & {
  /** In a handoff whose texts were opened for display. */
  note?: string;
  /** The price in the catalog when the RFQ was sent, if it was another one. */
  price_when_sent?: { amount: number; currency: string };
};

export type HandoffState = RecordVersion &
  Omit<EventData<'HandoffCreated'>, 'lines'> & {
    lines: HandoffLine[];
    /** The buyer made the list; its author is not an agent. */
    made_by_buyer?: true;
    status: HandoffStatus;
    /** A code of the service; a text in a handoff whose texts were opened for display. */
    status_reason?: string | undefined;
    /** In a handoff whose texts were opened for display. */
    note_to_buyer?: string;
    /** Empty after an erasure, like every sealed text. */
    sealed_reason?: string;
    /** Rises with each change of the list. The buyer sends the revision that was shown. */
    list_revision: number;
    /** Number of lines in all changes. */
    lines_revised?: number;
    rfq?:
      | (RfqProgress & {
          contact: string;
          /** The subject for which the contact is sealed; absent if it is the handoff. */
          contact_subject?: string | undefined;
          submitted_at: number;
        })
      | undefined;
    /** How often the list was sent with a confirmation to come; a link by mail belongs to one sending. */
    rfqs_sent?: number;
    erased: boolean;
  };
