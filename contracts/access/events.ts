/** Events of agents, keys, desk tokens and applications for access. */
import { z } from 'zod';
import { mailboxKeys, sealed } from '#contracts/event-fields.ts';

const scopes = z.array(z.string());
const decision = { agent_id: z.string(), reason: z.string() };

const AccessRequested = z.object({
  agent_id: z.string(),
  name: z.string(),
  purpose: z.string(),
  scopes,
  /** The public application that the request comes from. */
  application_id: z.string().optional(),
});

const AccessApproved = z.object({ agent_id: z.string(), scopes, reason: z.string() });
const AccessDenied = z.object(decision);

/** Given by the machine as it is, so that a service can have its first agents: nobody asked, and nobody approved. */
const AccessGranted = z.object({
  agent_id: z.string(),
  name: z.string(),
  purpose: z.string(),
  scopes,
  reason: z.string(),
});

/** An owner can lift only a suspension of an owner. */
const AgentSuspended = z.object({ ...decision, by_role: z.enum(['owner', 'staff']) });

const AgentReinstated = z.object(decision);

export const agentEvents = {
  AccessApproved,
  AccessDenied,
  AccessGranted,
  AccessRequested,
  AgentReinstated,
  AgentSuspended,
};

/** The key itself is never stored: `hash` is HMAC-SHA-256 with a key of the keyring, whose newest generation alone counts. */
const KeyIssued = z.object({
  key_id: z.string(),
  agent_id: z.string(),
  environment: z.enum(['live', 'test']),
  last4: z.string(),
  hash: z.string(),
  expires_at: z.number(),
  rotated_from: z.string().optional(),
});

/** The old key of a rotation works until expires_at. */
const KeyRetired = z.object({
  key_id: z.string(),
  replaced_by: z.string(),
  expires_at: z.number(),
});

const KeyRevoked = z.object({ key_id: z.string(), reason: z.string() });

export const keyEvents = { KeyIssued, KeyRetired, KeyRevoked };

const DeskTokenIssued = z.object({
  token_id: z.string(),
  name: z.string(),
  /** Chosen by the operator, or `name:` and the skeleton of the name. */
  person_id: z.string(),
  roles: z.array(z.string()),
  owner_id: z.string().optional(),
  hash: z.string(),
  expires_at: z.number().optional(),
});

const DeskTokenRevoked = z.object({ token_id: z.string(), reason: z.string() });

export const deskTokenEvents = { DeskTokenIssued, DeskTokenRevoked };

// In the stream desk-application_{id}. The application is a subject of its own, which SubjectErased ends.

/** Somebody applied for access with a mailbox that is not confirmed yet. */
const ApplicationReceived = z.object({
  application_id: z.string(),
  /** The profile, the wanted owner, and the agent with its purpose and scopes, as sealed JSON. */
  sealed_application: sealed,
  mailbox_keys: mailboxKeys,
  /** Epoch milliseconds. */
  expires_at: z.number(),
});

/** The holder of the mailbox confirmed it. The new owner has the profile, and its agent has requested access. */
const ApplicationConfirmed = z.object({
  application_id: z.string(),
  owner_id: z.string(),
  agent_id: z.string(),
});

export const applicationEvents = { ApplicationConfirmed, ApplicationReceived };
