import { z } from 'zod';
import { attributionDims, moneyAmount, sealed, why } from './shared.ts';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

export const storedLine = z.object({
  line_id: z.string(),
  product_id: z.string(),
  sku: z.string(),
  title: z.string(),
  product_revision: z.number(),
  quantity: z.number(),
  unit_price: z.number(),
  tier_min_quantity: z.number(),
  currency: z.string(),
  /** In clear, in older events only: sealed_line_notes since. */
  note: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});

export const HandoffCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  title: z.string(),
  /** In clear, in older events only: sealed_note_to_buyer since. */
  note_to_buyer: z.string().optional(),
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
  lines: z.array(storedLine),
  /** The notes of all lines by line id, as JSON in one sealed text. */
  sealed_line_notes: sealed.optional(),
  totals: z.array(moneyAmount),
  token_hash: z.string(),
  review_origin: z.string(),
  expires_at: z.number(),
  /** The A2A task that made it, and the context of that one. */
  task_id: z.string().optional(),
  context_id: z.string().optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});

const named = {
  handoff_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  link_id: z.string().optional(),
};

export const HandoffOpenedByBuyer = z.object(named);

export const HandoffListRevisedByBuyer = z.object({
  ...named,
  /** The whole list, in older events only: `changed` and `removed` since. */
  lines: z.array(storedLine).optional(),
  /** Lines that are other than before, each whole; the list keeps its order. */
  changed: z.array(storedLine).optional(),
  /** Ids of lines that were taken off. */
  removed: z.array(z.string()).optional(),
  /** Of the whole list. */
  totals: z.array(moneyAmount),
});

export const HandoffDeclinedByBuyer = z.object({ ...named, ...why });

/** What the catalog said of a line when the RFQ was sent; a product that was withdrawn has no price. */
const lineNews = z.object({
  line_id: z.string(),
  price: moneyAmount.optional(),
  warnings: z.array(z.string()),
});

/** The only event by which an RFQ comes to be; only the holder of the review link can cause it. */
export const RfqSubmittedByBuyer = z.object({
  ...named,
  list_revision: z.number(),
  totals: z.array(moneyAmount),
  contact: sealed,
  consent_text: z.string(),
  consented_at: z.number(),
  /** Of lines that it had news of. */
  news: z.array(lineNews).optional(),
});

export const HandoffWithdrawn = z.object({ handoff_id: z.string(), ...why });
export const HandoffInvalidated = z.object({ handoff_id: z.string(), ...why });
