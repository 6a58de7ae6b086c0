/** How mail leaves the service. */
import type { Channel } from './delivery.ts';

/** One attempt to send one message. Contains personal data: never logged. */
export type MailDelivery = {
  /** The same at each attempt; the Message-ID is made of it. */
  id: string;
  /** The person whose erasure also removes stored copies: the subject of the vault. */
  sealedFor: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** The mailbox of the recipient, without a name. */
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Time in the message, in epoch milliseconds; the same at each attempt. */
  at: number;
};

/** Sends messages. `delivered` means that the next server, or the directory, has the message. */
export type Mailer = Channel<MailDelivery>;
