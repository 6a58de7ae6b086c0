import { z } from 'zod';
import { attributionDims, moneyAmount, reasonFields } from '#contracts/event-fields.ts';

// The events of an RFQ after the buyer sent it. They are in the stream of its handoff.

const subject = {
  handoff_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
};
const values = z.array(moneyAmount);
const outcome = z.enum(['won', 'lost', 'withdrawn']);

const moved = z.object({ ...subject, ...reasonFields });

const confirmed = moved.extend({
  totals: z.array(moneyAmount),
  /** When the list was first sent, in epoch milliseconds: it counted as unconfirmed from then on. */
  submitted_at: z.number(),
});

/** Only the holder of the contact's mailbox can cause it. */
export const RfqConfirmedByBuyer = confirmed;

/** Staff know the buyer otherwise; the reason says how. */
export const RfqConfirmedByStaff = confirmed;

/** The subject of an erasure, whose key is destroyed with the event. */
const forgotten = z.object({ ...subject, contact_subject: z.string() });

/** The RFQ was not confirmed in time, and is none. */
export const RfqConfirmationExpired = forgotten;

/**
 * An unconfirmed RFQ ended: the holder of the mailbox did not send it or erased their data, another sending replaced it,
 * or the list was closed.
 */
export const RfqDropped = forgotten.extend({
  reason: z.enum(['disowned', 'erased', 'replaced', 'closed']),
});

export const RfqTakenUp = moved;

export const RfqQuoted = moved.extend({
  values,
  /** Epoch milliseconds. */
  valid_until: z.number(),
});

export const RfqWon = moved.extend({
  values,
  /** The only lead of the handoff that counts as won. */
  counted_lead: z.string().optional(),
});

export const RfqLost = moved;
export const RfqWithdrawn = moved;

/** A move or a correction that another person must approve. */
export const RfqMoveProposed = moved.extend({
  to: z.enum(['in_progress', 'quoted', 'won', 'lost', 'withdrawn']),
  values: values.optional(),
  valid_until: z.number().optional(),
  is_correction: z.literal(true).optional(),
});

export const RfqMoveRefused = moved;

export const RfqOutcomeCorrected = moved.extend({
  from: z.object({ state: outcome, values: values.optional() }),
  to: z.object({
    state: z.enum(['in_progress', 'won', 'lost', 'withdrawn']),
    values: values.optional(),
  }),
  /** When the RFQ got the outcome that is corrected, in epoch milliseconds: numbers change on that day. */
  outcome_at: z.number(),
  counted_lead: z.string().optional(),
});

export const rfqEvents = {
  RfqConfirmationExpired,
  RfqConfirmedByBuyer,
  RfqConfirmedByStaff,
  RfqDropped,
  RfqLost,
  RfqMoveProposed,
  RfqMoveRefused,
  RfqOutcomeCorrected,
  RfqQuoted,
  RfqTakenUp,
  RfqWithdrawn,
  RfqWon,
};
