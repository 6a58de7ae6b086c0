/** Reads of the log on EventStoreDB, and the decoding of its answers. */
import type {
  EventStoreDBClient,
  AllStreamRecordedEvent,
  EventData,
  RecordedEvent,
  ResolvedEvent,
} from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import {
  type Position,
  LogCorrupted,
  type FoldEvent,
  type Meta,
  type StoredEvent,
  LogUnavailable,
  ownerOfStream,
} from '#src/ports/event-log.ts';
import type { Upcasts } from '#contracts/registries/events.ts';
import { type EncodedEvent, foldedType, upcastData } from '#src/stores/event-codec.ts';
import { openRead, type ServerStream } from './client.ts';
import {
  noAnswer,
  failureOf,
  invalidPosition,
  InvalidPosition,
  isWorthRepeating,
  readError,
  type Timing,
  withRetries,
  semaphore,
} from './failures.ts';

type Cancellable = Pick<NodeJS.EventEmitter, 'on'> & { cancel(): unknown };

/** Collects the items of a read. Rejects after `idleMs` of silence, because reads have no deadline. */
const collect = <Item>(
  opening: Cancellable | Promise<Cancellable>,
  idleMs: number,
): Promise<Item[]> =>
  new Promise((resolve, reject) => {
    const items: Item[] = [];
    // A cancelled read ends as if it were complete.
    let isCancelled = false;
    const settle = (finish: () => void): void => {
      if (isCancelled) return;
      clearTimeout(timer);
      finish();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const timer = setTimeout(() => {
      isCancelled = true;
      void Promise.resolve(opening).then(cancel, () => {});
      // The client frees the call's slot one turn later; rejecting before would exceed the limit.
      setImmediate(() => setImmediate(reject, noAnswer(idleMs)));
    }, idleMs);
    const follow = (stream: Cancellable): void => {
      stream.on('data', (item: Item) => {
        if (isCancelled) return;
        timer.refresh();
        items.push(item);
      });
      stream.on('error', fail);
      stream.on('end', () => settle(() => resolve(items)));
    };
    Promise.resolve(opening).then(follow, fail);
  });

const cancel = (stream: Cancellable): void => {
  stream.on('error', () => {});
  void Promise.resolve(stream.cancel()).catch(() => {});
};

/**
 * Converts a commit position, which identifies a record: prepare positions differ from it only in
 * transactions of the old TCP protocol. Throws RangeError above 2^53, where a number would be
 * rounded, and for the largest integer, by which servers say that they have no position.
 */
export const positionOf = (commit: bigint | undefined): Position => exactPosition(Number(commit));

/** Returns the number if no other position is rounded to it. Throws RangeError. */
const exactPosition = (commit: number): Position => {
  if (!Number.isSafeInteger(commit) || commit < 0)
    throw new RangeError(`commit position ${commit} is not an exact number`);
  return commit;
};

/** `other`: a message without meaning here, such as the confirmation of a subscription. */
type ReadItem = Recorded | { checkpoint: Position } | 'caughtUp' | 'other';

/** Field numbers. */
const EVENT = 1;
const CHECKPOINT = 3;
const CAUGHT_UP = 8;

const LENGTH_DELIMITED = 2;
/** Bytes of a value of wire type 1 or 5. */
const FIXED_BYTES: { readonly [wireType: number]: number } = { 1: 8, 5: 4 };

/** A cursor over the fields of one message, between two offsets of a buffer. */
class Fields {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = 0;
  /** Number of the field that `next` reached. */
  field = 0;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** Moves to the next field. Each field must be read or skipped before the next call. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.#wireType = tag % 8;
    return true;
  }

  /** Rounded above 2^53. */
  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined)
        throw new RangeError('13 INTERNAL: a message of the server is cut off');
      this.#at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  }

  message(): Fields {
    const [start, end] = this.#range();
    return new Fields(this.#bytes, start, end);
  }

  text(): string {
    const [start, end] = this.#range();
    return this.#bytes.toString('utf8', start, end);
  }

  bytes(): Buffer {
    const [start, end] = this.#range();
    return this.#bytes.subarray(start, end);
  }

  skip(): void {
    if (this.#wireType === 0) this.varint();
    else if (this.#wireType === LENGTH_DELIMITED) this.#range();
    else this.#at += FIXED_BYTES[this.#wireType] ?? Infinity;
  }

  #range(): [start: number, end: number] {
    const length = this.varint();
    const start = this.#at;
    this.#at += length;
    return [start, this.#at];
  }
}

/**
 * Decodes a message of a read or a subscription (`ReadResp` in EventStoreDB's streams.proto) without parsing the
 * contents of records: the client's decoder costs several times as much as the message does on the network, and parses
 * JSON that no fold of this process needs.
 */
const decodeReadResponse = (bytes: Buffer): ReadItem => {
  const fields = new Fields(bytes);
  while (fields.next()) {
    if (fields.field === EVENT) return decodeEvent(fields.message());
    if (fields.field === CHECKPOINT) return { checkpoint: firstPosition(fields.message()) };
    if (fields.field === CAUGHT_UP) return 'caughtUp';
    fields.skip();
  }
  return 'other';
};

const firstPosition = (fields: Fields): Position => {
  let commit = 0;
  while (fields.next())
    if (fields.field === 1) commit = fields.varint();
    else fields.skip();
  return exactPosition(commit);
};

const decodeEvent = (fields: Fields): ReadItem => {
  while (fields.next()) {
    if (fields.field === 1) return new LazyRecord(fields.message());
    fields.skip();
  }
  return 'other';
};

const lastText = (fields: Fields, wanted: number): string => {
  let text = '';
  while (fields.next())
    if (fields.field === wanted) text = fields.text();
    else fields.skip();
  return text;
};

/** A record whose data and metadata are parsed when they are first read. */
class LazyRecord implements Recorded {
  id = '';
  streamId = '';
  type = '';
  revision = 0;
  position = 0;
  isJson = false;
  #metadata: Buffer | undefined;
  #data: Buffer | undefined;
  #parsed: unknown;
  #parsedMetadata: unknown;

  constructor(fields: Fields) {
    while (fields.next()) this.#take(fields);
  }

  get isObject(): boolean {
    return this.isJson && this.#data?.[0] === 0x7b;
  }

  /** The parsed JSON, or the bytes. Throws LogCorrupted. */
  get data(): unknown {
    if (!this.isJson) return this.#data;
    try {
      return (this.#parsed ??= JSON.parse(this.#data?.toString() ?? ''));
    } catch (cause) {
      throw new LogCorrupted(`the data at position ${this.position} is not JSON`, { cause });
    }
  }

  /** Undefined where it is not JSON. */
  get metadata(): unknown {
    if (this.#metadata) {
      try {
        this.#parsedMetadata = JSON.parse(this.#metadata.toString());
      } catch {
        // Another application's.
      }
      this.#metadata = undefined;
    }
    return this.#parsedMetadata;
  }

  #take(fields: Fields): void {
    switch (fields.field) {
      case 1:
        this.id = lastText(fields.message(), 2);
        return;
      case 2:
        this.streamId = lastText(fields.message(), 3);
        return;
      case 3:
        this.revision = fields.varint();
        return;
      case 5:
        this.position = exactPosition(fields.varint());
        return;
      case 6:
        this.#takeProperty(fields.message());
        return;
      case 7:
        this.#metadata = fields.bytes();
        return;
      case 8:
        this.#data = fields.bytes();
        return;
      default:
        fields.skip();
    }
  }

  #takeProperty(fields: Fields): void {
    let name = '';
    let value = '';
    while (fields.next())
      if (fields.field === 1) name = fields.text();
      else if (fields.field === 2) value = fields.text();
      else fields.skip();
    if (name === 'type') this.type = value;
    else if (name === 'content-type') this.isJson = value === 'application/json';
  }
}

const { Options } = streams.ReadReq;
type Options = InstanceType<typeof Options>;

/** Which records the server sends to a subscription. */
type AllFilter = { types: readonly string[] } | { owner: string } | 'all';

type AllPage = {
  /** Reads include the record at this position forwards, and exclude it backwards. */
  from: Position | 'end';
  maxCount: number;
  isBackwards?: boolean;
};

// The server examines 32 records at a time and sends a checkpoint after this many batches.
const CHECKPOINT_WINDOWS = 32;

/** Reads one page of `$all`. Backwards reads are answered by the leader. */
const readPage = async (
  client: EventStoreDBClient,
  { from, maxCount, isBackwards = false }: AllPage,
  idleMs: number,
): Promise<Recorded[]> => {
  const { FORWARDS, BACKWARDS } = Options.ReadDirection;
  const options = optionsFrom(from)
    .setCount(String(maxCount))
    .setReadDirection(isBackwards ? BACKWARDS : FORWARDS)
    .setNoFilter(new shared.Empty());
  const call = open(client, options, isBackwards);
  const items = await collect<ReadItem>(call, idleMs);
  return items.filter((item): item is Recorded => typeof item === 'object' && 'type' in item);
};

/** Subscribes to the records after `from`. With a filter, the server also sends checkpoints. */
const subscribeToAll = (
  client: EventStoreDBClient,
  from: Position,
  filter: AllFilter,
): Promise<ServerStream> => {
  const options = optionsFrom(from).setSubscription(new Options.SubscriptionOptions());
  if (filter === 'all') options.setNoFilter(new shared.Empty());
  else options.setFilter(filterOptions(filter));
  return open(client, options, false);
};

const open = (client: EventStoreDBClient, options: Options, requiresLeader: boolean) => {
  const request = new streams.ReadReq().setOptions(options);
  return openRead(client, request, { decode: decodeReadResponse, requiresLeader });
};

const optionsFrom = (from: Position | 'end'): Options => {
  const all = new Options.AllOptions();
  if (from === 'end') all.setEnd(new shared.Empty());
  else if (from <= 0) all.setStart(new shared.Empty());
  else {
    const commit = String(from);
    const position = new Options.Position().setCommitPosition(commit).setPreparePosition(commit);
    all.setPosition(position);
  }
  return new Options()
    .setAll(all)
    .setResolveLinks(false)
    .setUuidOption(new Options.UUIDOption().setString(new shared.Empty()));
};

const filterOptions = (filter: Exclude<AllFilter, 'all'>) => {
  const options = new Options.FilterOptions()
    .setCount(new shared.Empty())
    .setCheckpointintervalmultiplier(CHECKPOINT_WINDOWS);
  const expression = new Options.FilterOptions.Expression();
  if ('owner' in filter)
    return options.setStreamIdentifier(expression.setPrefixList([`${filter.owner}-`]));
  const types = filter.types.map(escape).join('|');
  return options.setEventType(expression.setRegex(`^(?:${types})$`));
};

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|#\s]/g, '\\$&');

/** A checkpoint means that every matching record up to it has been delivered. */
export type LogFeedItem = Recorded[] | { checkpoint: Position } | 'caughtUp';

type FeedOptions = {
  after: Position;
  filter: AllFilter;
  /** Messages that wait here; the server is paused when there are more. */
  bufferMax: number;
  silenceMs: number;
  /** Called after each `silenceMs` in which the reader waited in vain. An error ends the feed. */
  onSilence(): Promise<Error | undefined>;
  signal?: AbortSignal;
};

/** Subscribes to `$all`. Ends when `signal` aborts; throws when the server ends or drops it. */
export async function* feed(
  client: EventStoreDBClient,
  options: FeedOptions,
): AsyncGenerator<LogFeedItem, void> {
  const start = await startAfter(client, options);
  const { signal, filter } = options;
  if (signal?.aborted) return;
  const reader = new FeedReader(await subscribeToAll(client, start, filter), options);
  try {
    yield* reader.items();
  } finally {
    reader.close();
  }
}

/** Reads the messages of one call to the server as they arrive. */
class FeedReader {
  readonly #options: FeedOptions;
  readonly #stream: ServerStream;
  #arrived: ReadItem[] = [];
  #error: Error | undefined;
  #wake = (): void => {};

  constructor(stream: ServerStream, options: FeedOptions) {
    this.#options = options;
    this.#stream = stream;
    stream.on('data', (item: ReadItem) => this.#put(item));
    stream.on('error', (error) => this.#fail(error));
    stream.on('end', () => this.#fail(new Error('14 UNAVAILABLE: ended by the server')));
    options.signal?.addEventListener('abort', this.close);
  }

  async *items(): AsyncGenerator<LogFeedItem, void> {
    const { signal, onSilence } = this.#options;
    while (!signal?.aborted) {
      const arrived = this.#arrived;
      this.#arrived = [];
      if (this.#stream.isPaused()) this.#stream.resume();
      if (arrived.length > 0) yield* grouped(arrived);
      else if (this.#error) throw this.#error;
      else if (!(await this.#activity())) {
        const error = await onSilence();
        if (error && this.#arrived.length === 0) throw error;
      }
    }
  }

  readonly close = (): void => {
    this.#options.signal?.removeEventListener('abort', this.close);
    // Otherwise the call stays open at the server. Not within a message of the call: grpc-js would
    // deliver the next one to a finished call.
    setImmediate(() => this.#stream.cancel());
    this.#wake();
  };

  #put(item: ReadItem): void {
    this.#arrived.push(item);
    if (this.#arrived.length >= this.#options.bufferMax) this.#stream.pause();
    this.#wake();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake();
  }

  /** Resolves to true at the end of a turn in which something arrived, to false after silence. */
  #activity(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.silenceMs, false);
      this.#wake = () => {
        this.#wake = () => {};
        clearTimeout(timer);
        setImmediate(resolve, true);
      };
    });
  }
}

/** Joins successive records. */
function* grouped(items: readonly ReadItem[]): Generator<LogFeedItem> {
  let records: Recorded[] = [];
  for (const item of items) {
    if (item === 'other') continue;
    if (typeof item === 'object' && 'type' in item) {
      records.push(item);
      continue;
    }
    if (records.length > 0) yield records;
    records = [];
    yield item;
  }
  if (records.length > 0) yield records;
}

/**
 * Finds the position from which a subscription delivers every record after `after`. The server skips
 * the record at the given position, or the next one if that record was scavenged. In that case the
 * subscription must start at the record before.
 */
const startAfter = async (
  client: EventStoreDBClient,
  { after, silenceMs }: FeedOptions,
): Promise<Position> => {
  if (after <= 0) return 0;
  // Forwards a read includes the record at `after`, backwards it does not.
  const read = async (isBackwards: boolean) =>
    (await readPage(client, { from: after, maxCount: 1, isBackwards }, silenceMs))[0];
  const next = await read(false);
  if (!next || next.position <= after) return after;
  return (await read(true))?.position ?? 0;
};

/** A record of the server: an event of the log, or what others store in the database. */
export type Recorded = {
  readonly id: string;
  readonly streamId: string;
  readonly type: string;
  /** Rounded in the record of a deletion. */
  readonly revision: number;
  readonly position: Position;
  /** Whether the data is declared as JSON and begins like an object. */
  readonly isObject: boolean;
  /** Parsed JSON, or bytes. */
  readonly data: unknown;
  /** Parsed JSON; undefined if it is none. */
  readonly metadata: unknown;
};

const toRecorded = (record: RecordedEvent | AllStreamRecordedEvent): Recorded => ({
  id: record.id,
  streamId: record.streamId,
  type: record.type,
  revision: Number(record.revision),
  position: positionOf(record.position?.commit),
  isObject: record.isJson && typeof record.data === 'object',
  data: record.data,
  metadata: record.metadata,
});

const utf8 = new TextEncoder();

/**
 * Makes an append of the encoded text, so that later changes to the caller's object have no effect.
 * `data` is parsed again because the client serializes it itself; only data that is declared as JSON
 * can be displayed and filtered by the server.
 */
export const toEventData = ({ id, type, data, meta }: EncodedEvent): EventData => ({
  id,
  type,
  contentType: 'application/json',
  data: JSON.parse(data),
  metadata: utf8.encode(meta),
});

const isMeta = (metadata: unknown): metadata is Meta =>
  typeof metadata === 'object' &&
  metadata !== null &&
  'at' in metadata &&
  Number.isSafeInteger(metadata.at) &&
  'v' in metadata &&
  typeof metadata.v === 'number';

export type LogRecord = Recorded & { metadata: Meta; data: object };

/**
 * Reports whether a record is an event of Tributary's log. Types and streams that begin with `$`
 * belong to the server, or to what Tributary stores beside the log; events of other applications
 * have no attribution.
 */
export const isLogRecord = (record: Recorded | undefined): record is LogRecord =>
  record !== undefined &&
  !record.type.startsWith('$') &&
  !record.streamId.startsWith('$') &&
  record.streamId.indexOf('-') > 0 &&
  record.isObject &&
  isMeta(record.metadata);

const originOf = ({ streamId, revision, position }: Recorded) => ({
  stream: streamId,
  owner: ownerOfStream(streamId),
  revision,
  position,
});

/** Converts a record to an event as it is stored: `readEvent` or `readAnyEvent` in event-codec checks it. */
export const toStoredEvent = (record: LogRecord): StoredEvent => {
  const { id, type, data, metadata } = record;
  return { id, type, data, meta: metadata, ...originOf(record) };
};

/** Converts a record to an event whose data is parsed when it is first read. */
export const toFoldEvent = (upcasts: Upcasts, record: LogRecord): FoldEvent => {
  const { type, metadata, streamId, revision, position } = record;
  const version = { type, v: metadata.v };
  let data: object | undefined;
  return {
    stream: streamId,
    owner: ownerOfStream(streamId),
    revision,
    position,
    type: foldedType(upcasts, version),
    at: metadata.at,
    get data() {
      return (data ??= upcastData(upcasts, version, record.data));
    },
  };
};

/** Returns the events among the records after `after`, and the position of the last record. */
export const logPageOf = (
  upcasts: Upcasts,
  records: readonly Recorded[],
  after: Position,
): { events: FoldEvent[]; position: Position } => {
  const events: FoldEvent[] = [];
  let position = after;
  for (const record of records) {
    if (record.position <= position) continue;
    position = record.position;
    if (isLogRecord(record)) events.push(toFoldEvent(upcasts, record));
  }
  return { events, position };
};

/** Pages grow by this factor, so that foreign records are skipped in few round trips. */
const GROWTH = 8;

/**
 * The size of the next page: what is missing, at the density of events in the page before, and at most GROWTH times as
 * much as before.
 */
const nextSize = (
  size: number,
  { read, found, missing }: { read: number; found: number; missing: number },
): number =>
  found === 0 ? size * GROWTH : Math.min(size * GROWTH, Math.ceil((missing * read) / found) + 1);

/**
 * A server runs 100 calls of a connection at once and queues the others, appends included. The
 * remaining slots are for the stream of appends and for subscriptions.
 */
const READS_MAX = 64;
const PAGE_EVENTS_MAX = 4_096;
const SCAN_BUFFER_MAX = 256;

type Range = { after: Position; limit: number };
type Head = { position: Position; at: number | null };

/** Reads with a limit on their number and their time, repeated while that can help. */
export class Reads {
  readonly #client: EventStoreDBClient;
  readonly #timing: Timing;
  readonly #inTurn = semaphore(READS_MAX);

  constructor(client: EventStoreDBClient, timing: Timing) {
    this.#client = client;
    this.#timing = timing;
  }

  /** Resolves when the server answers reads; the stream does not exist. */
  async probe(): Promise<void> {
    await this.streamOnce('tributary_probe', 0, 1);
  }

  /** Reads a stream without repetition; empty when it does not exist. */
  streamOnce(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    return this.#inTurn(() => this.#readStream(stream, from, limit));
  }

  stream(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    return this.#repeat(`reading ${stream}`, () => this.#readStream(stream, from, limit));
  }

  /** The log's events after `after`, at most `limit`. */
  all({ after, limit }: Range): Promise<LogRecord[]> {
    return this.#fromAnywhere(after, async (start) => {
      const events: LogRecord[] = [];
      let last = start;
      let size = limit + 1;
      for (;;) {
        const before = events.length;
        const maxCount = Math.min(size, PAGE_EVENTS_MAX);
        // The first record of a page is the last one of the page before.
        const page = await this.#page({ from: last, maxCount }, last === start);
        for (const record of page) {
          if (record.position > last && isLogRecord(record)) events.push(record);
          last = Math.max(last, record.position);
        }
        if (events.length >= limit || page.length < maxCount) return events.slice(0, limit);
        size = nextSize(size, {
          read: page.length,
          found: events.length - before,
          missing: limit - events.length,
        });
      }
    });
  }

  /**
   * At most `limit` records from `from` on, whatever they are. Throws InvalidPosition when no record
   * begins there.
   */
  records(from: Position, limit: number): Promise<Recorded[]> {
    return this.#page({ from, maxCount: limit }, true);
  }

  /** The newest `limit` events up to `upTo`, in log order. An owner's are found by reading all. */
  back(upTo: Position, limit: number, owner?: string): Promise<LogRecord[]> {
    const isWanted = (record: Recorded): record is LogRecord =>
      record.position <= upTo &&
      isLogRecord(record) &&
      (owner === undefined || record.streamId.startsWith(`${owner}-`));
    return this.#fromAnywhere(upTo, async (start) => {
      // A backwards read excludes the record that it starts at.
      const first = await this.#pages(start, 1, false).next();
      const events = (first.value ?? []).filter(isWanted);
      if (start > 0 && events.length < limit)
        for await (const page of this.#pages(start, limit, true)) {
          events.push(...page.filter(isWanted));
          if (events.length >= limit) break;
        }
      return events.slice(0, limit).toReversed();
    });
  }

  /**
   * The events that pass `filter`, after `after` and up to `upTo`, at most `limit`. The client has no
   * filtered read, so this subscribes until it has caught up.
   */
  async scan(
    filter: AllFilter,
    { after, limit, upTo = Infinity }: Range & { upTo?: Position | undefined },
  ): Promise<LogRecord[]> {
    const events: LogRecord[] = [];
    if (limit <= 0 || upTo <= after) return events;
    const { idleMs: silenceMs } = this.#timing;
    const onSilence = async () => noAnswer(silenceMs);
    const attempt = async (from: Position): Promise<void> => {
      const options = { after: from, filter, bufferMax: SCAN_BUFFER_MAX };
      for await (const item of feed(this.#client, { ...options, silenceMs, onSilence })) {
        if (item === 'caughtUp') return;
        if ('checkpoint' in item) {
          if (item.checkpoint >= upTo) return;
          continue;
        }
        for (const record of item) {
          if (record.position > upTo) return;
          if (isLogRecord(record) && events.push(record) >= limit) return;
        }
      }
    };
    await this.#fromAnywhere(after, (start) =>
      this.#repeat('scanning the log', () => {
        // A repetition continues after the last event received.
        const from = events.at(-1)?.position ?? start;
        return attempt(from).catch(invalidPosition(from));
      }),
    );
    return events;
  }

  /**
   * Position and time of the newest record of the database, whatever it is. Subscriptions receive every
   * record, so they reach it.
   */
  async head(): Promise<Head> {
    const [newest] = await this.#page({ from: 'end', maxCount: 1, isBackwards: true });
    if (!newest) return { position: 0, at: null };
    // The times of other records are by other clocks.
    const at = isLogRecord(newest) ? newest.metadata.at : null;
    return { position: newest.position, at };
  }

  /** Throws LogUnavailable when repetition did not help in time. */
  #repeat<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { readRepeatMs: forMs, retryMs } = this.#timing;
    const onFailure = (error: unknown, isLast: boolean): void => {
      if (isLast || !isWorthRepeating(failureOf(error))) throw readError(what, error);
    };
    return withRetries(() => this.#inTurn(attempt), { forMs, retryMs, onFailure });
  }

  async #readStream(stream: string, from: number, limit?: number): Promise<Recorded[]> {
    const read = this.#client.readStream(stream, {
      fromRevision: BigInt(from),
      requiresLeader: true,
      ...(limit !== undefined && { maxCount: limit }),
    });
    try {
      const resolved = await collect<ResolvedEvent>(read, this.#timing.idleMs);
      return resolved.flatMap(({ event }) => (event ? [toRecorded(event)] : []));
    } catch (error) {
      if (failureOf(error) === 'missing') return [];
      throw error;
    }
  }

  /**
   * Reads pages of growing size up to the end of the log. Throws InvalidPosition when no record begins
   * at `start`.
   */
  async *#pages(
    start: Position | 'end',
    firstSize: number,
    isBackwards: boolean,
  ): AsyncGenerator<Recorded[], undefined> {
    let from = start;
    for (let size = firstSize; ; size *= GROWTH) {
      const maxCount = Math.min(size, PAGE_EVENTS_MAX);
      const page = await this.#page({ from, maxCount, isBackwards }, from === start);
      yield page;
      const last = page.at(-1);
      if (!last || page.length < maxCount) return undefined;
      from = last.position;
    }
  }

  /** Throws InvalidPosition if `isUnchecked` and no record begins at `page.from`. */
  #page(page: AllPage, isUnchecked = false): Promise<Recorded[]> {
    const { from } = page;
    const unchecked = isUnchecked && from !== 'end' ? from : 0;
    return this.#repeat('reading the log', () =>
      readPage(this.#client, page, this.#timing.idleMs).catch(invalidPosition(unchecked)),
    );
  }

  /**
   * Reads from any position, as the port permits, although the server starts only at a record: after
   * InvalidPosition it reads from the last record before.
   */
  async #fromAnywhere<T>(after: Position, read: (start: Position) => Promise<T>): Promise<T> {
    try {
      return await read(after);
    } catch (error) {
      if (!(error instanceof InvalidPosition)) throw error;
    }
    const record = await this.#lastRecordUpTo(after);
    try {
      return await read(record);
    } catch (error) {
      // This is a record's position, so the read failed for another reason.
      if (!(error instanceof InvalidPosition)) throw error;
      throw new LogUnavailable('fault', 'no', error.message);
    }
  }

  /** Finds the last record at or before `after`, reading from the nearer end; 0 if there is none. */
  async #lastRecordUpTo(after: Position): Promise<Position> {
    const { position: head } = await this.head();
    if (after >= head / 2) {
      for await (const page of this.#pages('end', 1, true)) {
        const record = page.find(({ position }) => position <= after);
        if (record) return record.position;
      }
      return 0;
    }
    let last = 0;
    for await (const page of this.#pages(0, PAGE_EVENTS_MAX, false))
      for (const { position } of page) {
        if (position > after) return last;
        last = position;
      }
    return last;
  }
}
