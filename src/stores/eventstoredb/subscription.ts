import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';
import type { LogPage } from '#src/stores/subscribers.ts';
import type { Upcasts } from '#src/stores/event-codec.ts';
import { isInvalidPosition, isTooSlow, textOf } from './failures.ts';
import { feed, type LogFeedItem } from './feed.ts';
import type { LogGuard } from './log-guard.ts';
import { logPageOf } from './recorded-events.ts';
import { backoff, type Timing } from './retries.ts';

/** Records that wait for a busy event loop. */
const BUFFER_MAX = 4_096;
/** After this many rejections in a row the server does not have the position. */
export const INVALID_POSITIONS_MAX = 5;

export type SubscriptionOptions = {
  client: EventStoreDBClient;
  upcasts: Upcasts;
  timing: Timing;
  guard: Pick<LogGuard, 'awaitKnown' | 'require' | 'doubt'>;
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
export class Subscription {
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

  /** Ends when `signal` aborts. Throws LogUnavailable when the server does not have the position. */
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
    // A server can repeat the record after which the subscription starts.
    const page = logPageOf(this.#options.upcasts, item, this.#position);
    this.#position = page.position;
    return page;
  }
}
