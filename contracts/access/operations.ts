/**
 * Operations of access: connection of agents, their keys and scopes, desk tokens, and applications. The registries
 * list them.
 */
import { z } from 'zod';
import {
  accessReason,
  agentId,
  deskCommand,
  deskList,
  deskQuery,
  EXAMPLE_AS_OF,
  EXAMPLE_AT,
  recordCommands,
} from '#contracts/desk-operation.ts';
import { connectionExample } from '#contracts/examples/records.ts';
import {
  asOf,
  before,
  compared,
  limit,
  line,
  nextBefore,
  ownerId,
  text,
} from '#contracts/fields.ts';
import { holderActs, holderView, LINK_PROBLEMS } from '#contracts/holder-operation.ts';
import { LIMITS } from '#contracts/limits.ts';
import { defineOperation } from '#contracts/operation.ts';
import { setOwnerProfile } from '#contracts/owners/operations.ts';
import { personId, personName } from '#contracts/person.ts';
import { TOKEN_PROBLEMS } from '#contracts/problems.ts';
import { SCOPE_NAMES, DESK_ROLE_NAMES } from '#contracts/scopes.ts';
import {
  agentRecord,
  connection,
  deskTokenRecord,
  keyRecord,
  listedKey,
  listedToken,
} from './records.ts';

export const getConnection = defineOperation({
  kind: 'query',
  scope: null,
  http: { method: 'GET', path: '/connection', status: 200 },
  summary: 'Show this key: granted and missing scopes, limits and boundaries',
  guidance:
    'Call it first. Each missing scope has a text on how to get it; boundaries list what no agent can do.',
  brief:
    'Call it first. It shows the tools of this key, how to get scopes that it lacks, who approves outreach, where short links ' +
    'begin, and what no agent can do.',
  next: 'searchProducts, or what else the scopes allow.',
  input: z.strictObject({}),
  output: connection,
  problems: ['parameter_invalid', ...TOKEN_PROBLEMS],
  examples: [{ name: 'a key with two scopes', input: {}, output: connectionExample }],
});

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

/** What an agent is, and may do. */
const agentFields = {
  owner_id: ownerId,
  agent_id: agentId.optional().describe('An existing agent, to change what it has'),
  name: line(100).describe('Name of the agent; buyers read it'),
  purpose: text(2_000).describe('What the agent does'),
  scopes: requestedScopes,
};

const requestAccess = deskCommand({
  roles: ['owner', 'staff'],
  path: '/agents',
  status: 201,
  summary: 'Request access for an agent',
  guidance:
    'With agent_id it requests another name, purpose or scopes for an existing agent. The request is shown in ' +
    'pending until it is decided; until then the agent keeps what it was granted.',
  fields: agentFields,
  output: agentRecord,
  example: {
    name: 'a first request',
    input: { idempotency_key: 'newsletter-agent', owner_id: 'acme', ...request },
    output: undecided,
  },
});

const grantAccess = deskCommand({
  isSensitive: true,
  roles: ['staff'],
  path: '/access-grants',
  status: 201,
  summary: "Give an agent access with the machine's own token, without an approval",
  guidance:
    'For the first agents of a service, before there are two people. The record says that the machine gave the access, ' +
    'and that nobody approved it. People request access, and another person approves it. A request of somebody else is ' +
    'decided, and not replaced by a grant.',
  fields: { ...agentFields, reason: accessReason },
  output: agentRecord,
  example: {
    name: 'the first agent',
    input: {
      idempotency_key: 'first-agent',
      owner_id: 'acme',
      ...request,
      reason: 'The first agent of this service',
    },
    output: {
      ...decided,
      status: 'approved',
      granted_scopes: decided.requested_scopes,
      reason: 'The first agent of this service',
    },
  },
});

const decide = recordCommands({
  path: '/agents/{agent_id}',
  roles: ['owner', 'staff'],
  fields: { agent_id: agentId, reason: accessReason },
  output: agentRecord,
  example: { input: { agent_id: decided.id, reason: 'Known promoter' }, output: decided },
});

const approveAccess = decide({
  isSensitive: true,
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

const denyAccess = decide({
  verb: 'deny',
  roles: ['staff'],
  summary: 'Deny an access request',
  guidance:
    'Discards the requested name, purpose and scopes; what the agent was granted before stays in force. Answers ' +
    'state_conflict if nothing is pending: to stop an agent, suspend it.',
  fields: {},
  output: { status: 'denied' },
});

const suspendAgent = decide({
  destructive: true,
  verb: 'suspend',
  summary: 'Suspend an agent: its keys stop working within a second',
  guidance:
    'Reversible with reinstateAgent. Staff may also suspend an agent that its owner has suspended; then only ' +
    'staff can lift the suspension.',
  fields: {},
  output: { status: 'suspended' },
});

const reinstateAgent = decide({
  verb: 'reinstate',
  summary: 'Lift a suspension',
  guidance:
    'Keys that have not expired or been revoked work again. An owner can lift a suspension imposed by an owner; ' +
    'staff can lift any.',
  fields: {},
  output: { status: 'approved' },
});

const listAgents = deskList({
  path: '/agents',
  summary: "List an owner's agents, newest first",
  owner: ownerId,
  row: agentRecord,
  example: undecided,
});

const readAgent = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/agents/{agent_id}',
  summary: 'Show an agent and its keys that are not revoked',
  guidance: 'Keys are shown without their secrets.',
  fields: { agent_id: agentId },
  output: agentRecord.extend({ keys: z.array(listedKey) }),
  example: {
    name: 'without keys',
    input: { agent_id: decided.id },
    output: { ...undecided, keys: [] },
  },
});

export const agentsDeskOperations = {
  approveAccess,
  denyAccess,
  grantAccess,
  listAgents,
  readAgent,
  reinstateAgent,
  requestAccess,
  suspendAgent,
};

const credentialId = z
  .string()
  .regex(/^[0-9A-Za-z]{12}$/, { error: 'must be 12 letters and digits' });
const days = z.int().min(1).max(LIMITS.KEY_DAYS_MAX).describe('Days until it expires');
const issuedKey = keyRecord.extend({
  api_key: z.string().describe('Shown only in this answer; the service stores a keyed hash of it'),
});

const exampleKey = {
  id: 'a1B2c3D4e5F6',
  owner_id: 'acme',
  agent_id: 'agt_4d5e6f7g8h9j0k1m2n3p4q5r',
  environment: 'live',
  prefix: 'trb_live_a1B2c3D4e5F6',
  last4: 'x9Zq',
  status: 'active',
  created_at: EXAMPLE_AT,
  expires_at: '2027-02-18T09:30:00.000Z',
};
const exampleIssued = { ...exampleKey, api_key: 'trb_live_…' };
const exampleToken = {
  id: 'd1B2c3D4e5F6',
  name: 'Acme',
  person_id: 'ann@acme.example',
  roles: ['owner'],
  owner_id: 'acme',
  status: 'active',
};

const issueKey = deskCommand({
  isSensitive: true,
  roles: ['owner', 'operator'],
  path: '/agents/{agent_id}/keys',
  status: 201,
  summary: 'Issue an API key for an approved agent; the key is shown once',
  guidance:
    'A second call with the same idempotency key answers state_conflict, because a key is never shown again. ' +
    'Keys of the environment test use a separate space of records.',
  fields: {
    agent_id: agentId,
    environment: z
      .enum(['live', 'test'])
      .default('live')
      .describe('test: the key acts in a separate space of records'),
    expires_in_days: days.default(LIMITS.KEY_DAYS_DEFAULT),
  },
  output: issuedKey,
  example: {
    name: 'for 90 days',
    input: { idempotency_key: 'first-key', agent_id: exampleKey.agent_id },
    output: exampleIssued,
  },
});

const rotateKey = deskCommand({
  isSensitive: true,
  roles: ['owner', 'operator'],
  path: '/keys/{key_id}/rotate',
  status: 201,
  summary: 'Issue a new key for the same agent; the old key works for a limited time',
  guidance:
    'Both keys work during the overlap, and a retry with either key reaches the same records.',
  fields: {
    key_id: credentialId,
    overlap_hours: z
      .int()
      .min(0)
      .max(LIMITS.KEY_OVERLAP_HOURS_MAX)
      .default(LIMITS.KEY_OVERLAP_HOURS_DEFAULT)
      .describe('Hours for which both keys work'),
    expires_in_days: days.default(LIMITS.KEY_DAYS_DEFAULT),
  },
  output: issuedKey,
  example: {
    name: 'with a day of overlap',
    input: { idempotency_key: 'rotate-1', key_id: exampleKey.id },
    output: exampleIssued,
  },
});

const revokeKey = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: ['owner', 'staff'],
  path: '/keys/{key_id}/revoke',
  summary: 'Revoke a key permanently, within a second',
  guidance:
    'Cannot be undone: issue another key. A process that has lost its connection to the log accepts the key for ' +
    `at most ${LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX / 1_000} s, and after that accepts no key until the log answers.`,
  fields: { key_id: credentialId, reason: accessReason },
  output: keyRecord,
  example: {
    name: 'leaked',
    input: { idempotency_key: 'revoke-1', key_id: exampleKey.id, reason: 'Seen in a log' },
    output: { ...exampleKey, status: 'revoked' },
  },
});

const listKeys = deskList({
  path: '/keys',
  summary: "List an owner's keys, newest first, without their secrets",
  owner: ownerId,
  row: listedKey,
  example: { ...exampleKey, last_used_at: EXAMPLE_AT },
});

const readKey = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/keys/{key_id}',
  summary: 'Show a key, without its secret',
  guidance:
    'The status suspended is that of the agent: the key works again once the agent is reinstated.',
  fields: { key_id: credentialId },
  output: keyRecord,
  example: { name: 'a live key', input: { key_id: exampleKey.id }, output: exampleKey },
});

const issueDeskToken = deskCommand({
  isSensitive: true,
  roles: ['operator'],
  path: '/desk-tokens',
  status: 201,
  summary: 'Issue a desk token for a person; the token is shown once',
  guidance:
    'A token with the role owner needs owner_id, has no other role, and acts for that owner only. Give each person ' +
    'one person_id: the approvals of all tokens of a person count once, and a person cannot approve their own request. Without person_id the name is the ' +
    'person: case, spaces, punctuation and letters that look alike make no difference.',
  fields: {
    name: personName.describe('Name of the person, in letters of one script'),
    person_id: personId
      .optional()
      .describe(
        'Identity of the person, the same for all tokens of that person; default: made from the name',
      ),
    roles: z
      .array(z.enum(DESK_ROLE_NAMES))
      .min(1)
      .max(DESK_ROLE_NAMES.length)
      .describe('Roles of the token'),
    owner_id: ownerId.optional(),
    expires_in_days: days.optional().describe('Days until it expires; without it, never'),
  },
  output: deskTokenRecord.extend({ token: z.string().describe('Shown only in this answer') }),
  example: {
    name: 'for a promoter',
    input: {
      idempotency_key: 'desk-acme',
      name: 'Acme',
      person_id: exampleToken.person_id,
      roles: ['owner'],
      owner_id: 'acme',
    },
    output: { ...exampleToken, token: 'trbd_…' },
  },
});

const listDeskTokens = deskQuery({
  roles: ['operator', 'auditor'],
  path: '/desk-tokens',
  summary: 'List desk tokens, newest first, without their secrets',
  guidance: 'Also those that are revoked. Read the next page with next_before until it is null.',
  fields: { token_id: credentialId.optional().describe('Only this token'), before, limit },
  output: z.object({ data: z.array(listedToken), next_before: nextBefore, as_of: asOf }),
  example: {
    name: 'all',
    input: {},
    output: {
      data: [{ ...exampleToken, created_at: EXAMPLE_AT, last_used_at: EXAMPLE_AT }],
      next_before: null,
      as_of: EXAMPLE_AS_OF,
    },
  },
});

const revokeDeskToken = deskCommand({
  isSensitive: true,
  destructive: true,
  roles: ['operator'],
  path: '/desk-tokens/{token_id}/revoke',
  summary: 'Revoke a desk token',
  guidance: 'Cannot be undone: issue another token.',
  fields: { token_id: credentialId, reason: accessReason },
  output: deskTokenRecord,
  example: {
    name: 'left the company',
    input: { idempotency_key: 'revoke-desk-1', token_id: exampleToken.id, reason: 'Left' },
    output: { ...exampleToken, status: 'revoked' },
  },
});

export const keysDeskOperations = {
  issueDeskToken,
  issueKey,
  listDeskTokens,
  listKeys,
  readKey,
  revokeDeskToken,
  revokeKey,
  rotateKey,
};

const acceptClock = deskCommand({
  destructive: true,
  roles: ['operator'],
  path: '/clock/accept',
  summary: 'Decide that the clock is right although the newest event is ahead of it',
  guidance:
    'Use it when writes answer clock_behind and the clock of the server is right: an event has a wrong time. If the ' +
    'clock is wrong, set it instead, and no decision is needed. Credentials expire by the clock again.',
  fields: { reason: accessReason },
  output: z.object({
    accepted_at: z.string().describe('Time of the clock'),
    position: z.int().describe('Position of the event that was ahead'),
    event_at: z.string().describe('Time of that event'),
  }),
  example: {
    name: 'an event of the future',
    input: { idempotency_key: 'clock-1', reason: 'A test server wrote events of 2040' },
    output: { accepted_at: EXAMPLE_AT, position: 3119, event_at: '2040-01-01T00:00:00.000Z' },
  },
});

export const clockDeskOperations = { acceptClock };

/*
 * The public application for access. The link in a message to the mailbox of the applicant is the credential. No interface
 * of agents or of the desk offers these operations.
 */

const { owner_id, name, postal_address, mailbox } = setOwnerProfile.input.shape;
const { name: agent_name, purpose, scopes } = requestAccess.input.shape;

/** What an applicant enters. */
export const applicationForm = z.strictObject({
  name,
  postal_address,
  mailbox,
  owner_id,
  agent_name,
  purpose,
  scopes,
});

export type Application = z.output<typeof applicationForm>;

const shown = z.looseObject({ phase: z.string(), until: z.number() });
const act = holderActs([...LINK_PROBLEMS, 'state_conflict']);

export const applicantOperations = {
  /** Mails a link to an address that anybody can have typed. Does the same for every address. */
  applyForAccess: act(
    {
      ...applicationForm.shape,
      /** The client's address; counted, and not stored. */
      address: compared,
    },
    z.object({ sent: z.literal(true) }),
    ['ApplicationReceived', 'MailQueued'],
  ),
  /** Shows the application, and its decision. Changes nothing. */
  readApplication: holderView({}, shown),
  /** Makes the new owner with its profile and its confirmed mailbox, and requests access for its agent. */
  confirmApplication: act({ owner_id }, shown, [
    'OwnerProfileSet',
    'OwnerMailboxConfirmed',
    'AccessRequested',
    'ApplicationConfirmed',
    'SubjectErased',
  ]),
  /** Ends an application that somebody else made with this mailbox. */
  disownApplication: act({}, z.object({ ended: z.literal(true) }), [
    'SubjectErased',
    'MailboxBlocked',
  ]),
  /** Issues the first key of the approved agent, once, and shows it. */
  issueFirstKey: act({}, z.looseObject({ api_key: z.string() }), ['KeyIssued']),
};
