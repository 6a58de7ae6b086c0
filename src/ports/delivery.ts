/** Where approved outreach leaves the house. What is sent, and all that may be said of what became of it. */

/** One attempt to send one approved revision. Holds secrets: never logged. */
export type Delivery = {
  /** The live or the test space's owner: a test request lies beside nothing that is live. */
  ownerId: string;
  outboundId: string;
  revision: number;
  /** 1 for the first. A receiver sees the same id at each: `{outboundId}.{revision}`. */
  attempt: number;
  kind: 'social_post' | 'message' | 'agent_notification';
  target: Readonly<Record<string, string>>;
  /** The exact text that was approved; its UTF-8 bytes are what leaves. */
  envelope: string;
  /** Hex, of those bytes. */
  sha256: string;
  url?: string;
  /** Each signs what a webhook gets: more than one while a secret is being replaced. */
  signingSecrets: readonly string[];
};

/**
 * What is certain. `refused`: not accepted, and not to be repeated; `disable`: the receiver is gone
 * for good. `retry`: no effect, may be repeated. `unknown`: may have had its effect.
 * Reasons are codes of ours, evidence an id of a safe alphabet: never a stranger's text.
 */
export type DeliveryResult =
  | { outcome: 'delivered'; evidence: string }
  | { outcome: 'refused'; reason: string; disable?: true }
  | { outcome: 'retry'; reason: string; retryAfterMs?: number }
  | { outcome: 'unknown'; reason: string };

export type Channel = {
  /** It answers within this time, whatever the receiver does. */
  readonly limitMs: number;
  /** When `signal` aborts it answers at once, with what is certain by then. Throws only on a bug. */
  deliver(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
};

export type Channels = Readonly<Record<'file' | 'webhook' | 'a2a', Channel>>;
