import { z } from 'zod';
import {
  accessReason,
  agentId,
  deskCommand,
  deskList,
  EXAMPLE_AT,
  recordCommands,
} from '#contracts/desk-operation.ts';
import { line, ownerId, text } from '#contracts/fields.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { agentRecord } from './access.records.ts';

const requestedScopes = z
  .array(z.enum(SCOPE_NAMES))
  .min(1)
  .max(SCOPE_NAMES.length)
  .describe('Scopes that the agent needs');

const request = {
  name: 'Newsletter agent',
  purpose: 'Finds giftware for our monthly letter',
  scopes: ['products:read', 'links:write'],
};
const decided = {
  id: 'agt_4d5e6f7g8h9j0k1m2n3p4q5r',
  owner_id: 'acme',
  name: request.name,
  purpose: request.purpose,
  status: 'requested',
  requested_scopes: request.scopes,
  granted_scopes: [],
  created_at: EXAMPLE_AT,
};
const undecided = { ...decided, pending: request };

export const requestAccess = deskCommand({
  roles: ['owner', 'staff'],
  path: '/agents',
  status: 201,
  summary: 'Request access for an agent',
  guidance:
    'With agent_id it requests another name, purpose or scopes for an existing agent. The request is shown in ' +
    'pending until it is decided; until then the agent keeps what it was granted.',
  fields: {
    owner_id: ownerId,
    agent_id: agentId.optional().describe('An existing agent, to change its request'),
    name: line(100).describe('Name of the agent; buyers read it'),
    purpose: text(2_000).describe('What the agent does'),
    scopes: requestedScopes,
  },
  output: agentRecord,
  example: {
    name: 'a first request',
    input: { idempotency_key: 'newsletter-agent', owner_id: 'acme', ...request },
    output: undecided,
  },
});

const decide = recordCommands({
  path: '/agents/{agent_id}',
  roles: ['owner', 'staff'],
  fields: { agent_id: agentId, reason: accessReason },
  output: agentRecord,
  example: { input: { agent_id: decided.id, reason: 'Known promoter' }, output: decided },
});

export const approveAccess = decide({
  verb: 'approve',
  roles: ['staff'],
  summary: 'Approve an access request, with all or some of its scopes',
  guidance:
    'Also approves the name and purpose in pending: buyers read the name. Scopes that were not requested ' +
    'are refused. For an agent that is already approved, scopes that are left out are revoked. The person who ' +
    'requested the access cannot approve it. The owner then issues a key.',
  fields: { scopes: requestedScopes.optional().describe('Default: all that were requested') },
  problems: ['approver_not_independent'],
  name: 'as requested',
  output: { status: 'approved', granted_scopes: decided.requested_scopes },
});

export const denyAccess = decide({
  verb: 'deny',
  roles: ['staff'],
  summary: 'Deny an access request',
  guidance:
    'Discards the requested name, purpose and scopes; what the agent was granted before stays in force. Answers ' +
    'state_conflict if nothing is pending: to stop an agent, suspend it.',
  fields: {},
  output: { status: 'denied' },
});

export const suspendAgent = decide({
  verb: 'suspend',
  summary: 'Suspend an agent: its keys stop working within a second',
  guidance:
    'Reversible with reinstateAgent. Staff may also suspend an agent that its owner has suspended; then only ' +
    'staff can lift the suspension.',
  fields: {},
  output: { status: 'suspended' },
});

export const reinstateAgent = decide({
  verb: 'reinstate',
  summary: 'Lift a suspension',
  guidance:
    'Keys that have not expired or been revoked work again. An owner can lift a suspension imposed by an owner; ' +
    'staff can lift any.',
  fields: {},
  output: { status: 'approved' },
});

export const listAgents = deskList({
  path: '/agents',
  summary: "List an owner's agents, newest first",
  owner: ownerId,
  row: agentRecord,
  example: undecided,
});

export const agentsDeskOperations = {
  approveAccess,
  denyAccess,
  listAgents,
  reinstateAgent,
  requestAccess,
  suspendAgent,
};
