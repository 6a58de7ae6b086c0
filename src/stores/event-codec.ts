/** What every log adapter does with an event: validates it before the write and after the read. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EVENTS, UPCASTS, type Upcasts, versionOf } from '#contracts/registries/events.ts';
import {
  type Append,
  AppendTooLarge,
  type NewEvent,
  expectedRevision,
  type StoredEvent,
  type StreamRevision,
  UnknownEventType,
  type EventLog,
  type FoldEvent,
  type Position,
  type SubscriptionItem,
  ownerOfStream,
} from '#src/ports/event-log.ts';

/** Of data and attribution. Every command reads its stream whole, so a giant event slows them all. */
const EVENT_BYTES_MAX = 1_048_576;

export type EncodedEvent = {
  id: string;
  type: string;
  v: number;
  at: number;
  data: string;
  meta: string;
  bytes: number;
};

type Schema = (typeof EVENTS)[keyof typeof EVENTS];
const SCHEMAS = new Map<string, Schema>(Object.entries(EVENTS));

/** Whether this program knows the type of events, in this version. */
export const isReadable = (type: string, v: number, upcasts: Upcasts = UPCASTS): boolean =>
  SCHEMAS.has(type) && Number.isInteger(v) && v >= 1 && v <= versionOf(type, upcasts);

// A file or a line does not return a control character or a lone surrogate unchanged.
const STREAM = /^[^$\-\p{C}][^\-\p{C}]*-\P{C}+$/u;

/** Throws TypeError if no log can store the name. */
const requireStreamName = (stream: string): void => {
  if (!STREAM.test(stream)) throw new TypeError(`not a stream name: ${JSON.stringify(stream)}`);
};

/** The path of the first member that is missing from what the schema read; undefined if it declares all. O(members). */
const undeclaredIn = (written: unknown, declared: unknown): string | undefined => {
  if (typeof written !== 'object' || written === null) return undefined;
  const members = declared as Record<string, unknown>;
  for (const [name, value] of Object.entries(written)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(members, name)) return name;
    const inside = undeclaredIn(value, members[name]);
    if (inside !== undefined) return `${name}.${inside}`;
  }
  return undefined;
};

const ESCAPE = /\\(?:u([0-9a-f]{4})|.)/g;

/**
 * Writes JSON to keep: like JSON.stringify, but half a surrogate pair becomes U+FFFD, because the canonical form, which proofs
 * need, has no place for one. O(length).
 */
export const storedJson = (value: object): string => {
  const text = JSON.stringify(value);
  // JSON.stringify escapes halves only; all other characters beyond U+001F are written as they are.
  if (!text.includes('\\ud')) return text;
  return text.replaceAll(ESCAPE, (escape, unit?: string) =>
    unit?.startsWith('d') ? '\uFFFD' : escape,
  );
};

/** Serializes at once, so that later changes of the caller's object are not stored. */
const encodeEvent = (event: NewEvent, upcasts: Upcasts): EncodedEvent => {
  requireDeclared(event, upcasts);
  if (!Number.isSafeInteger(event.meta.at)) {
    throw new TypeError(`meta.at of ${event.type} is not a time in milliseconds: ${event.meta.at}`);
  }
  const data = storedJson(event.data);
  const meta = storedJson(event.meta);
  const bytes = Buffer.byteLength(data) + Buffer.byteLength(meta);
  if (bytes > EVENT_BYTES_MAX) {
    throw new AppendTooLarge(
      `${event.type} has ${bytes} bytes; an event can have at most ${EVENT_BYTES_MAX}`,
    );
  }
  const { id, type } = event;
  return { id, type, v: event.meta.v, at: event.meta.at, data, meta, bytes };
};

/** Throws TypeError unless the schema of the type declares all of the data. A copy has data of earlier versions. */
const requireDeclared = ({ type, data, meta: { v } }: NewEvent, upcasts: Upcasts): void => {
  const schema = SCHEMAS.get(type);
  if (!schema) throw new TypeError(`event type ${type} is not in contracts/registries/events.ts`);
  if (!isReadable(type, v, upcasts))
    throw new TypeError(`${type} has no version ${v} in contracts/registries/events.ts`);
  const current = upcastData(upcasts, { type, v }, data);
  const checked = schema.safeParse(current);
  if (!checked.success) throw new TypeError(`invalid ${type}: ${checked.error.message}`);
  const undeclared = undeclaredIn(current, checked.data);
  if (undeclared !== undefined)
    throw new TypeError(`invalid ${type}: its schema does not declare ${undeclared}`);
};

export type EncodedAppend = {
  stream: string;
  owner: string;
  expected: number;
  unchanged: readonly StreamRevision[];
  confirm: (() => Promise<void>) | undefined;
  events: EncodedEvent[];
};

/** Validates and serializes appends to different streams. Throws TypeError or AppendTooLarge. */
export const encodeAppends = (
  appends: readonly Append[],
  upcasts: Upcasts = UPCASTS,
): EncodedAppend[] => {
  if (appends.length === 0) throw new TypeError('nothing to append');
  const streams = new Set(appends.map(({ stream }) => stream));
  if (streams.size < appends.length) throw new TypeError('two appends to one stream in one call');
  return appends.map((append) => encodeAppend(append, upcasts));
};

const encodeAppend = ({ stream, expected, events }: Append, upcasts: Upcasts): EncodedAppend => {
  const revision = expectedRevision(expected);
  if (!Number.isSafeInteger(revision) || revision < -1) {
    throw new TypeError(`not a revision: ${revision}`);
  }
  if (events.length === 0) throw new TypeError(`nothing to append to ${stream}`);
  requireStreamName(stream);
  return {
    stream,
    owner: ownerOfStream(stream),
    expected: revision,
    unchanged: typeof expected === 'number' ? [] : expected.unchanged,
    confirm: typeof expected === 'number' ? undefined : () => expected.confirm(),
    events: events.map((event) => encodeEvent(event, upcasts)),
  };
};

type Version = { type: string; v: number };

/** Converts data of version `v` to the newest version of its type; data of other types and of newer versions stays. */
export const upcastData = (upcasts: Upcasts, { type, v }: Version, data: object): object =>
  v < versionOf(type, upcasts) && isReadable(type, v, upcasts)
    ? (upcasts[type] ?? []).slice(v - 1).reduce((current, step) => step(current), data)
    : data;

/** Names a type with a version, which no type is named like. */
const nameVersion = ({ type, v }: Version): string => `${type}@${v}`;

/** Returns the type by which folds know an event: no fold handles a version that this program does not know. */
export const foldedType = (upcasts: Upcasts, { type, v }: Version): string =>
  isReadable(type, v, upcasts) || !SCHEMAS.has(type) ? type : nameVersion({ type, v });

/** Names a type and its version in one text, for a store whose folds read no attribution: the type alone is version 1. */
export const versionedType = ({ type, v }: Version): string =>
  v === 1 ? type : nameVersion({ type, v });

/** Reads a text of `versionedType`. */
export const parseVersionedType = (text: string): Version => {
  const at = text.lastIndexOf('@');
  return at < 0 ? { type: text, v: 1 } : { type: text.slice(0, at), v: Number(text.slice(at + 1)) };
};

/** Returns the event with its data at the newest version, or why this program cannot read it. */
const readCurrent = (upcasts: Upcasts, event: StoredEvent): StoredEvent | string => {
  const { type, data: stored, meta } = event;
  const schema = SCHEMAS.get(type);
  if (!schema) return 'is unknown to this version: a newer one wrote it';
  if (!isReadable(type, meta.v, upcasts))
    return `has version ${meta.v}, which is unknown to this version: a newer one wrote it`;
  const data = upcastData(upcasts, { type, v: meta.v }, stored);
  const checked = schema.safeParse(data);
  if (!checked.success) return `does not fit its schema: ${checked.error.message}`;
  return data === stored ? event : { ...event, data, stored: { type, data: stored } };
};

const unknownEvent = ({ type, position, stream, revision }: StoredEvent, why: string) =>
  new UnknownEventType(
    `event type ${type} at position ${position} (${stream}, revision ${revision}) ${why}`,
  );

/**
 * Returns the event with its data at the newest version and otherwise as stored, with its unknown
 * fields, because proofs cover them. Throws UnknownEventType when this program cannot read it.
 */
export const readEvent = (upcasts: Upcasts, event: StoredEvent): StoredEvent => {
  const current = readCurrent(upcasts, event);
  if (typeof current === 'string') throw unknownEvent(event, current);
  return current;
};

/**
 * As `readEvent`, for histories and copies: an event that this program cannot read is returned as it is stored, with a
 * type that no fold handles. It changes no state here, and one such event must not hide all others.
 */
export const readAnyEvent = (upcasts: Upcasts, event: StoredEvent): StoredEvent => {
  const current = readCurrent(upcasts, event);
  if (typeof current !== 'string') return current;
  const { type, data, meta } = event;
  if (!SCHEMAS.has(type)) return event;
  return { ...event, type: nameVersion({ type, v: meta.v }), stored: { type, data } };
};

/** Throws UnknownEventType for an event that `readAnyEvent` could not read. */
export const requireReadable = (events: readonly StoredEvent[]): void => {
  for (const event of events)
    if (!SCHEMAS.has(event.type))
      throw unknownEvent(event, 'is unknown to this version: a newer one wrote it');
};

const PAGE_EVENTS = 500;
const QUEUE_EVENTS_MAX = 4_096;

/** Events, and the position up to which the log was read: others' records can follow them. */
export type LogPage = { events: FoldEvent[]; position: Position };

type Source = {
  /** Position up to which commits were pushed. */
  head(): Position;
  /** Reads history; a log that contains nothing but events returns only these. */
  page(after: Position, limit: number): FoldEvent[] | Promise<LogPage>;
  /** Called before `head` and `page`: resolves when commits after `head` are pushed. */
  start?(after: Position): Promise<void>;
  /** Called when no subscription is open. */
  stop?(): void;
};

type Step = IteratorResult<SubscriptionItem, undefined>;

type Hub = {
  /** Every subscription that has not ended; `live` has those of them that have read all of the log. */
  readonly open: Set<Subscription>;
  readonly live: Set<Subscription>;
  readonly source: Source;
  readonly queueMax: number;
};

const END: Step = { done: true, value: undefined };
const item = (value: SubscriptionItem): Step => ({ done: false, value });

/**
 * An iterator instead of a generator: a generator answers several microtasks later, and an append would
 * resolve before its subscribers have seen the events.
 */
class Subscription implements AsyncIterator<SubscriptionItem> {
  readonly #hub: Hub;
  readonly #signal: AbortSignal;
  #position: Position;
  #isCheckpointDue = false;
  #hasEnded: boolean;
  #queue: FoldEvent[] = [];
  /** Position up to which commits were pushed to the queue. */
  #queuedTo: Position = 0;
  #failure: { error: unknown } | undefined;
  #waiting: ((step: Step | Promise<Step>) => void) | undefined;

  constructor(hub: Hub, after: Position, signal: AbortSignal) {
    this.#hub = hub;
    this.#position = after;
    this.#signal = signal;
    this.#hasEnded = signal.aborted;
    if (this.#hasEnded) return;
    hub.open.add(this);
    signal.addEventListener('abort', this.end);
  }

  next(): Promise<Step> {
    if (this.#failure) return this.#throwFailure(this.#failure.error);
    if (this.#hasEnded) return Promise.resolve(END);
    if (this.#isCheckpointDue) {
      this.#isCheckpointDue = false;
      return Promise.resolve(this.#checkpoint());
    }
    return this.#hub.live.has(this) ? this.#nextPushed() : this.#readNext();
  }

  return(): Promise<Step> {
    this.end();
    return Promise.resolve(END);
  }

  push(events: FoldEvent[], upTo: Position): void {
    const position = this.#position;
    if (upTo <= position) return;
    const fresh =
      events[0] && events[0].position > position
        ? events
        : events.filter((event) => event.position > position);
    if (this.#waiting) {
      this.#resolve(this.#deliver(fresh, upTo));
      return;
    }
    this.#queue = this.#queue.concat(fresh);
    this.#queuedTo = upTo;
    if (this.#queue.length > this.#hub.queueMax) this.readFromLog();
  }

  /** Discards the queue and continues from the log at the position of the last delivery. */
  readFromLog(): void {
    this.#queue = [];
    this.#hub.live.delete(this);
    const resolve = this.#waiting;
    resolve?.(this.#readNext());
  }

  /** Ends the subscription with an error. */
  fail(error: unknown): void {
    this.#failure = { error };
    const resolve = this.#waiting;
    this.#waiting = undefined;
    this.end();
    resolve?.(this.#throwFailure(error));
  }

  readonly end = (): void => {
    const hub = this.#hub;
    this.#hasEnded = true;
    this.#queue = [];
    hub.live.delete(this);
    hub.open.delete(this);
    this.#signal.removeEventListener('abort', this.end);
    if (this.#waiting) this.#resolve(END);
    if (hub.open.size === 0) hub.source.stop?.();
  };

  #throwFailure(error: unknown): Promise<never> {
    this.#failure = undefined;
    return Promise.reject(error);
  }

  #resolve(step: Step): void {
    const resolve = this.#waiting;
    this.#waiting = undefined;
    resolve?.(step);
  }

  #checkpoint(): Step {
    return item({ kind: 'checkpoint', position: this.#position });
  }

  #deliver(events: FoldEvent[], upTo: Position): Step {
    this.#position = upTo;
    if (events.length === 0) return this.#checkpoint();
    this.#isCheckpointDue = true;
    return item({ kind: 'events', events });
  }

  #nextPushed(): Promise<Step> {
    const events = this.#queue;
    this.#queue = [];
    if (this.#queuedTo > this.#position)
      return Promise.resolve(this.#deliver(events, this.#queuedTo));
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** The end of the subscription does not wait for the page. */
  #readNext(): Promise<Step> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#readPage().then(
        (step) => this.#resolve(step),
        (error: unknown) => this.#hasEnded || this.fail(error),
      );
    });
  }

  /** Reads one page per turn of the event loop, so that a long history does not delay requests. */
  async #readPage(): Promise<Step> {
    const { source, live } = this.#hub;
    await nextTurn();
    if (this.#hasEnded) return END;
    await source.start?.(this.#position);
    if (this.#hasEnded) return END;
    // Comparing with the head and joining `live` in one turn misses no commit.
    if (this.#position >= source.head()) {
      live.add(this);
      return item({ kind: 'caughtUp', position: this.#position });
    }
    const page = await source.page(this.#position, PAGE_EVENTS);
    if (this.#hasEnded) return END;
    const events = Array.isArray(page) ? page : page.events;
    const upTo = Array.isArray(page) ? events.at(-1)?.position : page.position;
    if (upTo === undefined)
      throw new Error(`the log returns no event after position ${this.#position}`);
    return this.#deliver(events, upTo);
  }
}

/**
 * Subscriptions to a log within this process. Each reads history in pages and then receives the events of every commit,
 * in one order. A subscriber that is waiting when a commit is pushed runs before the append of that commit resolves.
 */
export class Subscribers {
  readonly #hub: Hub;
  #isClosed = false;

  /** A subscriber with more than `queueMax` undelivered events reads them from the log instead. */
  constructor(source: Source, queueMax = QUEUE_EVENTS_MAX) {
    this.#hub = { live: new Set(), open: new Set(), source, queueMax };
  }

  readonly subscribe: EventLog['subscribe'] = ({ after, signal }) => ({
    [Symbol.asyncIterator]: () =>
      new Subscription(this.#hub, after, this.#isClosed ? AbortSignal.abort() : signal),
  });

  /** Whether any subscription is open, also one that still reads history. */
  get hasAny(): boolean {
    return this.#hub.open.size > 0;
  }

  /** `upTo`: the position of the last event, or of a later record that is no event. */
  push(events: FoldEvent[], upTo = events.at(-1)?.position ?? 0): void {
    for (const subscription of this.#hub.live) subscription.push(events, upTo);
  }

  /** Ends the subscriptions that wait for commits with an error; the others read from the log. */
  fail(error: unknown): void {
    for (const subscription of this.#hub.live) subscription.fail(error);
  }

  /** For a commit whose events were not collected, because nobody subscribed when it began. */
  readFromLog(): void {
    for (const subscription of this.#hub.live) subscription.readFromLog();
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#hub.open) subscription.end();
  }
}
