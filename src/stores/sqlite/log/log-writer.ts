/**
 * Appends that arrive while a commit is under way share the next one (group commit: 19 times the
 * throughput with 256 in flight). There is no timer: the slower the disk, the more appends share.
 */
import {
  type AppendResult,
  LogUnavailable,
  type FoldEvent,
  LogCorrupted,
  NO_STREAM,
  type Position,
  StreamAdvanced,
  type StreamRevision,
} from '#src/ports/event-log.ts';
import type { EncodedAppend } from '#src/stores/event-codec.ts';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import type { Commits } from './commits.ts';
import type { CommitResult, Records } from './committer.ts';
import { type LogReader, foldCrc, sealOf } from './log-reader.ts';
import type { StreamHead, StreamHeads } from './stream-index.ts';

export type WriterOptions = {
  /** 'each' uses one transaction for every append, to measure what sharing gains. */
  commit?: 'turn' | 'each';
  /** Limits how long one turn occupies the event loop. */
  appendsInTurnMax?: number;
  queueAppendsMax?: number;
  queueBytesMax?: number;
  /** A monotonic clock in milliseconds. */
  monotonic?: () => number;
  /** The disk failed, and it is unknown what is stored. The process should end. */
  onFatal?: (error: Error) => void;
};

const APPENDS_IN_TURN_MAX = 512;
const BYTES_IN_TURN_MAX = 8_388_608;
const QUEUE_APPENDS_MAX = 4_096;
const QUEUE_BYTES_MAX = 67_108_864;
const SPACE_CHECKED_EVERY_MS = 1_000;

type Waiting = {
  since: number;
  requests: readonly EncodedAppend[];
  bytes: number;
  resolve(result: AppendResult): void;
  reject(error: Error): void;
};

type FailedCommit = Omit<Extract<CommitResult, { kind: 'failed' }>, 'kind'>;

type WriterSteps = {
  commits: Commits;
  /** Whether the disk of the log has no space. Writes a file to find out. */
  isOutOfSpace(): boolean;
  begin(): LogTransaction;
  /** Called with the error of an append that could not read what it needs. */
  onDamage(error: Error): void;
  /** Runs after a commit and before its appends are answered. */
  onCommitted(transaction: LogTransaction): void;
};

/**
 * Resolves when everything that can continue without waiting has run: subscribers have folded the
 * events, and remote stores have been sent them, before callers spend time on their answers.
 */
const subscribersHaveRun = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });

export class LogWriter {
  readonly #steps: WriterSteps;
  readonly #options: WriterOptions;
  readonly #turnMax: number;
  readonly #monotonic: () => number;
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  #isScheduled = false;
  #isClosing = false;
  #fault: string | undefined;
  /** When space was last missed, by the monotonic clock; undefined since a later commit, or a later look. */
  #fullAt: number | undefined;
  #onDrained: (() => void) | undefined;

  constructor(steps: WriterSteps, options: WriterOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#turnMax =
      options.commit === 'each' ? 1 : (options.appendsInTurnMax ?? APPENDS_IN_TURN_MAX);
  }

  /** Appends all of `requests` in one commit, or none. */
  append(requests: readonly EncodedAppend[]): Promise<AppendResult> {
    let bytes = 0;
    for (const { events } of requests) for (const event of events) bytes += event.bytes;
    const refusal = this.#refusalOf(bytes);
    if (refusal) return Promise.reject(refusal);
    this.#queuedBytes += bytes;
    if (!this.#isScheduled) this.#schedule();
    return new Promise((resolve, reject) => {
      this.#queue.push({ since: this.#monotonic(), requests, bytes, resolve, reject });
    });
  }

  /** Milliseconds that the first append in the queue has waited for the commit under way; 0 if none waits. */
  queuedMs(): number {
    const [first] = this.#queue;
    return first ? this.#monotonic() - first.since : 0;
  }

  /**
   * Whether the last commit found no space, and there is none yet. Looks again, because nobody may write to a service
   * that says so.
   */
  isFull(): boolean {
    if (this.#fullAt === undefined) return false;
    const now = this.#monotonic();
    if (now - this.#fullAt < SPACE_CHECKED_EVERY_MS) return true;
    this.#fullAt = this.#steps.isOutOfSpace() ? now : undefined;
    return this.#fullAt !== undefined;
  }

  /** Refuses all appends from now on and reports `text` to `onFatal`, once. */
  stop(text: string): void {
    if (this.#fault) return;
    this.#fault = `the log stopped writing: ${text}`;
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const { reject } of queue) reject(new LogUnavailable('fault', 'no', this.#fault));
    this.#options.onFatal?.(new Error(this.#fault));
  }

  /** Refuses new appends; resolves when all queued ones are answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (!this.#isScheduled) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
  }

  #refusalOf(bytes: number): LogUnavailable | undefined {
    if (this.#isClosing) return new LogUnavailable('closed', 'no', 'the log is closed');
    if (this.#fault) return new LogUnavailable('fault', 'no', this.#fault);
    const { queueAppendsMax = QUEUE_APPENDS_MAX, queueBytesMax = QUEUE_BYTES_MAX } = this.#options;
    const count = this.#queue.length;
    if (count < queueAppendsMax && this.#queuedBytes + bytes <= queueBytesMax) return undefined;
    const detail = `${count} appends (${this.#queuedBytes} bytes) are waiting`;
    return new LogUnavailable('overloaded', 'no', detail);
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => void this.#runTurn());
  }

  async #runTurn(): Promise<void> {
    let count = 0;
    let bytes = 0;
    const queue = this.#queue;
    while (count < this.#turnMax && count < queue.length && bytes < BYTES_IN_TURN_MAX) {
      bytes += queue[count]?.bytes ?? 0;
      count += 1;
    }
    this.#queuedBytes -= bytes;
    const batch = queue.splice(0, count);
    if (batch.length > 0) await this.#write(batch);
    if (this.#queue.length > 0) {
      this.#schedule();
      return;
    }
    this.#isScheduled = false;
    this.#onDrained?.();
  }

  async #write(batch: Waiting[]): Promise<void> {
    const transaction = this.#steps.begin();
    let decisions: AppendDecision[];
    try {
      decisions = batch.map(({ requests }) => transaction.append(requests));
    } catch (error) {
      // The file could not be read, and nothing was written.
      const text = messageOfError(error);
      this.#fail(batch, { failure: 'fault', committing: false, text });
      return;
    }
    if (transaction.records.length > 0) {
      const result = await this.#steps.commits.commit(transaction.records);
      if (result.kind === 'failed') {
        this.#fail(batch, result);
        return;
      }
      this.#fullAt = undefined;
      this.#steps.onCommitted(transaction);
      await subscribersHaveRun();
    }
    this.#answer(batch, decisions);
  }

  #answer(batch: Waiting[], decisions: AppendDecision[]): void {
    const later: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const decision = decisions[index];
      if (decision instanceof Error) {
        this.#steps.onDamage(decision);
        waiting.reject(decision);
      } else if (decision === 'later') later.push(waiting);
      else if (decision) waiting.resolve(decision);
    }
    for (const { bytes } of later) this.#queuedBytes += bytes;
    if (later.length > 0) this.#queue = [...later, ...this.#queue];
  }

  #fail(batch: Waiting[], { failure, committing, text }: FailedCommit): void {
    const isFull = failure === 'full';
    if (isFull) this.#fullAt = this.#monotonic();
    const applied = committing && !isFull ? 'unknown' : 'no';
    const detail = isFull ? `no space on the disk: ${text}` : `the log failed: ${text}`;
    for (const { reject } of batch)
      reject(new LogUnavailable(isFull ? 'full' : 'fault', applied, detail));
    if (!isFull && (committing || failure !== 'busy')) this.stop(text);
  }
}

/** The end of the log as committed; replaced as a whole, and only after a commit. */
export type LogHead = { position: Position; at: number | null; seal: number };

/** `later`: depends on an append of the same transaction, which the file does not have yet. */
type AppendDecision = AppendResult | LogCorrupted | StreamAdvanced | 'later';

type State = { head: LogHead; heads: StreamHeads; reader: LogReader; hasSubscribers: boolean };

/**
 * One transaction of the log: decides appends in order, each against the state after the previous. Its fields are what
 * a commit would make true; nothing outside sees them before.
 */
export class LogTransaction {
  readonly #committed: StreamHeads;
  readonly #reader: LogReader;
  head: LogHead;
  readonly records: Records = [];
  readonly heads = new Map<string, StreamHead>();
  readonly created: [string, Position][] = [];
  /** Undefined if nobody subscribed to the log when the transaction began. */
  readonly events: FoldEvent[] | undefined;

  constructor({ head, heads, reader, hasSubscribers }: State) {
    this.head = head;
    this.#committed = heads;
    this.#reader = reader;
    this.events = hasSubscribers ? [] : undefined;
  }

  /**
   * Decides on appends that belong together, all before any is written. Returns an error if only they are affected.
   */
  append(requests: readonly EncodedAppend[]): AppendDecision {
    const writes: (() => AppendResult)[] = [];
    for (const request of requests) {
      const decision = this.#decide(request);
      if (typeof decision !== 'function') return decision;
      writes.push(decision);
    }
    let result: AppendResult = { outcome: 'conflict' };
    for (const write of writes) result = write();
    return result;
  }

  /** Returns the write, which adds nothing if the append is stored; any other decision is that of the whole request. */
  #decide(request: EncodedAppend): (() => AppendResult) | AppendDecision {
    try {
      const uncommitted = this.heads.get(request.stream);
      const head = uncommitted ?? this.#committed.find(request.stream);
      const advanced = request.unchanged.find((other) => this.#hasAdvanced(other));
      if (advanced) return new StreamAdvanced(`${advanced.stream} has a later event`);
      const current = head?.revision ?? NO_STREAM;
      if (request.expected > current) return { outcome: 'conflict' };
      if (!head || request.expected === current) return () => this.#write(request, head);
      if (uncommitted) return 'later';
      const repeated = this.#repeat(request, head);
      return repeated.outcome === 'conflict' ? repeated : () => repeated;
    } catch (error) {
      if (error instanceof LogCorrupted) return error;
      throw error;
    }
  }

  #hasAdvanced({ stream, revision }: StreamRevision): boolean {
    const head = this.heads.get(stream) ?? this.#committed.find(stream);
    return (head?.revision ?? NO_STREAM) > revision;
  }

  #write(request: EncodedAppend, streamHead: StreamHead | undefined): AppendResult {
    const { stream, owner } = request;
    let { position, at, seal } = this.head;
    let revision = streamHead?.revision ?? NO_STREAM;
    const streamId = streamHead?.streamId ?? position + 1;
    for (const event of request.events) {
      const { id, type, data, meta } = event;
      position += 1;
      revision += 1;
      at = event.at;
      const crc = foldCrc([position, stream, revision, type, at, data]);
      seal = sealOf(crc, id, meta);
      this.records.push(position, streamId, revision, owner, stream, id);
      this.records.push(type, at, data, meta, crc, seal);
      if (this.events) {
        // Parsed from the stored text, so that a subscriber sees exactly what a later reader sees.
        const parsed = JSON.parse(data) as object;
        this.events.push({ position, stream, owner, revision, type, at, data: parsed });
      }
    }
    if (!streamHead) this.created.push([stream, streamId]);
    this.heads.set(stream, { streamId, revision });
    this.head = { position, at, seal };
    return { outcome: 'appended', revision, position };
  }

  /** The stream has advanced: the request repeats a stored append, or lost to another one. */
  #repeat({ stream, events, expected }: EncodedAppend, head: StreamHead): AppendResult {
    const last = expected + events.length;
    if (last > head.revision) return { outcome: 'conflict' };
    const { streamId } = head;
    const stored = this.#reader.readStream({ stream, streamId }, expected + 1, last);
    const isSame = stored.every((event, index) => event.id === events[index]?.id);
    const position = stored.at(-1)?.position;
    if (!isSame || position === undefined) return { outcome: 'conflict' };
    return { outcome: 'appended', revision: last, position };
  }
}
