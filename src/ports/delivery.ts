/** How outreach, push notifications and mail leave the service. `src/delivery` implements it. */

/** One attempt to send one approved revision. Contains secrets: never logged. */
export type Delivery = {
  /** The owner of the live or the test space: test requests are stored apart from live ones. */
  ownerId: string;
  outboundId: string;
  revision: number;
  /** 1 for the first attempt. The receiver gets the same id, `{outboundId}.{revision}`, each time. */
  attempt: number;
  kind: 'social_post' | 'message' | 'agent_notification';
  target: Readonly<Record<string, string>>;
  /** The approved text; exactly its UTF-8 bytes are sent. */
  envelope: string;
  /** SHA-256 of these bytes, in hex. */
  sha256: string;
  url?: string;
  /** Secrets that sign a webhook's payload: more than one while a secret is being replaced. */
  signingSecrets: readonly string[];
};

/** One attempt to notify a receiver of a task. Contains secrets: never logged. */
export type PushDelivery = {
  /** The same at each attempt, so that the receiver can recognize a repetition. */
  id: string;
  url: string;
  body: string;
  /** Detached JWS of the body. */
  signature: string;
  token?: string;
  authorization?: string;
};

/**
 * The certain outcome. `refused`: not accepted, and must not be repeated; `disable`: the receiver is
 * permanently gone. `retry`: had no effect, may be repeated. `unknown`: may have had an effect.
 * Reasons are codes of this service, and evidence is an id of a safe alphabet: neither contains text
 * of the receiver.
 */
export type DeliveryResult =
  | { outcome: 'delivered'; evidence: string }
  | { outcome: 'refused'; reason: string; disable?: true }
  | { outcome: 'retry'; reason: string; retryAfterMs?: number }
  | { outcome: 'unknown'; reason: string };

export type Channel<Sent = Delivery> = {
  /** Upper bound of the time for one delivery, whatever the receiver does. */
  readonly limitMs: number;
  /** Returns at once when `signal` aborts, with what is certain by then. Throws only on a bug. */
  deliver(delivery: Sent, signal: AbortSignal): Promise<DeliveryResult>;
};

export type Channels = Readonly<Record<'file' | 'webhook' | 'a2a', Channel>>;

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
