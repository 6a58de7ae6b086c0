/** Subscriptions to the log on EventStoreDB, repeated until they are closed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { LogUnavailable, type Position, type EventLog } from '#src/ports/event-log.ts';
import type { Upcasts } from '#contracts/registries/events.ts';
import { type LogPage, Subscribers } from '#src/stores/event-codec.ts';
import {
  isInvalidPosition,
  isTooSlow,
  textOf,
  backoff,
  type Timing,
  InvalidPosition,
} from './failures.ts';
import { type LogGuard, isReplaced } from './identity.ts';
import { feed, type LogFeedItem, logPageOf, type Reads } from './reads.ts';

/** Records that wait for a busy event loop. */
const BUFFER_MAX = 4_096;
/** After this many rejections in a row the server does not know the position. */
const INVALID_POSITIONS_MAX = 5;

type SubscriptionOptions = {
  client: EventStoreDBClient;
  upcasts: Upcasts;
  timing: Timing;
  guard: Pick<LogGuard, 'awaitKnown' | 'require' | 'doubt' | 'sawRecords'>;
  head(): Promise<{ position: Position }>;
  /** Called for each drop, with the position from which the subscription continues. */
  onDropped: ((reason: string, position: Position) => void) | undefined;
  /** Called when the server sends something again after one or more drops. */
  onHealed: ((position: Position) => void) | undefined;
};

/**
 * An endless subscription to all records. When the server drops, ends, cuts off or stops serving it, it
 * is opened again after the last position delivered.
 */
class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #pauses: ReturnType<typeof backoff>;
  /** Everything up to here has been delivered. */
  #position: Position;
  /** Whether the server has reported, since the last drop, that everything stored was sent. */
  #isLive = false;
  #isRecovering = false;
  #invalidPositions = 0;

  constructor(options: SubscriptionOptions, after: Position) {
    this.#options = options;
    this.#pauses = backoff(options.timing.retryMs);
    this.#position = after;
  }

  /** Ends when `signal` aborts. Throws LogUnavailable when the server does not know the position. */
  async *pages(signal: AbortSignal): AsyncGenerator<LogPage, undefined> {
    const { client, timing, guard } = this.#options;
    while (!signal.aborted) {
      const items = feed(client, {
        after: this.#position,
        filter: 'all',
        bufferMax: BUFFER_MAX,
        silenceMs: timing.silenceMs,
        onSilence: () => this.#silenceError(),
        signal,
      });
      try {
        await guard.awaitKnown(signal);
        for await (const item of items) {
          // The connection may be a new one since the comparison.
          await guard.require();
          this.#onActivity();
          const page = this.#convert(item);
          if (signal.aborted) return undefined;
          if (page) yield page;
        }
      } catch (error) {
        if (signal.aborted) return undefined;
        const pause = this.#onDropped(error);
        await delay(pause, undefined, { signal }).catch(() => {});
      }
    }
    return undefined;
  }

  #onActivity(): void {
    this.#invalidPositions = 0;
    this.#pauses.reset();
    if (this.#isRecovering) this.#options.onHealed?.(this.#position);
    this.#isRecovering = false;
  }

  /** Returns the pause before the next attempt, in milliseconds. */
  #onDropped(error: unknown): number {
    const reason = textOf(error);
    this.#options.guard.doubt();
    this.#isLive = false;
    this.#isRecovering = true;
    this.#options.onDropped?.(reason, this.#position);
    this.#invalidPositions = isInvalidPosition(error) ? this.#invalidPositions + 1 : 0;
    if (this.#invalidPositions >= INVALID_POSITIONS_MAX) {
      const detail = `the log has no record at position ${this.#position}: ${reason}`;
      throw new LogUnavailable('fault', 'no', detail);
    }
    return isTooSlow(error) ? 0 : this.#pauses.next();
  }

  /** A connection can lose a subscription without an error: compares it with the head of the log. */
  async #silenceError(): Promise<Error | undefined> {
    // A head that cannot be read says nothing about the subscription.
    const head = this.#isLive ? await this.#options.head().catch(() => undefined) : undefined;
    if (this.#isLive && (!head || head.position <= this.#position)) return undefined;
    return new Error(`silent for ${this.#options.timing.silenceMs} ms`);
  }

  #convert(item: LogFeedItem): LogPage | undefined {
    if (item === 'caughtUp') this.#isLive = true;
    if (!Array.isArray(item)) return undefined;
    this.#options.guard.sawRecords(item);
    // A server can repeat the record after which the subscription starts.
    const page = logPageOf(this.#options.upcasts, item, this.#position);
    this.#position = page.position;
    return page;
  }
}

export type LiveFeedOptions = SubscriptionOptions & {
  reads: Reads;
  guard: LogGuard;
  /** Events that wait for a slow subscriber; with more, it reads them from the log. */
  subscriberEventsMax: number | undefined;
};

/** Larger pages would hold up requests of this process. */
const PAGE_RECORDS = 1_000;

/**
 * All subscriptions of this process. Each reads history in pages; new records arrive for all of them
 * through one subscription to the server, which starts at the newest record and never waits for a
 * subscriber.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #subscribers: Subscribers;
  readonly #closing = new AbortController();
  #running: { started: Promise<void>; ending: AbortController } | undefined;
  /** Everything up to here was pushed to the subscribers. */
  #position: Position = 0;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
    const source = {
      head: () => (this.#running ? this.#position : Infinity),
      page: (after: Position) => this.#page(after),
      start: (after: Position) => this.#start(after),
      stop: () => this.#stop(),
    };
    this.#subscribers = new Subscribers(source, options.subscriberEventsMax);
  }

  readonly subscribe: EventLog['subscribe'] = (options) => this.#subscribers.subscribe(options);

  close(): void {
    this.#closing.abort();
    this.#subscribers.close();
    this.#stop();
  }

  #stop(): void {
    this.#running?.ending.abort();
    this.#running = undefined;
  }

  async #start(after: Position): Promise<void> {
    this.#running ??= this.#run();
    await this.#running.started;
    if (after <= this.#position) return;
    const { position: end } = await this.#untilAnswered(after, () => this.#options.reads.head());
    if (after > end) throw noRecordAt(after, `the log ends at ${end}`);
  }

  #run(): { started: Promise<void>; ending: AbortController } {
    const ending = new AbortController();
    const started = this.#begin(ending.signal);
    started.catch(() => this.#running?.ending === ending && this.#stop());
    return { started, ending };
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const { position } = await this.#untilAnswered(0, () => this.#options.reads.head());
    // Another run may have begun meanwhile.
    if (signal.aborted) return;
    this.#position = position;
    void this.#follow(position, signal);
  }

  async #follow(after: Position, signal: AbortSignal): Promise<void> {
    try {
      for await (const { events, position } of new Subscription(this.#options, after).pages(
        signal,
      )) {
        this.#position = position;
        this.#subscribers.push(events, position);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#stop();
      this.#subscribers.fail(error);
    }
  }

  /** Waits for records while the feed runs: the node that answers can lag behind the one that feeds. */
  async #page(after: Position): Promise<LogPage> {
    const { reads, upcasts, timing, guard } = this.#options;
    const pauses = backoff(timing.retryMs);
    for (;;) {
      const records = await this.#untilAnswered(after, () => reads.records(after, PAGE_RECORDS));
      const page = logPageOf(upcasts, guard.sawRecords(records), after);
      if (page.position > after || !this.#running) return page;
      await this.#pause(pauses.next());
    }
  }

  /** Repeats a read while the server does not answer. */
  async #untilAnswered<T>(after: Position, read: () => Promise<T>): Promise<T> {
    const { onDropped, timing, guard } = this.#options;
    const pauses = backoff(timing.retryMs);
    let invalidPositions = 0;
    for (;;) {
      try {
        return await guard.run(read);
      } catch (error) {
        if (error instanceof InvalidPosition) invalidPositions += 1;
        else if (!(error instanceof LogUnavailable)) throw error;
        if (invalidPositions >= INVALID_POSITIONS_MAX) throw noRecordAt(after, textOf(error));
        // Reported once, and no event of the other log is delivered.
        if (!isReplaced(error)) onDropped?.(textOf(error), after);
      }
      await this.#pause(pauses.next());
    }
  }

  /** Throws LogUnavailable once the log is closed. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await delay(ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) throw new LogUnavailable('closed', 'no', 'the log is closed');
  }
}

const noRecordAt = (position: Position, reason: string): LogUnavailable =>
  new LogUnavailable('fault', 'no', `the log has no record at position ${position}: ${reason}`);
