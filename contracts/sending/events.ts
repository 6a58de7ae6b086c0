/** Events of messages by mail and of the mailboxes they go to. */
import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

const subject = { mail_id: z.string() };

/** A message that is to be sent once. `sealed_for` is the subject whose erasure makes it unreadable. */
const MailQueued = z.object({
  ...subject,
  kind: z.string(),
  record: z.string().optional(),
  sealed_for: z.string(),
  /** The address and the facts that the text of this kind is made of, as sealed JSON: `{ to, facts }`. */
  sealed_message: sealed,
  /** Whether it is sent a second time if the outcome of an attempt is unknown. */
  is_repeatable: z.boolean(),
  /** From then on it is not sent; epoch milliseconds. */
  not_after: z.number(),
});

const attempt = { ...subject, attempt: z.number() };

/** Written before the message is sent. After `until` another process assumes that the sender is gone. */
const MailDispatched = z.object({ ...attempt, until: z.number() });

/** `uncertain`: an attempt may have delivered the message. */
const MailDeferred = z.object({
  ...attempt,
  reason: z.string(),
  retry_at: z.number(),
  uncertain: z.boolean().optional(),
});

/** A mail server, or the directory, has accepted the message. */
const MailSent = z.object({ ...attempt, evidence: z.string() });

/** The message was certainly not accepted, and is not sent again. `attempt` is 0 if it was never sent. */
const MailFailed = z.object({ ...attempt, reason: z.string() });

/** The message may have been accepted, and is not sent again. */
const MailOutcomeUnknown = z.object({ ...attempt, reason: z.string() });

export const mailEvents = {
  MailDeferred,
  MailDispatched,
  MailFailed,
  MailOutcomeUnknown,
  MailQueued,
  MailSent,
};

// In the stream claims-mailbox_{keyed hash of the address}: mail to a mailbox that has not confirmed anything.

/**
 * The message was given to the mailer, and counts in the limits of the mailbox. A person approved one that is `approved`: what
 * its reader asks for next does not have to wait for a pause after it.
 */
const MailboxMailed = z.object({ mail_id: z.string(), approved: z.literal(true).optional() });

/** The holder of the mailbox did not ask for such a message. Until then, in epoch milliseconds, none is sent. */
const MailboxBlocked = z.object({ until: z.number() });

export const mailboxEvents = { MailboxBlocked, MailboxMailed };
