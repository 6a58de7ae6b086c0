import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { Upcasts } from '../event-codec.ts';
import { isInvalidPosition, isTooSlow, textOf } from './failures.ts';
import { feed, type LogFeedItem } from './feed.ts';
import { isLogRecord, type Recorded, toFoldEvent } from './recorded-events.ts';
import { backoff } from './retries.ts';
import type { Timing } from './timing.ts';

const BUFFER_EVENTS_MAX = 4_096;
/** After this many rejections in a row the server does not have the position. */
const INVALID_POSITIONS_MAX = 5;

export type SubscriptionOptions = {
  client: EventStoreDBClient;
  upcasts: Upcasts;
  timing: Timing;
  head(): Promise<{ position: Position }>;
  /** Called for each drop, with the position from which the subscription continues. */
  onDropped: ((reason: string, position: Position) => void) | undefined;
  /** Called when the server sends something again after one or more drops. */
  onHealed: ((position: Position) => void) | undefined;
  /** Events that are buffered for a slow consumer. */
  bufferEventsMax: number | undefined;
};

/** An event that cannot be converted; reading it again would fail again. */
class UnreadableEvent extends Error {}

/**
 * An endless subscription. When the server drops, ends, cuts off or stops serving it, it is opened
 * again after the last position delivered.
 */
export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #pauses: ReturnType<typeof backoff>;
  /** Everything up to here has been delivered. */
  #position: Position;
  #lastEvent: Position;
  /** Whether the server has reported, since the last drop, that everything stored was sent. */
  #isLive = false;
  #isRecovering = false;
  #invalidPositions = 0;

  constructor(options: SubscriptionOptions, after: Position) {
    this.#options = options;
    this.#pauses = backoff(options.timing.retryMs);
    this.#position = after;
    this.#lastEvent = after;
  }

  /** Ends when `signal` aborts. Throws LogUnavailable when the server does not have the position. */
  async *items(signal: AbortSignal): AsyncGenerator<SubscriptionItem, undefined> {
    const { client, timing, bufferEventsMax = BUFFER_EVENTS_MAX } = this.#options;
    while (!signal.aborted) {
      const items = feed(client, {
        after: this.#position,
        filter: 'all',
        // The client buffers as many again before it decodes them.
        bufferEvents: bufferEventsMax / 2,
        silenceMs: timing.silenceMs,
        onSilence: () => this.#silenceError(),
        signal,
      });
      try {
        for await (const item of items) {
          this.#onActivity();
          for (const converted of this.#convert(item)) {
            if (signal.aborted) return undefined;
            yield converted;
          }
        }
      } catch (error) {
        if (error instanceof UnreadableEvent) throw error.cause;
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

  *#convert(item: LogFeedItem): Generator<SubscriptionItem> {
    if (item === 'caughtUp') {
      this.#isLive = true;
      yield { kind: 'caughtUp', position: this.#position };
    } else if (Array.isArray(item)) yield* this.#convertRecords(item);
    else if (item.checkpoint > this.#position) {
      this.#position = item.checkpoint;
      yield { kind: 'checkpoint', position: this.#position };
    }
  }

  *#convertRecords(records: readonly Recorded[]): Generator<SubscriptionItem> {
    const events: FoldEvent[] = [];
    let failure: UnreadableEvent | undefined;
    for (const record of records.filter(isLogRecord)) {
      try {
        const event = toFoldEvent(this.#options.upcasts, record);
        // A server can repeat the record after which the subscription starts.
        if (event.position > (events.at(-1)?.position ?? this.#lastEvent)) events.push(event);
      } catch (cause) {
        failure = new UnreadableEvent('unreadable', { cause });
        break;
      }
    }
    const last = events.at(-1);
    if (last) {
      this.#lastEvent = last.position;
      this.#position = Math.max(this.#position, last.position);
      yield { kind: 'events', events };
      yield { kind: 'checkpoint', position: this.#position };
    }
    if (failure) throw failure;
  }
}
