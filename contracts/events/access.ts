import { z } from 'zod';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

const scopes = z.array(z.string());

export const AccessRequested = z.object({
  agent_id: z.string(),
  name: z.string(),
  purpose: z.string(),
  scopes,
});
export const AccessApproved = z.object({ agent_id: z.string(), scopes, reason: z.string() });
export const AccessDenied = z.object({ agent_id: z.string(), reason: z.string() });
/** An owner lifts only what an owner imposed; of events without a role nobody knows, so they are staff's. */
export const AgentSuspended = z.object({
  agent_id: z.string(),
  reason: z.string(),
  by_role: z.enum(['owner', 'staff']).optional(),
});
export const AgentReinstated = z.object({ agent_id: z.string(), reason: z.string() });

/** The key itself is never stored: hash is HMAC-SHA-256 with the pepper of that version. */
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
/** The old key of a rotation goes on working until expires_at. */
export const KeyRetired = z.object({
  key_id: z.string(),
  replaced_by: z.string(),
  expires_at: z.number(),
});
export const KeyRevoked = z.object({ key_id: z.string(), reason: z.string() });

export const DeskTokenIssued = z.object({
  token_id: z.string(),
  name: z.string(),
  roles: z.array(z.string()),
  owner_id: z.string().optional(),
  hash: z.string(),
  pepper_version: z.number(),
  expires_at: z.number().optional(),
});
export const DeskTokenRevoked = z.object({ token_id: z.string(), reason: z.string() });
