/**
 * The log, as the application needs it: append-only streams, one order over all of them.
 * Defined by ../../test/conformance/event-log.ts, which every adapter passes.
 */

/**
 * A place in the whole log, rising, 0 before the first event. Comparable within one log only.
 * A number: EventStoreDB's byte offsets pass 2^53 beyond 8 PiB.
 */
export type Position = number;

/** A stream that must not exist yet. Any other expectation is the revision of its last event. */
export const NO_STREAM = -1;

/** Who did it, over what, asked by which request: set in one place (app/attribution.ts). */
export type Meta = {
  /** Epoch milliseconds, from the clock of the process that appended. */
  at: number;
  actor: string;
  surface: string;
  operation: string;
  key?: string;
  scope?: string;
  request: string;
  correlation?: string;
  causation?: string;
  /** Keyed nowhere: hash of (agent, operation, idempotency key). */
  idem?: string;
  fingerprint?: string;
  v: number;
};

export type NewEvent = {
  /** UUID, fresh per request, kept over our own retries of the same append. */
  id: string;
  type: string;
  data: object;
  meta: Meta;
};

export type StoredEvent = NewEvent & {
  stream: string;
  /** The part of the stream's name before the dash. */
  owner: string;
  /** 0 for the first event of the stream, then dense. */
  revision: number;
  position: Position;
};

/** What a fold reads: without attribution, which a million-event rebuild need not parse. */
export type FoldEvent = Pick<StoredEvent, 'stream' | 'owner' | 'revision' | 'position' | 'type'> & {
  data: object;
  at: number;
};

export type AppendResult =
  | { outcome: 'appended'; revision: number; position: Position }
  /** Somebody appended first. Says nothing of the stream: read it. */
  | { outcome: 'conflict' };

/** Why an append gave no answer. `unknown`: it may have happened; the same ids tell. */
export class LogUnavailable extends Error {
  override readonly name = 'LogUnavailable';
  readonly applied: 'unknown' | 'no';
  readonly reason: 'fault' | 'full' | 'overloaded' | 'closed';
  constructor(
    reason: 'fault' | 'full' | 'overloaded' | 'closed',
    applied: 'unknown' | 'no',
    detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.reason = reason;
    this.applied = applied;
  }
}

/** More than this log takes in one append. Nothing was written, and no repetition will help. */
export class AppendTooLarge extends RangeError {
  override readonly name = 'AppendTooLarge';
}

/** A record that is not what was written. Never served; carries where. */
export class LogCorrupted extends Error {
  override readonly name = 'LogCorrupted';
}

export type SubscriptionItem =
  | { kind: 'events'; events: FoldEvent[] }
  /** Everything up to here has been delivered, whether or not it passed the filter. */
  | { kind: 'checkpoint'; position: Position }
  | { kind: 'caughtUp'; position: Position };

export type EventLog = {
  /** Identity of this log; a position means nothing in another. */
  readonly id: string;
  /** All of `events` or none, in order, at the end of `stream`. Resolves when durable. */
  append(stream: string, expected: number, events: readonly NewEvent[]): Promise<AppendResult>;
  /** The stream's events from `from` on; empty when there is none. */
  readStream(stream: string, from?: number): Promise<StoredEvent[]>;
  /** Events after `after` (exclusive) in log order, at most `limit`. */
  readAll(options: {
    after: Position;
    limit: number;
    types?: readonly string[];
  }): Promise<StoredEvent[]>;
  /** One owner's events after `after` (exclusive) up to `upTo` (inclusive) in log order, at most `limit`. */
  readOwner(
    owner: string,
    options: { after: Position; limit: number; upTo?: Position },
  ): Promise<StoredEvent[]>;
  /** The newest events up to `upTo` (inclusive), of all or of one owner, at most `limit`, in log order. */
  readBack(options: { upTo: Position; limit: number; owner?: string }): Promise<StoredEvent[]>;
  /**
   * One ordered sequence from after `after` on, for ever; ends when `signal` aborts or the log
   * closes. In an embedded log the events of a commit are delivered before its append resolves.
   */
  subscribe(options: { after: Position; signal: AbortSignal }): AsyncIterable<SubscriptionItem>;
  /** Folding read, in bulk: like readAll without attribution. For rebuilds. */
  readFold(options: { after: Position; limit: number }): Promise<FoldEvent[]>;
  /** Position and time of the last event; 0 and null when empty. */
  head(): Promise<{ position: Position; at: number | null }>;
  close(): Promise<void>;
};
