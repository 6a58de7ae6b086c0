import { setImmediate as turn } from 'node:timers/promises';
import type { ProductEventType } from '#contracts/events/index.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import type { Parked } from './target.ts';

const PRODUCT_EVENTS: ReadonlySet<string> = new Set<ProductEventType>([
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
  'ProductWithdrawn',
]);

const BATCH_EVENTS = 4_000;
/** A product costs fifty times what a row does: between so many the process serves its requests. */
const EVENTS_IN_TURN = 100;

/** The catalog as one more projection of the loop: its own store, one partition, no spaces. */
export type CatalogFollower = {
  fold(events: readonly FoldEvent[], upTo: Position): Promise<void>;
  /** Moves the checkpoint past events that are none of its own. */
  moveOn(upTo: Position): void;
  /** Reads what lies between its checkpoint and `upTo`, after somebody cleared it. */
  refill(log: Pick<EventLog, 'readFold'>, upTo: Position): Promise<void>;
  checkpoint(): Position;
  parked(): Parked | undefined;
};

export const catalogFollower = (
  catalog: Catalog,
  onParked: (parked: Parked) => void,
): CatalogFollower => {
  let parked: Parked | undefined;
  let confirmed = catalog.checkpoint();

  const applyOneByOne = (events: readonly FoldEvent[]): void => {
    for (const event of events) {
      try {
        catalog.apply([event], event.position);
      } catch (error) {
        const reason = `${event.type}: ${error instanceof Error ? error.message : String(error)}`;
        parked = { partition: 0, position: event.position, stream: event.stream, reason };
        onParked(parked);
        return;
      }
    }
  };

  const foldSlice = (events: readonly FoldEvent[], upTo: Position): void => {
    try {
      catalog.apply(events, upTo);
    } catch {
      // It had no effect: once more in single steps, up to the one it could not take.
      applyOneByOne(events);
    }
    confirmed = catalog.checkpoint();
  };

  const fold = async (events: readonly FoldEvent[], upTo: Position): Promise<void> => {
    const checkpoint = catalog.checkpoint();
    const own = events.filter(
      ({ type, position }) => PRODUCT_EVENTS.has(type) && position > checkpoint,
    );
    for (let from = 0; from < own.length && !parked; from += EVENTS_IN_TURN) {
      if (from > 0) await turn();
      const slice = own.slice(from, from + EVENTS_IN_TURN);
      const isLast = from + EVENTS_IN_TURN >= own.length;
      foldSlice(slice, isLast ? upTo : (slice.at(-1)?.position ?? upTo));
    }
  };

  const moveOn = (upTo: Position): void => {
    if (!parked && catalog.checkpoint() < upTo) catalog.apply([], upTo);
    confirmed = catalog.checkpoint();
  };

  return {
    fold,
    moveOn,
    async refill(log, upTo) {
      if (catalog.checkpoint() >= confirmed) return;
      parked = undefined;
      let after = catalog.checkpoint();
      while (after < upTo) {
        const events = await log.readFold({ after, limit: BATCH_EVENTS });
        const last = events.at(-1);
        if (!last) break;
        after = Math.min(last.position, upTo);
        await fold(
          events.filter(({ position }) => position <= upTo),
          after,
        );
      }
      moveOn(after);
    },
    checkpoint: catalog.checkpoint,
    parked: () => parked,
  };
};
