import { setTimeout as delay } from 'node:timers/promises';
import { type EventLog, LogUnavailable, type Position } from '#src/ports/event-log.ts';
import { type LogPage, Subscribers } from '#src/stores/subscribers.ts';
import { InvalidPosition, textOf } from './failures.ts';
import { isReplaced, type LogGuard } from './log-guard.ts';
import type { Reads } from './reads.ts';
import { logPageOf } from './recorded-events.ts';
import { backoff } from './retries.ts';
import { INVALID_POSITIONS_MAX, Subscription, type SubscriptionOptions } from './subscription.ts';

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
    const { reads, upcasts, timing } = this.#options;
    const pauses = backoff(timing.retryMs);
    for (;;) {
      const records = await this.#untilAnswered(after, () => reads.records(after, PAGE_RECORDS));
      const page = logPageOf(upcasts, records, after);
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
