import { z } from 'zod';
import {
  asOf,
  before,
  id,
  idempotencyKey,
  limit,
  line,
  nextBefore,
  ownerId,
  text,
  time,
} from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { defineDeskOperation } from '../operation.ts';
import { type ProblemCode, WRITE_PROBLEMS } from '../problems.ts';
import { ROLE_NAMES, SCOPE_NAMES } from '../scopes.ts';

const reason = line(500).describe('Shown to whoever asks why');
const agentId = id('agt');
const keyId = z.string().regex(/^[0-9A-Za-z]{12}$/, { error: 'must be 12 letters and digits' });
const scopes = z.array(z.enum(SCOPE_NAMES)).min(1).max(SCOPE_NAMES.length);

/** What any write at the desk may answer. */
export const DESK_WRITE_PROBLEMS = [
  ...WRITE_PROBLEMS,
  'role_missing',
  'resource_not_found',
  'state_conflict',
] as const satisfies readonly ProblemCode[];

export const agent = z
  .object({
    id: agentId,
    owner_id: z.string(),
    name: z.string(),
    purpose: z.string(),
    pending: z
      .object({ name: z.string(), purpose: z.string(), scopes: z.array(z.string()) })
      .optional()
      .describe('Asked for and not decided: it holds from the approval on, and not before'),
    status: z.enum(['requested', 'approved', 'denied', 'suspended']),
    requested_scopes: z.array(z.string()),
    granted_scopes: z.array(z.string()),
    suspended_by: z
      .enum(['owner', 'staff'])
      .optional()
      .describe('While suspended: what staff imposed, only staff lift'),
    reason: z.string().optional(),
    decided_at: time.optional(),
    created_at: time,
  })
  .meta({ id: 'Agent' });

export const key = z
  .object({
    id: z.string(),
    owner_id: z.string(),
    agent_id: agentId,
    environment: z.enum(['live', 'test']),
    prefix: z.string(),
    last4: z.string(),
    status: z.enum(['active', 'rotating', 'revoked', 'expired']),
    created_at: time,
    expires_at: time,
  })
  .meta({ id: 'Key' });

const asked = {
  name: 'Newsletter agent',
  purpose: 'Finds giftware for our monthly letter',
  scopes: ['products:read', 'links:write'],
};
const exampleAgent = {
  id: 'agt_4d5e6f7g8h9j0k1m2n3p4q5r',
  owner_id: 'acme',
  name: asked.name,
  purpose: asked.purpose,
  pending: asked,
  status: 'requested',
  requested_scopes: asked.scopes,
  granted_scopes: [],
  created_at: '2026-11-20T09:30:00.000Z',
};
const { pending: _decided, ...decidedAgent } = exampleAgent;
const exampleKey = {
  id: 'a1B2c3D4e5F6',
  owner_id: 'acme',
  agent_id: exampleAgent.id,
  environment: 'live',
  prefix: 'trb_live_a1B2c3D4e5F6',
  last4: 'x9Zq',
  status: 'active',
  created_at: '2026-11-20T09:30:00.000Z',
  expires_at: '2027-02-18T09:30:00.000Z',
};
const AGENT_PATH = '/agents/{agent_id}';
const decision = {
  idempotency_key: 'review-17',
  agent_id: exampleAgent.id,
  reason: 'Known promoter',
};

export const requestAccess = defineDeskOperation({
  id: 'requestAccess',
  kind: 'command',
  roles: ['owner', 'staff'],
  http: { method: 'POST', path: '/agents', status: 201 },
  summary: 'Ask for access for an agent',
  guidance:
    'With agent_id it asks for another name, purpose or scopes for an agent that exists. It stands in pending ' +
    'until it is decided; what the agent has stays in force.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    owner_id: ownerId,
    agent_id: agentId.optional(),
    name: line(100),
    purpose: text(2_000),
    scopes,
  }),
  output: agent,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'a first request',
      input: {
        idempotency_key: 'newsletter-agent',
        owner_id: 'acme',
        ...asked,
      },
      output: exampleAgent,
    },
  ],
});

export const approveAccess = defineDeskOperation({
  id: 'approveAccess',
  kind: 'command',
  roles: ['staff'],
  http: { method: 'POST', path: `${AGENT_PATH}/approve`, status: 200 },
  summary: 'Approve an access request, with all or some of its scopes',
  guidance:
    'The name and purpose of pending are approved with it: buyers read the name. Scopes that were not requested ' +
    'are refused; fewer for an approved agent take the others away. The owner then issues a key.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    agent_id: agentId,
    scopes: scopes.optional().describe('Default: all that were requested'),
    reason,
  }),
  output: agent,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'as requested',
      input: decision,
      output: {
        ...decidedAgent,
        status: 'approved',
        granted_scopes: exampleAgent.requested_scopes,
      },
    },
  ],
});

const decide = <const Id extends string>(
  operation: Id,
  verb: string,
  roles: readonly ('owner' | 'staff')[],
  said: { summary: string; guidance: string; status: string },
) =>
  defineDeskOperation({
    id: operation,
    kind: 'command',
    roles,
    http: { method: 'POST', path: `${AGENT_PATH}/${verb}`, status: 200 },
    summary: said.summary,
    guidance: said.guidance,
    input: z.strictObject({ idempotency_key: idempotencyKey, agent_id: agentId, reason }),
    output: agent,
    problems: DESK_WRITE_PROBLEMS,
    examples: [{ name: verb, input: decision, output: { ...decidedAgent, status: said.status } }],
  });

export const denyAccess = decide('denyAccess', 'deny', ['staff'], {
  summary: 'Refuse an access request',
  guidance:
    'Name, purpose and scopes asked for are gone; what an agent was granted before stays in force. Where nothing is ' +
    'pending it answers state_conflict: to stop an agent, suspend it.',
  status: 'denied',
});
export const suspendAgent = decide('suspendAgent', 'suspend', ['owner', 'staff'], {
  summary: 'Suspend an agent: its keys stop within a second',
  guidance:
    'Reversible with reinstateAgent. What an owner has suspended staff may suspend as well: then it is theirs.',
  status: 'suspended',
});
export const reinstateAgent = decide('reinstateAgent', 'reinstate', ['owner', 'staff'], {
  summary: 'Lift a suspension',
  guidance:
    'The keys that are still valid work again. An owner lifts what an owner imposed; staff lift any.',
  status: 'approved',
});

const listInput = z.strictObject({ owner_id: ownerId, before, limit });
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), next_before: nextBefore, as_of: asOf });
const LAST_PAGE = { next_before: null, as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' } };

export const listAgents = defineDeskOperation({
  id: 'listAgents',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor'],
  http: { method: 'GET', path: '/agents', status: 200 },
  summary: "An owner's agents, newest first",
  guidance: 'Follow next_before while it is not null.',
  input: listInput,
  output: pageOf(agent),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'of acme',
      input: { owner_id: 'acme' },
      output: { data: [exampleAgent], ...LAST_PAGE },
    },
  ],
});

const issued = key.extend({
  api_key: z.string().describe('Shown once, here; only its keyed hash is kept'),
});
const exampleIssued = { ...exampleKey, api_key: 'trb_live_…' };
const days = z.int().min(1).max(LIMITS.KEY_DAYS_MAX).default(LIMITS.KEY_DAYS_DEFAULT);

export const issueKey = defineDeskOperation({
  id: 'issueKey',
  kind: 'command',
  roles: ['owner'],
  http: { method: 'POST', path: `${AGENT_PATH}/keys`, status: 201 },
  summary: 'Issue an API key for an approved agent; shown once',
  guidance:
    'A repeated call with the same idempotency key answers state_conflict: a key is never shown again. ' +
    'Keys of the environment test act in a space of their own.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    agent_id: agentId,
    environment: z.enum(['live', 'test']).default('live'),
    expires_in_days: days,
  }),
  output: issued,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'for 90 days',
      input: { idempotency_key: 'first-key', agent_id: exampleAgent.id },
      output: exampleIssued,
    },
  ],
});

export const rotateKey = defineDeskOperation({
  id: 'rotateKey',
  kind: 'command',
  roles: ['owner'],
  http: { method: 'POST', path: '/keys/{key_id}/rotate', status: 201 },
  summary: 'Issue a new key for the same agent; the old one goes on for a while',
  guidance: 'Both work during the overlap, and a retry under either key meets the same records.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    key_id: keyId,
    overlap_hours: z
      .int()
      .min(0)
      .max(LIMITS.KEY_OVERLAP_HOURS_MAX)
      .default(LIMITS.KEY_OVERLAP_HOURS_DEFAULT),
    expires_in_days: days,
  }),
  output: issued,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'with a day of overlap',
      input: { idempotency_key: 'rotate-1', key_id: exampleKey.id },
      output: exampleIssued,
    },
  ],
});

export const revokeKey = defineDeskOperation({
  id: 'revokeKey',
  kind: 'command',
  roles: ['owner', 'staff'],
  http: { method: 'POST', path: '/keys/{key_id}/revoke', status: 200 },
  summary: 'Revoke a key for ever, within a second',
  guidance:
    'There is no way back: issue another. A process that is cut off from the log lets it in for at most ' +
    `${LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX / 1_000} s, and then nobody until the log answers.`,
  input: z.strictObject({ idempotency_key: idempotencyKey, key_id: keyId, reason }),
  output: key,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'leaked',
      input: { idempotency_key: 'revoke-1', key_id: exampleKey.id, reason: 'Seen in a log' },
      output: { ...exampleKey, status: 'revoked' },
    },
  ],
});

export const listKeys = defineDeskOperation({
  id: 'listKeys',
  kind: 'query',
  roles: ['owner', 'staff', 'auditor'],
  http: { method: 'GET', path: '/keys', status: 200 },
  summary: "An owner's keys, newest first, without their secrets",
  guidance: 'Follow next_before while it is not null.',
  input: listInput,
  output: pageOf(key),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'of acme',
      input: { owner_id: 'acme' },
      output: { data: [exampleKey], ...LAST_PAGE },
    },
  ],
});

const deskToken = z
  .object({
    id: z.string(),
    name: z.string(),
    roles: z.array(z.enum(ROLE_NAMES)),
    owner_id: z.string().optional(),
    status: z.enum(['active', 'revoked']),
    expires_at: time.optional(),
  })
  .meta({ id: 'DeskToken' });

export const issueDeskToken = defineDeskOperation({
  id: 'issueDeskToken',
  kind: 'command',
  roles: ['operator'],
  http: { method: 'POST', path: '/desk-tokens', status: 201 },
  summary: 'Issue a credential for a person at the desk; shown once',
  guidance:
    'A token with owner_id acts for that owner only. Names that differ in case, width or spaces are one person, ' +
    'whose approvals count once.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    name: line(100),
    roles: z.array(z.enum(ROLE_NAMES)).min(1).max(ROLE_NAMES.length),
    owner_id: ownerId.optional(),
    expires_in_days: z.int().min(1).max(LIMITS.KEY_DAYS_MAX).optional(),
  }),
  output: deskToken.extend({ token: z.string().describe('Shown once, here') }),
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'for a promoter',
      input: { idempotency_key: 'desk-acme', name: 'Acme', roles: ['owner'], owner_id: 'acme' },
      output: {
        id: 'd1B2c3D4e5F6',
        name: 'Acme',
        roles: ['owner'],
        owner_id: 'acme',
        status: 'active',
        token: 'trbd_…',
      },
    },
  ],
});

export const revokeDeskToken = defineDeskOperation({
  id: 'revokeDeskToken',
  kind: 'command',
  roles: ['operator'],
  http: { method: 'POST', path: '/desk-tokens/{token_id}/revoke', status: 200 },
  summary: 'Revoke a desk credential',
  guidance: 'There is no way back: issue another.',
  input: z.strictObject({ idempotency_key: idempotencyKey, token_id: keyId, reason }),
  output: deskToken,
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'left the company',
      input: { idempotency_key: 'revoke-desk-1', token_id: 'd1B2c3D4e5F6', reason: 'Left' },
      output: { id: 'd1B2c3D4e5F6', name: 'Acme', roles: ['owner'], status: 'revoked' },
    },
  ],
});
