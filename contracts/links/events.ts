/** Events of a link. */
import { z } from 'zod';
import { attributionDims, linkTarget, storedMetadata } from '#contracts/event-fields.ts';

const LinkCreated = z.object({
  link_id: z.string(),
  agent_id: z.string(),
  /** Title of the product. */
  name: z.string().optional(),
  target: linkTarget,
  destination_url: z.string(),
  code: z.string(),
  short_url: z.string(),
  slug: z.string().optional(),
  external_id: z.string().optional(),
  dims: attributionDims,
  utm: z.record(z.string(), z.string()).optional(),
  expires_at: z.number().optional(),
  expired_url: z.string().optional(),
  metadata: storedMetadata,
});

const LinkDisabled = z.object({ link_id: z.string(), code: z.string(), reason: z.string() });

export const linkEvents = { LinkCreated, LinkDisabled };
