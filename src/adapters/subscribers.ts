/**
 * Subscriptions of a log in this process: history in pages, then what each commit pushes, in one
 * order. A reader that waits when a commit is pushed runs before that append's caller does.
 */
import type { EventLog, FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';

const PAGE_EVENTS = 500;
const QUEUE_EVENTS_MAX = 4_096;

type Source = {
  /** Position of the last committed event. */
  head(): Position;
  page(after: Position, limit: number): FoldEvent[];
};

type Step = IteratorResult<SubscriptionItem, undefined>;

type Subscriber = {
  push(events: FoldEvent[]): void;
  /** From the log, where it stands: more was committed than it can be handed. */
  readOn(): void;
  end(): void;
};

type Hub = { live: Set<Subscriber>; open: Set<Subscriber>; source: Source; queueMax: number };

const END: Step = { done: true, value: undefined };
const item = (value: SubscriptionItem): Step => ({ done: false, value });

/**
 * Written as an iterator, not as a generator: a generator answers several microtasks later, and an
 * append would return before its subscribers have seen the events.
 */
const subscription = (
  hub: Hub,
  after: Position,
  signal: AbortSignal,
): AsyncIterator<SubscriptionItem> => {
  let position = after;
  let owed = false;
  let ended = false;
  let queue: FoldEvent[] = [];
  let waiting: ((step: Step | Promise<Step>) => void) | undefined;

  const hand = (events: FoldEvent[]): Step => {
    position = events.at(-1)?.position ?? position;
    owed = true;
    return item({ kind: 'events', events });
  };
  const self: Subscriber = {
    push(events) {
      const fresh =
        events[0] && events[0].position > position
          ? events
          : events.filter((event) => event.position > position);
      if (fresh.length === 0) return;
      if (waiting) {
        const resolve = waiting;
        waiting = undefined;
        resolve(hand(fresh));
        return;
      }
      queue = queue.concat(fresh);
      // Too slow to be kept in memory.
      if (queue.length > hub.queueMax) self.readOn();
    },
    readOn() {
      queue = [];
      hub.live.delete(self);
      waiting?.(read());
      waiting = undefined;
    },
    end() {
      ended = true;
      queue = [];
      hub.live.delete(self);
      hub.open.delete(self);
      signal.removeEventListener('abort', self.end);
      waiting?.(END);
      waiting = undefined;
    },
  };
  const live = (): Promise<Step> => {
    const events = queue;
    queue = [];
    if (events.length > 0) return Promise.resolve(hand(events));
    return new Promise((resolve) => {
      waiting = resolve;
    });
  };
  const catchUp = (): Step => {
    if (ended) return END;
    // Head and the live set are looked at in one go, so that no commit falls between them.
    if (position >= hub.source.head()) {
      hub.live.add(self);
      return item({ kind: 'caughtUp', position });
    }
    const events = hub.source.page(position, PAGE_EVENTS);
    if (events.length === 0) throw new Error(`the log answers nothing after position ${position}`);
    return hand(events);
  };
  /** A page per turn: a long history must not starve the requests of the same process. */
  const read = (): Promise<Step> =>
    new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          resolve(catchUp());
        } catch (error) {
          self.end();
          reject(error);
        }
      });
    });

  if (signal.aborted) ended = true;
  else {
    hub.open.add(self);
    signal.addEventListener('abort', self.end);
  }
  return {
    next() {
      if (ended) return Promise.resolve(END);
      if (owed) {
        owed = false;
        return Promise.resolve(item({ kind: 'checkpoint', position }));
      }
      return hub.live.has(self) ? live() : read();
    },
    return() {
      self.end();
      return Promise.resolve(END);
    },
  };
};

export const subscribers = (source: Source, queueMax = QUEUE_EVENTS_MAX) => {
  const hub: Hub = { live: new Set(), open: new Set(), source, queueMax };
  let closed = false;
  const subscribe: EventLog['subscribe'] = ({ after, signal }) => ({
    [Symbol.asyncIterator]: () => subscription(hub, after, closed ? AbortSignal.abort() : signal),
  });
  return {
    subscribe,
    /** Whether anybody would take a push now, or as soon as it has read so far. */
    any: () => hub.open.size > 0,
    push(events: FoldEvent[]) {
      for (const subscriber of hub.live) subscriber.push(events);
    },
    /** After a commit that nobody followed when it began: who came meanwhile reads it. */
    readOn() {
      for (const subscriber of hub.live) subscriber.readOn();
    },
    close() {
      closed = true;
      for (const subscriber of hub.open) subscriber.end();
    },
  };
};
