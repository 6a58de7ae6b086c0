import { setImmediate as turn } from 'node:timers/promises';
import { PRODUCT_EVENTS } from '#contracts/events/index.ts';
import { type Catalog, PoisonEvent } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import type { Parked } from './target.ts';

const HANDLES: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

/** Read at a time where it has to catch up: rows wait for no more than that, or a key would live on. */
const PAGE_EVENTS = 1_000;
/** A product costs fifty times what a row does: between so many the process serves its requests. */
const EVENTS_IN_TURN = 100;

/**
 * The catalog as one more projection of the loop: its own store, one partition, no spaces. The loop
 * does not wait for that store: what it could not take, or has lost, is read from the log again.
 */
export type CatalogFollower = {
  readonly version: number;
  /** What comes next; nothing while it has to catch up. */
  fold(events: readonly FoldEvent[], upTo: Position): Promise<void>;
  /** Moves the checkpoint past events that are none of its own. */
  moveOn(upTo: Position): Promise<void>;
  /**
   * Reads some of what it has not taken, up to `upTo`; true when there is more. After a failure only
   * `again` makes it try.
   */
  catchUp(log: Pick<EventLog, 'readFold'>, upTo: Position, again: boolean): Promise<boolean>;
  /** Nothing up to here is left to take; Infinity where it keeps up, and where it is parked. */
  reached(): Position;
  checkpoint(): Position;
  /** Holds for the build that could not take the event: another one is tried with it. */
  parked(): Parked | undefined;
};

export const catalogFollower = (
  catalog: Catalog,
  told: { onParked(parked: Parked): void; onFault(error: unknown): void },
): CatalogFollower => {
  let stop: { parked: Parked; generation: number } | undefined;
  let confirmed = catalog.checkpoint();
  let inStep = false;
  let failing = false;

  const parked = (): Parked | undefined =>
    stop?.generation === catalog.generation() ? stop.parked : undefined;
  const isEmptied = (): boolean => catalog.checkpoint() < confirmed;
  const keepsUp = (): boolean => inStep && !isEmptied();

  const park = ({ position, stream, type }: FoldEvent, { message }: PoisonEvent): void => {
    catalog.apply([], position - 1);
    const reason = `${type}: ${message}`;
    stop = {
      parked: { partition: 0, position, stream, reason },
      generation: catalog.generation(),
    };
    inStep = false;
    told.onParked(stop.parked);
  };

  const applyOneByOne = (events: readonly FoldEvent[]): void => {
    for (const event of events) {
      try {
        catalog.apply([event], event.position);
      } catch (error) {
        if (!(error instanceof PoisonEvent)) throw error;
        park(event, error);
        return;
      }
    }
  };

  const apply = (events: readonly FoldEvent[], upTo: Position): void => {
    try {
      catalog.apply(events, upTo);
    } catch (error) {
      if (!(error instanceof PoisonEvent)) throw error;
      // It had no effect: once more in single steps, up to the one it could not take.
      applyOneByOne(events);
    }
    confirmed = catalog.checkpoint();
  };

  const take = async (events: readonly FoldEvent[], upTo: Position): Promise<void> => {
    const own = events.filter(({ type, position }) => HANDLES.has(type) && position > confirmed);
    for (let from = 0; from < own.length && !parked(); from += EVENTS_IN_TURN) {
      if (from > 0) await turn();
      if (isEmptied()) return;
      const slice = own.slice(from, from + EVENTS_IN_TURN);
      const isLast = from + EVENTS_IN_TURN >= own.length;
      apply(slice, isLast ? upTo : (slice.at(-1)?.position ?? upTo));
    }
  };

  const trying = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
      failing = false;
    } catch (error) {
      inStep = false;
      failing = true;
      told.onFault(error);
    }
  };

  return {
    version: catalog.version,
    async fold(events, upTo) {
      if (keepsUp()) await trying(() => take(events, upTo));
    },
    async moveOn(upTo) {
      if (keepsUp() && catalog.checkpoint() < upTo) await trying(() => apply([], upTo));
    },
    async catchUp(log, upTo, again) {
      if (keepsUp() || parked() || (failing && !again)) return false;
      inStep = false;
      confirmed = catalog.checkpoint();
      const isBehind = confirmed < upTo;
      const events = isBehind ? await log.readFold({ after: confirmed, limit: PAGE_EVENTS }) : [];
      const to = Math.min(events.at(-1)?.position ?? confirmed, upTo);
      const isMore = events.length === PAGE_EVENTS && to < upTo;
      await trying(async () => {
        await take(
          events.filter(({ position }) => position <= to),
          to,
        );
        if (parked()) return;
        if (!isEmptied()) apply([], to);
        inStep = !isMore;
      });
      return isMore && !failing && !parked();
    },
    reached: () => (parked() || keepsUp() ? Infinity : catalog.checkpoint()),
    checkpoint: catalog.checkpoint,
    parked,
  };
};
