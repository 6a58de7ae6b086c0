/**
 * Subscriptions to a log within this process. Each reads history in pages and then receives the events
 * of every commit, in one order. A subscriber that is waiting when a commit is pushed runs before the
 * append of that commit resolves.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventLog, FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';

const PAGE_EVENTS = 500;
const QUEUE_EVENTS_MAX = 4_096;

type Source = {
  /** Position of the last committed event. */
  head(): Position;
  page(after: Position, limit: number): FoldEvent[];
};

type Step = IteratorResult<SubscriptionItem, undefined>;

type Hub = {
  /** Every subscription that has not ended; `live` has those of them that have read all of the log. */
  readonly open: Set<Subscription>;
  readonly live: Set<Subscription>;
  readonly source: Source;
  readonly queueMax: number;
};

const END: Step = { done: true, value: undefined };
const item = (value: SubscriptionItem): Step => ({ done: false, value });

/**
 * An iterator instead of a generator: a generator answers several microtasks later, and an append would
 * resolve before its subscribers have seen the events.
 */
class Subscription implements AsyncIterator<SubscriptionItem> {
  readonly #hub: Hub;
  readonly #signal: AbortSignal;
  #position: Position;
  #isCheckpointDue = false;
  #hasEnded: boolean;
  #queue: FoldEvent[] = [];
  #waiting: ((step: Step | Promise<Step>) => void) | undefined;

  constructor(hub: Hub, after: Position, signal: AbortSignal) {
    this.#hub = hub;
    this.#position = after;
    this.#signal = signal;
    this.#hasEnded = signal.aborted;
    if (this.#hasEnded) return;
    hub.open.add(this);
    signal.addEventListener('abort', this.end);
  }

  next(): Promise<Step> {
    if (this.#hasEnded) return Promise.resolve(END);
    if (this.#isCheckpointDue) {
      this.#isCheckpointDue = false;
      return Promise.resolve(item({ kind: 'checkpoint', position: this.#position }));
    }
    return this.#hub.live.has(this) ? this.#nextPushed() : this.#readNext();
  }

  return(): Promise<Step> {
    this.end();
    return Promise.resolve(END);
  }

  push(events: FoldEvent[]): void {
    const position = this.#position;
    const fresh =
      events[0] && events[0].position > position
        ? events
        : events.filter((event) => event.position > position);
    if (fresh.length === 0) return;
    if (this.#waiting) {
      this.#resolve(this.#deliver(fresh));
      return;
    }
    this.#queue = this.#queue.concat(fresh);
    if (this.#queue.length > this.#hub.queueMax) this.readFromLog();
  }

  /** Discards the queue and continues from the log at the position of the last delivery. */
  readFromLog(): void {
    this.#queue = [];
    this.#hub.live.delete(this);
    if (this.#waiting) this.#resolve(this.#readNext());
  }

  readonly end = (): void => {
    this.#hasEnded = true;
    this.#queue = [];
    this.#hub.live.delete(this);
    this.#hub.open.delete(this);
    this.#signal.removeEventListener('abort', this.end);
    if (this.#waiting) this.#resolve(END);
  };

  #resolve(step: Step | Promise<Step>): void {
    const resolve = this.#waiting;
    this.#waiting = undefined;
    resolve?.(step);
  }

  #deliver(events: FoldEvent[]): Step {
    this.#position = events.at(-1)?.position ?? this.#position;
    this.#isCheckpointDue = true;
    return item({ kind: 'events', events });
  }

  #nextPushed(): Promise<Step> {
    const events = this.#queue;
    this.#queue = [];
    if (events.length > 0) return Promise.resolve(this.#deliver(events));
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Reads one page per turn of the event loop, so that a long history does not delay requests. */
  async #readNext(): Promise<Step> {
    await nextTurn();
    if (this.#hasEnded) return END;
    try {
      return this.#readPage();
    } catch (error) {
      this.end();
      throw error;
    }
  }

  #readPage(): Step {
    const { source, live } = this.#hub;
    // Comparing with the head and joining `live` in one turn misses no commit.
    if (this.#position >= source.head()) {
      live.add(this);
      return item({ kind: 'caughtUp', position: this.#position });
    }
    const events = source.page(this.#position, PAGE_EVENTS);
    if (events.length === 0)
      throw new Error(`the log returns no event after position ${this.#position}`);
    return this.#deliver(events);
  }
}

export class Subscribers {
  readonly #hub: Hub;
  #isClosed = false;

  /** A subscriber with more than `queueMax` undelivered events reads them from the log instead. */
  constructor(source: Source, queueMax = QUEUE_EVENTS_MAX) {
    this.#hub = { live: new Set(), open: new Set(), source, queueMax };
  }

  readonly subscribe: EventLog['subscribe'] = ({ after, signal }) => ({
    [Symbol.asyncIterator]: () =>
      new Subscription(this.#hub, after, this.#isClosed ? AbortSignal.abort() : signal),
  });

  /** Whether any subscription is open, also one that still reads history. */
  get hasAny(): boolean {
    return this.#hub.open.size > 0;
  }

  push(events: FoldEvent[]): void {
    for (const subscription of this.#hub.live) subscription.push(events);
  }

  /** For a commit whose events were not collected, because nobody subscribed when it began. */
  readFromLog(): void {
    for (const subscription of this.#hub.live) subscription.readFromLog();
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#hub.open) subscription.end();
  }
}
