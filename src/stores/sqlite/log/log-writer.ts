/**
 * Appends that arrive while a commit is under way share the next one (group commit: 19 times the
 * throughput with 256 in flight). There is no timer: the slower the disk, the more appends share.
 */
import { type AppendResult, LogUnavailable } from '#src/ports/event-log.ts';
import type { EncodedAppend } from '#src/stores/event-codec.ts';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import type { CommitResult } from './committer.ts';
import type { Commits } from './commits.ts';
import type { AppendDecision, LogTransaction } from './log-transaction.ts';

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
  begin(): LogTransaction;
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
      this.#steps.onCommitted(transaction);
      await subscribersHaveRun();
    }
    this.#answer(batch, decisions);
  }

  #answer(batch: Waiting[], decisions: AppendDecision[]): void {
    const later: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const decision = decisions[index];
      if (decision instanceof Error) waiting.reject(decision);
      else if (decision === 'later') later.push(waiting);
      else if (decision) waiting.resolve(decision);
    }
    for (const { bytes } of later) this.#queuedBytes += bytes;
    if (later.length > 0) this.#queue = [...later, ...this.#queue];
  }

  #fail(batch: Waiting[], { failure, committing, text }: FailedCommit): void {
    const isFull = failure === 'full';
    const applied = committing && !isFull ? 'unknown' : 'no';
    const detail = isFull ? `no space on the disk: ${text}` : `the log failed: ${text}`;
    for (const { reject } of batch)
      reject(new LogUnavailable(isFull ? 'full' : 'fault', applied, detail));
    if (!isFull && (committing || failure !== 'busy')) this.stop(text);
  }
}
