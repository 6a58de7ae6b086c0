import { z } from 'zod';

// In the stream claims-mailbox_{keyed hash of the address}: mail to a mailbox that has not confirmed anything.

/** The message was given to the mailer, and counts in the limits of the mailbox. */
export const MailboxMailed = z.object({ mail_id: z.string() });

/** The holder of the mailbox did not ask for such a message. Until then, in epoch milliseconds, none is sent. */
export const MailboxBlocked = z.object({ until: z.number() });

export const mailboxEvents = { MailboxBlocked, MailboxMailed };
