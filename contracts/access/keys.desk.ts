import { z } from 'zod';
import {
  accessReason,
  agentId,
  deskCommand,
  deskList,
  EXAMPLE_AT,
} from '#contracts/desk-operation.ts';
import { ownerId } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { personId, personName } from '#contracts/person.ts';
import { DESK_ROLE_NAMES } from '#contracts/scopes.ts';
import { deskTokenRecord, keyRecord } from './access.records.ts';

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

export const issueKey = deskCommand({
  roles: ['owner'],
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

export const rotateKey = deskCommand({
  roles: ['owner'],
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

export const revokeKey = deskCommand({
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

export const listKeys = deskList({
  path: '/keys',
  summary: "List an owner's keys, newest first, without their secrets",
  owner: ownerId,
  row: keyRecord,
  example: exampleKey,
});

export const issueDeskToken = deskCommand({
  roles: ['operator'],
  path: '/desk-tokens',
  status: 201,
  summary: 'Issue a desk token for a person; the token is shown once',
  guidance:
    'A token with owner_id acts for that owner only. Give each person one person_id: the approvals of all tokens of ' +
    'a person count once, and a person cannot approve their own request. Without person_id the name is the ' +
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

export const revokeDeskToken = deskCommand({
  roles: ['operator'],
  path: '/desk-tokens/{token_id}/revoke',
  summary: 'Revoke a desk token',
  guidance: 'Cannot be undone: issue another token.',
  fields: { token_id: credentialId, reason: accessReason },
  output: deskTokenRecord,
  example: {
    name: 'left the company',
    input: { idempotency_key: 'revoke-desk-1', token_id: exampleToken.id, reason: 'Left' },
    output: { id: exampleToken.id, name: 'Acme', roles: ['owner'], status: 'revoked' },
  },
});

export const keysDeskOperations = {
  issueDeskToken,
  issueKey,
  listKeys,
  revokeDeskToken,
  revokeKey,
  rotateKey,
};
