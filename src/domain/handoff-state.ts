import type { EventData } from '#contracts/events/index.ts';

export type HandoffStatus =
  | 'awaiting_buyer'
  | 'in_review'
  | 'rfq_submitted'
  | 'declined'
  | 'withdrawn'
  | 'invalidated';

export type HandoffLine = EventData<'HandoffCreated'>['lines'][number] & {
  /** What the catalog asked for it when the RFQ was sent, where that was another price. */
  price_when_sent?: { amount: number; currency: string };
};

export type HandoffState = Omit<EventData<'HandoffCreated'>, 'buyer' | 'lines'> & {
  buyer: EventData<'HandoffCreated'>['buyer'];
  lines: HandoffLine[];
  status: HandoffStatus;
  status_reason?: string | undefined;
  /** Empty once it is erased, as every text that was sealed. */
  sealed_reason?: string;
  /** Rises with each change of the list; what the buyer sends must be what the buyer saw. */
  list_revision: number;
  /** How many lines all changes hold; those of older events, which held the whole list, count none. */
  lines_revised?: number;
  rfq?: { contact: string; submitted_at: number };
  erased: boolean;
  created_at: number;
  updated_at: number;
  version: number;
};
