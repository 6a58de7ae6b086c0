/** A link as operations answer it. */
import { z } from 'zod';
import { id, line, recordWarnings, time, shownMetadata, versioned } from '#contracts/fields.ts';

const TARGET_KINDS = ['product', 'category', 'search'] as const;

export const target = z
  .strictObject({
    kind: z.enum(TARGET_KINDS).describe('What ref refers to'),
    ref: line(200).describe('Product id or sku, category name, or search words'),
  })
  .describe('What the link points to; always a page of this service');

const CHANNELS = ['site', 'email', 'social', 'chat', 'agent', 'qr', 'other'] as const;

export const channel = z.enum(CHANNELS).describe('Kind of channel; reports can be grouped by it');

export const utm = z.strictObject({
  source: line(255).optional().describe('utm_source'),
  medium: line(255).optional().describe('utm_medium'),
  campaign: line(255).optional().describe('utm_campaign'),
  term: line(255).optional().describe('utm_term'),
  content: line(255).optional().describe('utm_content'),
});

export const LINK_STATUSES = ['active', 'disabled', 'expired'] as const;

export const linkRecord = z
  .object({
    id: id('lnk'),
    owner_id: z.string(),
    agent_id: z.string(),
    target: z.object({ kind: z.enum(TARGET_KINDS), ref: z.string() }),
    destination_url: z.string(),
    short_url: z.string(),
    qr_svg_url: z.string(),
    qr_png_url: z.string(),
    code: z.string(),
    slug: z.string().optional(),
    external_id: z.string().optional(),
    campaign: z.string().optional(),
    channel: z.enum(CHANNELS).optional(),
    sub_ids: z.array(z.string()).optional(),
    utm: utm.optional(),
    expires_at: time.optional(),
    expired_url: z.string().optional(),
    disclosure: z.string().describe('Text to show beside the link'),
    metadata: shownMetadata.optional(),
    warnings: recordWarnings.optional(),
    status: z.enum(LINK_STATUSES),
    ...versioned,
  })
  .meta({ id: 'Link' });

export type Link = z.infer<typeof linkRecord>;
