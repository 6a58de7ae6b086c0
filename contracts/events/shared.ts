import { z } from 'zod';

/** What a link points at. */
export const linkTarget = z.object({
  kind: z.enum(['product', 'category', 'search']),
  ref: z.string(),
});

/**
 * The dimensions of performance, pinned into each event when it happens, so that a later change
 * rewrites no history and a fold needs no other record.
 */
export const attributionDims = z.object({
  campaign: z.string().optional(),
  channel: z.string().optional(),
  sub_ids: z.array(z.string()).optional(),
  product_id: z.string().optional(),
  category: z.string().optional(),
});

/** Text sealed with a subject's key: readable only while the key exists. */
export const sealed = z.string();

/**
 * Why, in somebody's words: sealed, since they may be about a person. `reason` is in clear: a code of
 * our own, and in events of before there was the other one whatever was written.
 */
export const why = { reason: z.string().optional(), sealed_reason: sealed.optional() };

export const moneyAmount = z.object({ amount: z.number(), currency: z.string() });
