import type { FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';

/** The items that arrived since the last call of `take`. */
export type Arrivals = { events: FoldEvent[]; position: Position; isCaughtUp: boolean };

/**
 * Reads a subscription ahead of the folds: events that arrive during a fold form the next batch. A
 * slow store gets fewer and larger commits, and no queue builds up.
 */
export class SubscriptionBuffer {
  readonly #eventsMax: number;
  #arrivals: Arrivals = { events: [], position: 0, isCaughtUp: false };
  #isWoken = false;
  #isEnded = false;
  #isClosed = false;
  #failure: { error: unknown } | undefined;
  #wakeTaker = (): void => {};
  #wakeReader = (): void => {};

  /** The reader pauses while at least `eventsMax` events wait. */
  constructor(items: AsyncIterable<SubscriptionItem>, eventsMax: number) {
    this.#eventsMax = eventsMax;
    this.#read(items)
      .catch((error: unknown) => (this.#failure = { error }))
      .finally(() => {
        this.#isEnded = true;
        this.#wakeTaker();
      });
  }

  /** Waits for arrivals; returns none after `wake`, and undefined when the subscription ended. */
  async take(): Promise<Arrivals | undefined> {
    while (!this.#hasArrivals() && !this.#isWoken && !this.#isEnded)
      await new Promise<void>((resolve) => (this.#wakeTaker = resolve));
    // Checked before `#isWoken`, because wakes may never stop.
    if (this.#isEnded && !this.#hasArrivals()) {
      if (this.#failure) throw this.#failure.error;
      return undefined;
    }
    const arrivals = this.#arrivals;
    this.#arrivals = { events: [], position: 0, isCaughtUp: false };
    this.#isWoken = false;
    this.#wakeReader();
    return arrivals;
  }

  /** Lets `take` return without an event. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeTaker();
  }

  /** Stops reading. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReader();
  }

  async #read(items: AsyncIterable<SubscriptionItem>): Promise<void> {
    for await (const item of items) {
      this.#put(item);
      this.#wakeTaker();
      while (this.#arrivals.events.length >= this.#eventsMax && !this.#isClosed)
        await new Promise<void>((resolve) => (this.#wakeReader = resolve));
      if (this.#isClosed) return;
    }
  }

  #put(item: SubscriptionItem): void {
    const arrivals = this.#arrivals;
    if (item.kind === 'events') {
      // Copies events only when a second item joins the first one.
      arrivals.events =
        arrivals.events.length === 0 ? item.events : arrivals.events.concat(item.events);
      arrivals.isCaughtUp = false;
    } else if (item.kind === 'caughtUp') arrivals.isCaughtUp = true;
    const position = item.kind === 'events' ? item.events.at(-1)?.position : item.position;
    arrivals.position = Math.max(arrivals.position, position ?? 0);
  }

  #hasArrivals(): boolean {
    return this.#arrivals.isCaughtUp || this.#arrivals.position > 0;
  }
}
