import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';
import { type AllFilter, readPage, subscribeToAll } from './all-stream.ts';
import type { ServerStream } from './client.ts';
import type { ReadItem } from './read-response.ts';
import type { Recorded } from './recorded-events.ts';

/** A checkpoint means that every matching record up to it has been delivered. */
export type LogFeedItem = Recorded[] | { checkpoint: Position } | 'caughtUp';

export type FeedOptions = {
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
