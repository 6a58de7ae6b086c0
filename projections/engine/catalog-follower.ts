import { setImmediate as turn } from 'node:timers/promises';
import { PRODUCT_EVENTS } from '#contracts/registries/events.ts';
import { type OpeningCatalog, PoisonEvent } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import { eventsUpTo } from './fill.ts';
import type { ParkedPartition } from './target.ts';

const PRODUCT_TYPES: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

/** Events per step of catching up. Rows wait for one step at most, so that revocations stay fast. */
const PAGE_EVENTS = 1_000;
/** A product costs fifty times as much as a row; requests get a turn after this many products. */
const EVENTS_PER_TURN = 100;

/**
 * Follows the log with the catalog, which has a store of its own, one partition and no spaces. The
 * loop does not wait for that store: events that it failed to store are read from the log again.
 */
export class CatalogFollower {
  readonly version: number;
  readonly #catalog: OpeningCatalog;
  readonly #onParked: (parked: ParkedPartition) => void;
  readonly #onFault: (error: unknown) => void;
  #parked: { at: ParkedPartition; generation: number } | undefined;
  #confirmed: Position;
  #isInStep = false;
  #isFailing = false;

  constructor(
    catalog: OpeningCatalog,
    callbacks: { onParked(parked: ParkedPartition): void; onFault(error: unknown): void },
  ) {
    this.#catalog = catalog;
    this.version = catalog.version;
    this.#confirmed = catalog.checkpoint();
    this.#onParked = callbacks.onParked;
    this.#onFault = callbacks.onFault;
  }

  /** The event that the current build cannot fold, if any; another build tries it again. */
  get parked(): ParkedPartition | undefined {
    const isCurrent = this.#parked?.generation === this.#catalog.generation();
    return isCurrent ? this.#parked?.at : undefined;
  }

  checkpoint(): Position {
    return this.#catalog.checkpoint();
  }

  /** Returns the position up to which nothing is pending: Infinity while in step, or parked. */
  reached(): Position {
    return this.parked || this.#keepsUp() ? Infinity : this.checkpoint();
  }

  /** Folds the next events of the loop; does nothing while the catalog is catching up. */
  async fold(events: readonly FoldEvent[], upTo: Position): Promise<void> {
    if (this.#keepsUp()) await this.#attempt(() => this.#foldPage(events, upTo));
  }

  /** Advances the checkpoint beyond events that are not about products. */
  async advanceCheckpoint(upTo: Position): Promise<void> {
    if (this.#keepsUp() && this.checkpoint() < upTo)
      await this.#attempt(() => this.#apply([], upTo));
  }

  /**
   * Reads and folds one page of pending events up to `upTo`. Returns true if there are more. After a
   * failure it does nothing unless `isRetry` is set, and nothing before the catalog is open.
   */
  async catchUp(
    log: Pick<EventLog, 'readFold'>,
    upTo: Position,
    isRetry: boolean,
  ): Promise<boolean> {
    if (this.#catalog.opening() || this.#keepsUp() || this.parked || (this.#isFailing && !isRetry))
      return false;
    this.#isInStep = false;
    const after = this.checkpoint();
    this.#confirmed = after;
    const events = after < upTo ? await log.readFold({ after, limit: PAGE_EVENTS }) : [];
    const to = Math.min(events.at(-1)?.position ?? after, upTo);
    const hasMore = events.length === PAGE_EVENTS && to < upTo;
    await this.#attempt(async () => {
      await this.#foldPage(eventsUpTo(events, to), to);
      if (this.parked) return;
      if (!this.#isEmptied()) this.#apply([], to);
      this.#isInStep = !hasMore;
    });
    return hasMore && !this.#isFailing && !this.parked;
  }

  #isEmptied(): boolean {
    return this.checkpoint() < this.#confirmed;
  }

  #keepsUp(): boolean {
    return this.#isInStep && !this.#isEmptied();
  }

  async #attempt(work: () => Promise<void> | void): Promise<void> {
    try {
      await work();
      this.#isFailing = false;
    } catch (error) {
      this.#isInStep = false;
      this.#isFailing = true;
      this.#onFault(error);
    }
  }

  async #foldPage(events: readonly FoldEvent[], upTo: Position): Promise<void> {
    const confirmed = this.#confirmed;
    const pending = events.filter(
      ({ type, position }) => PRODUCT_TYPES.has(type) && position > confirmed,
    );
    for (let from = 0; from < pending.length && !this.parked; from += EVENTS_PER_TURN) {
      if (from > 0) await turn();
      if (this.#isEmptied()) return;
      const slice = pending.slice(from, from + EVENTS_PER_TURN);
      const isLast = from + EVENTS_PER_TURN >= pending.length;
      this.#apply(slice, isLast ? upTo : (slice.at(-1)?.position ?? upTo));
    }
  }

  #apply(events: readonly FoldEvent[], upTo: Position): void {
    try {
      this.#catalog.apply(events, upTo);
    } catch (error) {
      if (!(error instanceof PoisonEvent)) throw error;
      // The batch had no effect: repeats it event by event, up to the one that cannot be folded.
      this.#applyOneByOne(events);
    }
    this.#confirmed = this.checkpoint();
  }

  #applyOneByOne(events: readonly FoldEvent[]): void {
    for (const event of events) {
      try {
        this.#catalog.apply([event], event.position);
      } catch (error) {
        if (!(error instanceof PoisonEvent)) throw error;
        this.#park(event, error);
        return;
      }
    }
  }

  #park({ position, stream, type }: FoldEvent, { message }: PoisonEvent): void {
    this.#catalog.apply([], position - 1);
    const at = { partition: 0, position, stream, reason: `${type}: ${message}` };
    this.#parked = { at, generation: this.#catalog.generation() };
    this.#isInStep = false;
    this.#onParked(at);
  }
}
