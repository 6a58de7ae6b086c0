/** Events of a link. */
import { z } from 'zod';
import {
  attributionDims,
  linkTarget,
  storedMetadata,
  storedWarnings,
} from '#contracts/event-fields.ts';

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
  warnings: storedWarnings,
});

const LinkDisabled = z.object({ link_id: z.string(), code: z.string(), reason: z.string() });

/** What is absent stays. Visits from then on have the new dimensions. */
const LinkUpdated = z.object({
  link_id: z.string(),
  code: z.string(),
  agent_id: z.string(),
  target: linkTarget.optional(),
  name: z.string().optional(),
  destination_url: z.string().optional(),
  dims: attributionDims.optional(),
  expires_at: z.number().optional(),
});

export const linkEvents = { LinkCreated, LinkDisabled, LinkUpdated };
