import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';

const subject = { mail_id: z.string() };

/** A message that is to be sent once. `sealed_for` is the subject whose erasure makes it unreadable. */
export const MailQueued = z.object({
  ...subject,
  kind: z.string(),
  record: z.string().optional(),
  sealed_for: z.string(),
  /** Address, subject line and text, as sealed JSON. */
  sealed_message: sealed,
  /** Whether it is sent a second time if the outcome of an attempt is unknown. */
  is_repeatable: z.boolean(),
  /** From then on it is not sent; epoch milliseconds. */
  not_after: z.number(),
});

const attempt = { ...subject, attempt: z.number() };

/** Written before the message is sent. After `until` another process assumes that the sender is gone. */
export const MailDispatched = z.object({ ...attempt, until: z.number() });

/** `uncertain`: an attempt may have delivered the message. */
export const MailDeferred = z.object({
  ...attempt,
  reason: z.string(),
  retry_at: z.number(),
  uncertain: z.boolean().optional(),
});

/** A mail server, or the directory, has accepted the message. */
export const MailSent = z.object({ ...attempt, evidence: z.string() });

/** The message was certainly not accepted, and is not sent again. `attempt` is 0 if it was never sent. */
export const MailFailed = z.object({ ...attempt, reason: z.string() });

/** The message may have been accepted, and is not sent again. */
export const MailOutcomeUnknown = z.object({ ...attempt, reason: z.string() });

export const mailEvents = {
  MailDeferred,
  MailDispatched,
  MailFailed,
  MailOutcomeUnknown,
  MailQueued,
  MailSent,
};
