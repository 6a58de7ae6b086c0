/** Schemas of fields that events share. */
import { z } from 'zod';

// Parts of the stored format: never rename a field; only add optional ones.

export const linkTarget = z.object({
  kind: z.enum(['product', 'category', 'search']),
  ref: z.string(),
});

/**
 * The dimensions of performance, copied into each event when it happens. A later change of the record
 * rewrites no history, and a fold needs no other record.
 */
export const attributionDims = z.object({
  campaign: z.string().optional(),
  channel: z.string().optional(),
  sub_ids: z.array(z.string()).optional(),
  product_id: z.string().optional(),
  category: z.string().optional(),
  /** The name of the client that the agent acted with. */
  client: z.string().optional(),
});

export const storedMetadata = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .optional();

/** Text encrypted with a subject's key: readable only while the key exists. */
export const sealed = z.string();

/**
 * Keyed hashes of an address and of its mailbox, in which the spellings of one mailbox are equal. Each begins with the
 * generation of its key, like `1.3f…`.
 */
export const mailboxKeys = z.object({ address: z.string(), mailbox: z.string() });

/**
 * A reason that a person wrote is sealed, because it may be about a person. `reason` is unencrypted: a code of
 * this service.
 */
export const reasonFields = { reason: z.string().optional(), sealed_reason: sealed.optional() };

/** What a write was accepted with, and the id of the record that it is about. */
export const storedWarnings = z
  .array(z.object({ code: z.enum(['source_not_live', 'external_id_in_use']), id: z.string() }))
  .optional();

/** The attribution window that the owner's profile had, in days. */
export const windowDays = z.number();

export const moneyAmount = z.object({ amount: z.number(), currency: z.string() });

export const storedLine = z.object({
  line_id: z.string(),
  product_id: z.string(),
  sku: z.string(),
  title: z.string(),
  product_revision: z.number(),
  /** Of the product when the line was priced. */
  category: z.string(),
  quantity: z.number(),
  unit_price: z.number(),
  tier_min_quantity: z.number(),
  currency: z.string(),
  warnings: z.array(z.string()).optional(),
  /** With warnings: what the quantity was compared with, and the nearest quantities without a warning. */
  rule: z
    .object({
      moq: z.number(),
      increment: z.number(),
      available: z.number().optional(),
      in_list: z.number().optional(),
      below: z.number().optional(),
      above: z.number().optional(),
      next_tier: z.number().optional(),
    })
    .optional(),
});

/** What a line of an RFQ comes to, and the product and category that it counts for. */
export const valuedLine = z.object({
  line_id: z.string(),
  product_id: z.string(),
  category: z.string(),
  ...moneyAmount.shape,
});

/** A product as published: amounts in minor units, tiers ascending by min_quantity. */
export const publishedProduct = z.object({
  product_id: z.string(),
  sku: z.string(),
  title: z.string(),
  description: z.string(),
  brand: z.string().optional(),
  gtin: z.string().optional(),
  mpn: z.string().optional(),
  category: z.string(),
  image_url: z.string().optional(),
  origin_country: z.string().optional(),
  ship_from: z.string().optional(),
  lead_time_days: z.number().optional(),
  currency: z.string(),
  moq: z.number(),
  increment: z.number(),
  price_tiers: z.array(z.object({ min_quantity: z.number(), unit_price: z.number() })),
  certifications: z.array(z.string()).optional(),
  source_updated_at: z.string().optional(),
  /** The feed that has the product. */
  source: z.string().optional(),
});

export const stockLevel = z.object({
  level: z.enum(['in_stock', 'low', 'out_of_stock']),
  available_quantity: z.number().nullable(),
});

/** Kinds of outreach that go to a channel which is configured for their owner. */
export const channelKind = z.enum(['social_post', 'message', 'agent_notification']);

/** `handoff_delivery`: the letter with the review link of a handoff, which the service mails itself. */
export const outboundKind = z.enum([...channelKind.options, 'handoff_delivery']);

/** Where approved content is sent. Part of what is approved, so that later settings do not change it. */
export const channelVia = z.object({
  adapter: z.enum(['file', 'webhook', 'a2a']),
  url: z.string().optional(),
});

/** `mail`: the service mails it. */
export const outboundVia = channelVia.extend({
  adapter: z.enum([...channelVia.shape.adapter.options, 'mail']),
});

/** Calls of one kind within an audit record. */
export const auditEntry = {
  operation: z.string(),
  surface: z.string(),
  decision: z.enum(['allowed', 'denied', 'refused', 'failed', 'replayed']),
  code: z.string().optional(),
  request_id: z.string(),
  /** The session of a person, and the page of the call. */
  session: z.string().optional(),
  page: z.string().optional(),
  /** The input of the call as JSON, where the operation requires it. */
  asked: z.string().optional(),
  /** Epoch milliseconds of the first call. */
  at: z.number(),
  count: z.number(),
};

/** What proves an answer later: the position that it reflects, its hash, and what it was made from. */
export const recordedAnswer = z.object({
  position: z.number(),
  /** Of the contract and of the classifier. */
  version: z.string(),
  /**
   * As sealed JSON: the SHA-256 of the answer, the input, the time of the call and what else the answer depends on. An answer
   * can have contacts, which a hash that everyone reads would confirm.
   */
  sealed_record: sealed,
});
