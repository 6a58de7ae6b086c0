import { z } from 'zod';
import {
  attributionDims,
  mailboxKeys,
  storedMetadata,
  moneyAmount,
  sealed,
  storedLine,
} from '#contracts/event-fields.ts';

export const HandoffCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  title: z.string(),
  sealed_note_to_buyer: sealed.optional(),
  locale: z.string(),
  link_id: z.string().optional(),
  external_id: z.string().optional(),
  dims: attributionDims,
  buyer: z.object({
    company: z.string().optional(),
    country: z.string().optional(),
    email: sealed.optional(),
  }),
  /** Of the buyer's address, with it. */
  mailbox_keys: mailboxKeys.optional(),
  lines: z.array(storedLine),
  /** The notes of all lines by line id, as sealed JSON. */
  sealed_line_notes: sealed.optional(),
  totals: z.array(moneyAmount),
  token_hash: z.string(),
  review_origin: z.string(),
  expires_at: z.number(),
  /** The A2A task that created the handoff, and its context. */
  task_id: z.string().optional(),
  context_id: z.string().optional(),
  metadata: storedMetadata,
});

/**
 * The first event of a list that its buyer made on landing pages, instead of HandoffCreated. Its personal data is only
 * the contact of a later RFQ.
 */
export const BuyerListCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  link_id: z.string().optional(),
  dims: attributionDims,
  /** The visit that is credited; absent if none is. */
  visit_id: z.string().optional(),
  /** Other visits of the same owner whose tokens the list's address had. */
  alternatives: z
    .array(z.object({ agent_id: z.string(), link_id: z.string(), visit_id: z.string() }))
    .optional(),
  locale: z.string(),
  lines: z.array(storedLine),
  totals: z.array(moneyAmount),
  token_hash: z.string(),
  review_origin: z.string(),
  expires_at: z.number(),
});

const subject = {
  handoff_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
};

export const HandoffOpenedByBuyer = z.object(subject);

export const HandoffListRevisedByBuyer = z.object({
  ...subject,
  /** The lines that changed, each complete. The order of the list stays. */
  changed: z.array(storedLine).optional(),
  /** Ids of removed lines. */
  removed: z.array(z.string()).optional(),
  /** Lines that the buyer added, or put back with the ids that they had; complete, as `changed`. */
  added: z.array(storedLine).optional(),
  /** Totals of the whole list. */
  totals: z.array(moneyAmount),
});

export const HandoffDeclinedByBuyer = z.object({ ...subject, sealed_reason: sealed.optional() });

/** Catalog data of a line when the RFQ was sent. A withdrawn product has no price. */
const lineNews = z.object({
  line_id: z.string(),
  price: moneyAmount.optional(),
  warnings: z.array(z.string()),
});

/** The only event that submits an RFQ; only the holder of the review link can cause it. */
export const RfqSubmittedByBuyer = z.object({
  ...subject,
  list_revision: z.number(),
  totals: z.array(moneyAmount),
  contact: sealed,
  /** Of the contact. */
  mailbox_keys: mailboxKeys.optional(),
  /** The subject for which the contact is sealed; in older events the handoff. */
  contact_subject: z.string().optional(),
  /** The RFQ waits for the confirmation of its mailbox. Without this member it is confirmed when it is sent. */
  confirmation: z
    .object({
      /** The number of this sending of the list, from 1. A later one ends the link of an earlier one. */
      number: z.number(),
      token_hash: z.string(),
      /** Epoch milliseconds. */
      until: z.number(),
      /** When the list was first sent, in epoch milliseconds, if this replaces a sending that was not confirmed. */
      first_at: z.number().optional(),
    })
    .optional(),
  consent_text: z.string(),
  consented_at: z.number(),
  /** Lines whose price or warnings had changed in the catalog. */
  news: z.array(lineNews).optional(),
});

export const HandoffWithdrawn = z.object({
  handoff_id: z.string(),
  sealed_reason: sealed.optional(),
});
export const HandoffInvalidated = z.object({
  handoff_id: z.string(),
  sealed_reason: sealed.optional(),
});

export const handoffEvents = {
  BuyerListCreated,
  HandoffCreated,
  HandoffDeclinedByBuyer,
  HandoffInvalidated,
  HandoffListRevisedByBuyer,
  HandoffOpenedByBuyer,
  HandoffWithdrawn,
  RfqSubmittedByBuyer,
};
