/**
 * Subscriptions that do not end: what the server drops, ends, cuts off or lets fall silent is taken
 * up again after the last event that was received.
 */
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { Upcasts } from '../event-codec.ts';
import { isNoPlace, isTooSlow, textOf } from './failures.ts';
import { type Feed, openFeed } from './feed.ts';
import { foldedOf, isOurs, type Recorded } from './records.ts';
import { type Timing, waits } from './timing.ts';

const BATCH_EVENTS_MAX = 500;
const QUEUE_EVENTS_MAX = 4_096;
// In a row and without a word between: the server knows no such position, and will not learn it.
const NO_PLACE_MAX = 5;

export type SubscriptionOptions = {
  client: EventStoreDBClient;
  upcasts: Upcasts;
  timing: Timing;
  head(): Promise<{ position: Position }>;
  /** Told of each drop, and where it goes on from; for the log of the service. */
  onDropped?: (reason: string, position: Position) => void;
  /** Told when the server speaks again, after one drop or many. */
  onHealed?: (position: Position) => void;
  /** A subscriber this far behind is read for no more until it has caught up. */
  queueEventsMax?: number;
};

type Step = IteratorResult<SubscriptionItem, undefined>;
/** What waits for the consumer: an event, or a place that all before it were told. */
type Entry = FoldEvent | { reached: Position } | 'caughtUp';

const END: Step = { done: true, value: undefined };

/** Ends when `signal` aborts. Throws LogUnavailable when the server knows no such position. */
export const subscription = (
  { client, upcasts, timing, head, onDropped, onHealed, ...options }: SubscriptionOptions,
  after: Position,
  signal: AbortSignal,
): AsyncIterator<SubscriptionItem, undefined> => {
  const queueMax = options.queueEventsMax ?? QUEUE_EVENTS_MAX;
  const pauses = waits(timing.retryMs);
  let queue: Entry[] = [];
  let received = after;
  let lastEvent = after;
  let delivered = after;
  let owed = false;
  let live = false;
  let spoken = true;
  let broken = false;
  let noPlace = 0;
  let paused = false;
  let ended = false;
  let failure: Error | undefined;
  let feed: Feed | undefined;
  let reopening: NodeJS.Timeout | undefined;
  let flushing: NodeJS.Immediate | undefined;
  let waiting: { resolve(step: Step): void; reject(error: Error): void } | undefined;

  /** The next item, if there is one: what the consumer has not seen stands behind what it has. */
  const take = (): SubscriptionItem | undefined => {
    if (owed) {
      owed = false;
      return { kind: 'checkpoint', position: delivered };
    }
    let entry = queue[0];
    while (typeof entry === 'object' && 'reached' in entry) {
      queue.shift();
      if (entry.reached > delivered) {
        delivered = entry.reached;
        return { kind: 'checkpoint', position: delivered };
      }
      entry = queue[0];
    }
    if (entry === undefined) return undefined;
    if (entry === 'caughtUp') {
      queue.shift();
      return { kind: 'caughtUp', position: delivered };
    }
    const events: FoldEvent[] = [];
    for (const next of queue) {
      if (typeof next !== 'object' || 'reached' in next) break;
      if (events.push(next) === BATCH_EVENTS_MAX) break;
    }
    queue = queue.slice(events.length);
    delivered = events.at(-1)?.position ?? delivered;
    owed = true;
    return { kind: 'events', events };
  };

  const heard = (): void => {
    spoken = true;
    if (!broken) return;
    broken = false;
    onHealed?.(received);
  };

  const flush = (): void => {
    flushing = undefined;
    if (!waiting) return;
    const value = take();
    if (!value && !failure) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    if (value) resolve({ done: false, value });
    else if (failure) fail(failure, reject);
  };
  const put = (entry: Entry): void => {
    spoken = true;
    noPlace = 0;
    pauses.restart();
    queue.push(entry);
    // With the turn: what arrived in one is one batch.
    if (waiting) flushing ??= setImmediate(flush);
    if (!paused && queue.length >= queueMax) {
      paused = true;
      feed?.pause();
    }
  };
  const resume = (): void => {
    if (!paused || queue.length > queueMax / 2) return;
    paused = false;
    spoken = true;
    if (feed) feed.resume();
    else open();
  };

  const event = (record: Recorded): void => {
    heard();
    if (!isOurs(record)) return;
    let folded: FoldEvent;
    try {
      folded = foldedOf(upcasts, record);
    } catch (error) {
      // Reading it again would tell the same.
      feed?.close();
      feed = undefined;
      failure = error as Error;
      flush();
      return;
    }
    // Where it goes on is for the server to say; that it says a thing twice is seen here.
    if (folded.position <= lastEvent) return;
    lastEvent = folded.position;
    received = Math.max(received, lastEvent);
    put(folded);
  };
  const dropped = (error: unknown): void => {
    feed = undefined;
    live = false;
    broken = true;
    onDropped?.(error === null ? 'ended by the server' : textOf(error), received);
    noPlace = isNoPlace(error) ? noPlace + 1 : 0;
    if (noPlace >= NO_PLACE_MAX) {
      failure = new LogUnavailable('fault', 'no', `no place ${received} here: ${textOf(error)}`);
      flush();
      return;
    }
    const pause = isTooSlow(error) ? 0 : pauses.next();
    reopening = setTimeout(open, pause);
  };
  const open = (): void => {
    // A consumer that is still behind is read for when it has room.
    if (ended || feed || paused || failure) return;
    feed = openFeed(
      client,
      { after: received, wanted: 'all' },
      {
        event,
        checkpoint: (position) => {
          heard();
          if (position <= received) return;
          received = position;
          put({ reached: position });
        },
        caughtUp: () => {
          heard();
          live = true;
          put('caughtUp');
        },
        dropped,
      },
    );
  };

  /** A connection can lose a subscription without a word to either side. */
  const watch = async (): Promise<void> => {
    const quiet = !spoken && !paused;
    spoken = false;
    const watched = feed;
    if (!quiet || !watched) return;
    const missed = !live || (await head()).position > received;
    if (!missed || feed !== watched || spoken || ended) return;
    watched.close();
    dropped(new Error(`silent for ${timing.silenceMs} ms`));
  };
  const watching = setInterval(() => {
    // A head that cannot be read says nothing of the subscription.
    watch().catch(() => {});
  }, timing.silenceMs);

  const end = (): void => {
    if (ended) return;
    ended = true;
    queue = [];
    clearInterval(watching);
    clearTimeout(reopening);
    clearImmediate(flushing);
    signal.removeEventListener('abort', end);
    feed?.close();
    waiting?.resolve(END);
    waiting = undefined;
  };
  const fail = (error: Error, reject: (error: Error) => void): void => {
    end();
    reject(error);
  };

  if (signal.aborted) end();
  else {
    signal.addEventListener('abort', end);
    open();
  }
  return {
    next: () =>
      new Promise((resolve, reject) => {
        if (ended) {
          resolve(END);
          return;
        }
        const value = take();
        resume();
        if (value) resolve({ done: false, value });
        else if (failure) fail(failure, reject);
        else waiting = { resolve, reject };
      }),
    return() {
      end();
      return Promise.resolve(END);
    },
  };
};
