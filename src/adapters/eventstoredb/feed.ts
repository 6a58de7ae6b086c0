import type { AllStreamSubscription, EventStoreDBClient, Filter } from '@eventstore/db-client';
import { BACKWARDS, eventTypeFilter, FORWARDS, START } from '@eventstore/db-client';
import { streamNameFilter } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';
import { collect } from './collect.ts';
import { positionOf, positionOfEvent, startAt } from './positions.ts';
import type { Recorded } from './recorded-events.ts';

/** Which records the server sends. */
export type FeedFilter = { types: readonly string[] } | { owner: string } | 'all';

/** A checkpoint means that every matching record up to it has been delivered. */
export type LogFeedItem = Recorded[] | { checkpoint: Position } | 'caughtUp';

export type FeedOptions = {
  after: Position;
  filter: FeedFilter;
  /** Events that the client buffers; the server is paused when the buffer is full. */
  bufferEvents: number;
  silenceMs: number;
  /** Called after each `silenceMs` in which the reader waited in vain. An error ends the feed. */
  onSilence(): Promise<Error | undefined>;
  signal?: AbortSignal;
};

/** An item that is due when this many events have been delivered. */
type Mark = { afterEvents: number; commit: bigint | 'caughtUp' };
type Start = ReturnType<typeof startAt>;

const BATCH_EVENTS_MAX = 500;
// The server examines 32 records at a time and sends a checkpoint after this many batches.
const CHECKPOINT_WINDOWS = 32;

/** Subscribes to `$all`. Ends when `signal` aborts; throws when the server ends or drops it. */
export async function* feed(
  client: EventStoreDBClient,
  options: FeedOptions,
): AsyncGenerator<LogFeedItem, void> {
  const start = await startAfter(client, options);
  if (options.signal?.aborted) return;
  const subscription = new FeedSubscription(client, start, options);
  try {
    yield* subscription.items();
  } finally {
    subscription.close();
  }
}

/**
 * One call to the server. The client emits checkpoints and `caughtUp` when they enter its buffer,
 * before the events in front of them; they are held back until those events have been delivered.
 */
class FeedSubscription {
  readonly #options: FeedOptions;
  readonly #stream: AllStreamSubscription;
  readonly #marks: Mark[] = [];
  #delivered = 0;
  #error: Error | undefined;
  #wake = (): void => {};

  constructor(client: EventStoreDBClient, fromPosition: Start, options: FeedOptions) {
    this.#options = options;
    const filter = filterOf(options.filter, (commit) => this.#mark(commit));
    this.#stream = client.subscribeToAll(
      { fromPosition, filter },
      { highWaterMark: options.bufferEvents },
    );
    this.#stream.on('caughtUp', () => this.#mark('caughtUp'));
    this.#stream.on('readable', () => this.#wake());
    this.#stream.on('error', (error) => this.#fail(error));
    this.#stream.on('end', () => this.#fail(new Error('14 UNAVAILABLE: ended by the server')));
    options.signal?.addEventListener('abort', this.close);
  }

  async *items(): AsyncGenerator<LogFeedItem, void> {
    while (!this.#options.signal?.aborted) {
      const item = this.#take();
      if (item) yield item;
      else if (this.#error) throw this.#error;
      else if (!(await this.#activity())) {
        const error = await this.#options.onSilence();
        if (error && this.#marks.length === 0 && this.#stream.readableLength === 0) throw error;
      }
    }
  }

  readonly close = (): void => {
    this.#options.signal?.removeEventListener('abort', this.close);
    // Otherwise the call stays open at the server.
    this.#stream.unsubscribe().catch(() => {});
    this.#wake();
  };

  #mark(commit: Mark['commit']): void {
    this.#marks.push({ afterEvents: this.#delivered + this.#stream.readableLength, commit });
    this.#wake();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake();
  }

  #take(): LogFeedItem | undefined {
    const [mark] = this.#marks;
    const due = mark ? mark.afterEvents - this.#delivered : Infinity;
    if (mark && due <= 0) {
      this.#marks.shift();
      const { commit } = mark;
      return commit === 'caughtUp' ? commit : { checkpoint: positionOf(commit) };
    }
    const records: Recorded[] = [];
    for (let count = Math.min(due, BATCH_EVENTS_MAX); count > 0; count -= 1) {
      const resolved = this.#stream.read() as { event?: Recorded } | null;
      if (resolved === null) break;
      this.#delivered += 1;
      if (resolved.event) records.push(resolved.event);
    }
    return records.length > 0 ? records : undefined;
  }

  /** Resolves to true at the end of a turn in which something arrived, to false after silence. */
  #activity(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.silenceMs, false);
      this.#wake = () => {
        clearTimeout(timer);
        setImmediate(resolve, true);
      };
    });
  }
}

const filterOf = (filter: FeedFilter, onCheckpoint: (commit: bigint) => void): Filter => {
  const options = {
    checkpointInterval: CHECKPOINT_WINDOWS,
    checkpointReached: (_: unknown, { commit }: { commit: bigint }) => onCheckpoint(commit),
  };
  if (filter === 'all') return eventTypeFilter({ ...options, regex: '^[^$]' });
  if ('owner' in filter) return streamNameFilter({ ...options, prefixes: [`${filter.owner}-`] });
  return eventTypeFilter({ ...options, regex: `^(?:${filter.types.map(escape).join('|')})$` });
};

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|#\s]/g, '\\$&');

/**
 * Finds the position from which a subscription delivers every record after `after`. The server skips
 * the record at the given position, or the next one if that record was scavenged. In that case the
 * subscription must start at the record before.
 */
const startAfter = async (
  client: EventStoreDBClient,
  { after, silenceMs }: FeedOptions,
): Promise<Start> => {
  const fromPosition = startAt(after);
  if (fromPosition === START) return START;
  // Forwards a read includes the record at `after`, backwards it does not.
  const read = async (direction: typeof FORWARDS | typeof BACKWARDS) =>
    (await collect(client.readAll({ fromPosition, direction, maxCount: 1 }), silenceMs))[0];
  const next = await read(FORWARDS);
  if (!next || positionOfEvent(next) <= after) return fromPosition;
  const before = await read(BACKWARDS);
  return startAt(before ? positionOfEvent(before) : 0);
};
