import { z } from 'zod';
import { mailboxKeys, sealed } from '#contracts/event-fields.ts';

// In the stream desk-application_{id}. The application is a subject of its own, which SubjectErased ends.

/** Somebody applied for access with a mailbox that is not confirmed yet. */
export const ApplicationReceived = z.object({
  application_id: z.string(),
  /** The profile, the wanted owner, and the agent with its purpose and scopes, as sealed JSON. */
  sealed_application: sealed,
  mailbox_keys: mailboxKeys,
  /** Epoch milliseconds. */
  expires_at: z.number(),
});

/** The holder of the mailbox confirmed it. The new owner has the profile, and its agent has requested access. */
export const ApplicationConfirmed = z.object({
  application_id: z.string(),
  owner_id: z.string(),
  agent_id: z.string(),
});

export const applicationEvents = { ApplicationConfirmed, ApplicationReceived };
