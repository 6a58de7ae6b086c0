import { z } from 'zod';
import { attributionDims, moneyAmount, sealed } from './shared.ts';

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
  note: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});

export const HandoffCreated = z.object({
  handoff_id: z.string(),
  agent_id: z.string(),
  title: z.string(),
  note_to_buyer: z.string().optional(),
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
  lines: z.array(storedLine),
  totals: z.array(moneyAmount),
});

export const HandoffDeclinedByBuyer = z.object({ ...named, reason: z.string().optional() });

/** The only event by which an RFQ comes to be; only the holder of the review link can cause it. */
export const RfqSubmittedByBuyer = z.object({
  ...named,
  list_revision: z.number(),
  totals: z.array(moneyAmount),
  contact: sealed,
  consent_text: z.string(),
  consented_at: z.number(),
});

export const HandoffWithdrawn = z.object({ handoff_id: z.string(), reason: z.string() });
export const HandoffInvalidated = z.object({ handoff_id: z.string(), reason: z.string() });
