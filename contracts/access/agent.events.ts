import { z } from 'zod';

const scopes = z.array(z.string());
const decision = { agent_id: z.string(), reason: z.string() };

export const AccessRequested = z.object({
  agent_id: z.string(),
  name: z.string(),
  purpose: z.string(),
  scopes,
  /** The public application that the request comes from. */
  application_id: z.string().optional(),
});

export const AccessApproved = z.object({ agent_id: z.string(), scopes, reason: z.string() });
export const AccessDenied = z.object(decision);

/** An owner can lift only a suspension of an owner. An event without `by_role` counts as one of staff. */
export const AgentSuspended = z.object({
  ...decision,
  by_role: z.enum(['owner', 'staff']).optional(),
});

export const AgentReinstated = z.object(decision);

export const agentEvents = {
  AccessApproved,
  AccessDenied,
  AccessRequested,
  AgentReinstated,
  AgentSuspended,
};
