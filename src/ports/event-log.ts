/**
 * The event log: append-only streams with one total order. test/conformance/event-log.ts specifies
 * it; every adapter passes that suite.
 */

/**
 * An ascending position in the whole log; 0 is before the first event. Comparable within one log
 * only. A number is sufficient: the byte offsets of EventStoreDB reach 2^53 at 8 PiB.
 */
export type Position = number;

/** Expects that the stream does not exist; any other value expects the revision of its last event. */
export const NO_STREAM = -1;

/** Attribution of an event: who caused it, on which surface, by which request. */
export type Meta = {
  /** Epoch milliseconds by the clock of the appending process. */
  at: number;
  actor: string;
  surface: string;
  operation: string;
  key?: string;
  /** The session of a person, and the page that the act was made on. */
  session?: string;
  page?: string;
  /** The assistant that an agent acted with, as its client named itself. */
  client?: { name: string; version?: string; model?: string };
  scope?: string;
  request: string;
  correlation?: string;
  /** The event that this one is due to, and its stream; it is stored after this one. */
  cause?: { stream: string; id: string };
  /** Hash of (owner, agent, operation, idempotency key); not indexed. */
  idem?: string;
  /** Keyed hash of the request, after the generation of its key. */
  fingerprint?: string;
  v: number;
};

export type NewEvent = {
  /** UUID, new for each request; retries of the same append reuse it. */
  id: string;
  type: string;
  data: object;
  meta: Meta;
};

export type StoredEvent = NewEvent & {
  stream: string;
  /** That of `ownerOfStream`. */
  owner: string;
  /** 0 for the first event of the stream, then dense. */
  revision: number;
  position: Position;
  /**
   * What the log has in place of `type` and `data` where this program reads something else: data of an earlier version is
   * converted, and a version that it does not know is part of the type, as in `LeadWon@2`.
   */
  stored?: { type: string; data: object };
};

/** Returns the type and the data that the log has. */
export const storedOf = ({ type, data, stored }: StoredEvent): { type: string; data: object } =>
  stored ?? { type, data };

/** The owner in the name of a stream, before its first dash; a space of tests is an owner of its own. */
export const ownerOfStream = (stream: string): string => stream.slice(0, stream.indexOf('-'));

/** An event without attribution, which folds do not need and a rebuild need not parse. */
export type FoldEvent = Pick<StoredEvent, 'stream' | 'owner' | 'revision' | 'position' | 'type'> & {
  data: object;
  at: number;
};

/** An event as it is stored, with data and attribution as JSON, for readers that need not parse them. */
export type EventText = Omit<StoredEvent, 'data' | 'meta' | 'stored'> & {
  data: string;
  meta: string;
};

/** Where and when an event is, for readers that do not need it. */
export type EventTime = { position: Position; at: number };

export const eventTimeOf = ({ position, meta: { at } }: StoredEvent): EventTime => ({
  position,
  at,
});

export const eventTextOf = ({ stored, ...event }: StoredEvent): EventText => {
  const { type, data } = stored ?? event;
  return { ...event, type, data: JSON.stringify(data), meta: JSON.stringify(event.meta) };
};

/** Returns an event for a fold, which ignores its attribution. */
export const foldEventOf = (event: StoredEvent): FoldEvent => ({ ...event, at: event.meta.at });

export type AppendResult =
  | { outcome: 'appended'; revision: number; position: Position }
  /**
   * Another append came first. Read the streams to learn their states. `isPartial`: earlier appends of the same call
   * are written, which happens only on a server.
   */
  | { outcome: 'conflict'; isPartial?: true };

export type StreamRevision = { stream: string; revision: number };

/**
 * What an append expects: the revision of its own stream, and optionally that nothing else has happened that would
 * forbid it.
 */
export type Expected = number | ConditionalRevision;

export type ConditionalRevision = {
  revision: number;
  /** Streams that must not have a later event; a log on a server cannot check them. */
  unchanged: readonly StreamRevision[];
  /** A log on a server calls it right before each attempt. When it rejects, the append rejects with the same error. */
  confirm(): Promise<void>;
};

export const expectedRevision = (expected: Expected): number =>
  typeof expected === 'number' ? expected : expected.revision;

/** Events for one stream, and what their append expects. */
export type Append = { stream: string; expected: Expected; events: readonly NewEvent[] };

/** A stream that the append required to be unchanged has a later event. Nothing was written. */
export class StreamAdvanced extends Error {
  override readonly name = 'StreamAdvanced';
}

export type LogFault = 'fault' | 'full' | 'overloaded' | 'closed' | 'clock' | 'replaced';

/**
 * The log gave no answer, or refused it. `unknown`: the append may have happened; a retry with the same ids finds
 * out. The reason `replaced` means that the server holds a different log from this one.
 */
export class LogUnavailable extends Error {
  override readonly name = 'LogUnavailable';
  readonly applied: 'unknown' | 'no';
  readonly reason: LogFault;
  constructor(reason: LogFault, applied: 'unknown' | 'no', detail: string) {
    super(detail);
    this.reason = reason;
    this.applied = applied;
  }
}

/** The append exceeds what this log accepts. It had no effect, and a retry would also fail. */
export class AppendTooLarge extends RangeError {
  override readonly name = 'AppendTooLarge';
}

/**
 * A stream has an event that this version cannot read: of a type, or of a version of its type, that only a newer one knows,
 * or with data that its schema refuses. So its state cannot be derived. Nothing was written.
 */
export class UnknownEventType extends Error {
  override readonly name = 'UnknownEventType';
}

/** A stored record is damaged: its checksum does not fit. It is never served; the message has its place. */
export class LogCorrupted extends Error {
  override readonly name: string = 'LogCorrupted';
}

/** An index of the log does not fit its records, and is built again from them. */
export class LogIndexDamaged extends LogCorrupted {
  override readonly name = 'LogIndexDamaged';
}

export type SubscriptionItem =
  | { kind: 'events'; events: FoldEvent[] }
  /** All events up to here have been delivered; an event need not be at this position. */
  | { kind: 'checkpoint'; position: Position }
  | { kind: 'caughtUp'; position: Position };

/** What is wrong with the file of a log while it answers most calls. */
export type LogTrouble = { reason: 'storage_full' | 'log_index_damaged'; detail: string };

export type EventLog = {
  /** Identity of this log; positions of different logs are not comparable. */
  readonly id: string;
  /**
   * Appends all of `events` or none, in order, to `stream`. Resolves when they are durable. Throws StreamAdvanced if
   * `expected` names other streams that have changed.
   */
  append(stream: string, expected: Expected, events: readonly NewEvent[]): Promise<AppendResult>;
  /**
   * Appends to several different streams; the answer is that of the last append. An append that is stored already is
   * not written again. An embedded log writes all or none, in one commit. A log on a server writes them in order, one
   * round trip each, and stops at the first one that conflicts or fails; after others were written, the failure is
   * `unknown`. So the order must be one in which a later call of other events can continue: claims, then the record
   * that needs them.
   */
  appendAll(appends: readonly Append[]): Promise<AppendResult>;
  /**
   * Reads the events of a stream from revision `from` on, at most `limit`; an unknown stream has none. Throws
   * UnknownEventType, because a state depends on all events. The other reads return an event that this version cannot
   * read as it is stored, with a type that no fold handles.
   */
  readStream(stream: string, from?: number, limit?: number): Promise<StoredEvent[]>;
  /**
   * Reads at most `limit` events after `after` (exclusive) in log order. This and the reads below are pages: a page of large
   * events ends before the limit, and one without events is at the end.
   */
  readAll(options: {
    after: Position;
    limit: number;
    types?: readonly string[];
  }): Promise<StoredEvent[]>;
  /** Reads at most `limit` events of one owner after `after` (exclusive) up to `upTo` (inclusive). */
  readOwner(
    owner: string,
    options: { after: Position; limit: number; upTo?: Position },
  ): Promise<StoredEvent[]>;
  /** Reads like `readOwner`, but returns events as they are stored, as JSON. An embedded log does not parse it. */
  readOwnerText(
    owner: string,
    options: { after: Position; limit: number; upTo?: Position },
  ): Promise<EventText[]>;
  /** Reads the newest `limit` events up to `upTo` (inclusive), of all or one owner, in log order. */
  readBack(options: { upTo: Position; limit: number; owner?: string }): Promise<StoredEvent[]>;
  /**
   * Reads positions and times of what `readBack` of one owner reads, whatever the size of the events. Checks no checksum. Omitted
   * by logs that would read the events for it.
   */
  readTimesBack?(options: { upTo: Position; limit: number; owner: string }): Promise<EventTime[]>;
  /**
   * Delivers all events after `after` in log order, past and future; ends when `signal` aborts or
   * the log closes. An embedded log delivers the events of a commit before its append resolves.
   */
  subscribe(options: { after: Position; signal: AbortSignal }): AsyncIterable<SubscriptionItem>;
  /** Reads in bulk for rebuilds: like `readAll`, but without attribution. */
  readFold(options: { after: Position; limit: number }): Promise<FoldEvent[]>;
  /** Reads in bulk for folds of one owner: like `readOwner`, but without attribution. */
  readOwnerFold(
    owner: string,
    options: { after: Position; limit: number; upTo?: Position },
  ): Promise<FoldEvent[]>;
  /**
   * Returns position and time of the newest record: the last event or, in a database that others use,
   * too, any later record, whose time is null. Subscriptions reach it. 0 and null if there is none. Of
   * a replaced log, the last one that was known.
   */
  head(): Promise<{ position: Position; at: number | null }>;
  /** Milliseconds that the first append in the queue of this process has waited; omitted by logs without a queue. */
  queuedMs?(): number;
  /**
   * Returns why nothing is written because the server has another log; undefined while it has this one. An embedded
   * log has no such method.
   */
  replacement?(): string | undefined;
  /**
   * Makes durable which event this process has read last; called before rows that were derived from it are. Another log
   * behind the same address is then detected, also by a process that never wrote. An embedded log has no such method.
   */
  remember?(): void;
  /** The same in every place, also in a shared one across the network. */
  remembered?(): Promise<void>;
  /** Returns why some calls are refused now; undefined if none are. A log on a server has no such method. */
  trouble?(): LogTrouble | undefined;
  close(): Promise<void>;
};

type Appending = Pick<EventLog, 'append' | 'appendAll'>;

/** Returns the log with `appendAll` for every append, also of one stream. */
export const replaceAppends = <Log extends Omit<EventLog, keyof Appending>>(
  log: Log,
  appendAll: EventLog['appendAll'],
): Log & Appending => ({
  ...log,
  append: (stream, expected, events) => appendAll([{ stream, expected, events }]),
  appendAll,
});
