import { z } from 'zod';
import { id, time } from '#contracts/fields.ts';
import { DESK_ROLE_NAMES } from '#contracts/scopes.ts';

/** The desk's records of agents and credentials. */
export const agentRecord = z
  .object({
    id: id('agt'),
    owner_id: z.string(),
    name: z.string(),
    purpose: z.string(),
    pending: z
      .object({ name: z.string(), purpose: z.string(), scopes: z.array(z.string()) })
      .optional()
      .describe('Requested and not yet decided; takes effect when it is approved'),
    status: z.enum(['requested', 'approved', 'denied', 'suspended']),
    requested_scopes: z.array(z.string()),
    granted_scopes: z.array(z.string()),
    suspended_by: z
      .enum(['owner', 'staff'])
      .optional()
      .describe('Present while suspended. Only staff can lift a suspension imposed by staff'),
    reason: z.string().optional(),
    decided_at: time.optional(),
    created_at: time,
  })
  .meta({ id: 'Agent' });

export const keyRecord = z
  .object({
    id: z.string(),
    owner_id: z.string(),
    agent_id: id('agt'),
    environment: z.enum(['live', 'test']),
    prefix: z.string(),
    last4: z.string(),
    status: z.enum(['active', 'rotating', 'revoked', 'expired']),
    created_at: time,
    expires_at: time,
  })
  .meta({ id: 'Key' });

export const deskTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    person_id: z.string().optional().describe('Absent in tokens of earlier versions'),
    roles: z.array(z.enum(DESK_ROLE_NAMES)),
    owner_id: z.string().optional(),
    status: z.enum(['active', 'revoked']),
    expires_at: time.optional(),
  })
  .meta({ id: 'DeskToken' });

export type AgentRecord = z.infer<typeof agentRecord>;
export type KeyRecord = z.infer<typeof keyRecord>;
