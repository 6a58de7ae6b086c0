import { z } from 'zod';

/** The key itself is never stored: `hash` is HMAC-SHA-256 with the pepper of that version. */
export const KeyIssued = z.object({
  key_id: z.string(),
  agent_id: z.string(),
  environment: z.enum(['live', 'test']),
  last4: z.string(),
  hash: z.string(),
  pepper_version: z.number(),
  expires_at: z.number(),
  rotated_from: z.string().optional(),
});

/** The old key of a rotation works until expires_at. */
export const KeyRetired = z.object({
  key_id: z.string(),
  replaced_by: z.string(),
  expires_at: z.number(),
});

export const KeyRevoked = z.object({ key_id: z.string(), reason: z.string() });

export const keyEvents = { KeyIssued, KeyRetired, KeyRevoked };
