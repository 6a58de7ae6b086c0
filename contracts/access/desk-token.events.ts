import { z } from 'zod';

export const DeskTokenIssued = z.object({
  token_id: z.string(),
  name: z.string(),
  /** Chosen by the operator, or `name:` and the skeleton of the name. Absent in older events. */
  person_id: z.string().optional(),
  roles: z.array(z.string()),
  owner_id: z.string().optional(),
  hash: z.string(),
  pepper_version: z.number(),
  expires_at: z.number().optional(),
});

export const DeskTokenRevoked = z.object({ token_id: z.string(), reason: z.string() });

export const deskTokenEvents = { DeskTokenIssued, DeskTokenRevoked };
