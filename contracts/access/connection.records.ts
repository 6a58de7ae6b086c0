import { z } from 'zod';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { time } from '#contracts/fields.ts';

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
    links: z
      .record(z.string(), z.string())
      .describe(
        'The OpenAPI contract, MCP, the A2A Agent Card and pages. Outreach is proposed over MCP and A2A',
      ),
    consistency: z.object({ position: z.int(), projection_lag_events: z.int() }),
  })
  .meta({ id: 'Connection' });
