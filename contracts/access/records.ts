/** Records of access as operations answer them. */
import { z } from 'zod';
import { id, time } from '#contracts/fields.ts';
import { APPROVAL_MODES, CHANNEL_KINDS } from '#contracts/outreach/records.ts';
import { DESK_ROLE_NAMES, SCOPE_NAMES } from '#contracts/scopes.ts';

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
    requested_scopes: z
      .array(z.string())
      .describe('What the last request asked for, whatever was decided'),
    granted_scopes: z.array(z.string()).describe('What the agent has'),
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
    status: z
      .enum(['active', 'rotating', 'revoked', 'expired', 'suspended'])
      .describe('suspended: the agent is, and its keys with it'),
    created_at: time,
    expires_at: time,
  })
  .meta({ id: 'Key' });

const lastUse = {
  last_used_at: time
    .optional()
    .describe(
      'The last recorded use among the newest 2,000 events; reads of a desk token are recorded only where they show personal data',
    ),
  unused_since: time
    .optional()
    .describe(
      'In place of last_used_at: no use is recorded since then. Equal to created_at: none is recorded at all',
    ),
};

/** A key as lists show it. */
export const listedKey = keyRecord.extend(lastUse);

export const deskTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    person_id: z.string(),
    roles: z.array(z.enum(DESK_ROLE_NAMES)),
    owner_id: z.string().optional(),
    status: z.enum(['active', 'revoked']),
    expires_at: time.optional(),
  })
  .meta({ id: 'DeskToken' });

/** A desk token as lists show it. */
export const listedToken = deskTokenRecord.extend({ created_at: time, ...lastUse });

export type AgentRecord = z.infer<typeof agentRecord>;
export type KeyRecord = z.infer<typeof keyRecord>;
export type ListedKey = z.infer<typeof listedKey>;

/** The last request for access of an agent, and its decision. */
export const lastRequest = z.object({
  scopes: z.array(z.enum(SCOPE_NAMES)).describe('What was requested'),
  requested_at: time,
  outcome: z
    .enum(['pending', 'granted', 'partial', 'denied'])
    .describe('partial: some of the scopes were not granted'),
  reason: z.string().optional().describe('Why staff decided so'),
  decided_at: time.optional(),
});

export const connection = z
  .object({
    agent: z.object({ id: z.string(), name: z.string(), owner_id: z.string() }),
    key: z.object({
      id: z.string(),
      prefix: z.string(),
      last4: z.string(),
      created_at: time,
      expires_at: time,
      status: z.enum(['active', 'rotating']),
    }),
    environment: z.enum(['live', 'test']),
    scopes: z
      .array(
        z.object({
          name: z.enum(SCOPE_NAMES),
          group: z.enum(['read', 'write', 'outbound']),
          meaning: z.string(),
          granted: z.boolean(),
          how_to_get: z.string().optional(),
        }),
      )
      .describe('All nine scopes: which are granted, which are missing, and how to get them'),
    granted_scopes: z.array(z.enum(SCOPE_NAMES)),
    review: z.object({
      status: z.string(),
      decided_at: time.nullable(),
      pending_scopes: z
        .array(z.enum(SCOPE_NAMES))
        .optional()
        .describe(
          'The scopes of a request that staff have not decided; the granted ones stay valid',
        ),
      last_request: lastRequest.describe('The last request for access, beside what is granted now'),
    }),
    operations: z.array(z.object({ id: z.string(), allowed: z.boolean() })),
    limits: z.record(z.string(), z.int()).describe('Each name has its unit'),
    boundaries: z.array(z.object({ id: z.string(), statement: z.string(), instead: z.string() })),
    outreach: z
      .object({
        approval: z.enum(APPROVAL_MODES),
        approvals_required: z.int(),
        channels: z.array(z.enum(CHANNEL_KINDS)),
      })
      .optional()
      .describe(
        'Who approves what you propose, and what can be sent; absent if the owner has set nothing',
      ),
    links: z
      .record(z.string(), z.string())
      .describe(
        'The OpenAPI contract, MCP, the A2A Agent Card, pages, and where short links begin. Outreach is proposed over ' +
          'MCP and A2A',
      ),
    consistency: z.object({ position: z.int(), projection_lag_events: z.int() }),
  })
  .meta({ id: 'Connection' });
