/** How far the read models are: what a start still has to read, which of them are parked, and how far they lag. */
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Lag } from '#src/ports/metrics.ts';
import type { Clock } from '#src/ports/system.ts';

/** Events counted one by one; a longer lag is estimated from these. */
const COUNTED_MAX = 500;

/** How much of its catalog, and then of the log, a process has read before it serves requests. */
export type Filling = { done: number; of: number; unit: 'products' | 'events' | 'bytes' };

/** The projection engine, or the desk: anything that reports how far each read model is. */
export type Statuses = {
  status(): Promise<
    {
      name: string;
      checkpoint: Position;
      lagEvents: number;
      parked: readonly unknown[];
      skipped: number;
    }[]
  >;
};

/** The names of the read models that have parked partitions, whose rows are not shown. */
export const parkedOf = (
  statuses: readonly { name: string; parked: readonly unknown[] }[],
): string[] => statuses.filter(({ parked }) => parked.length > 0).map(({ name }) => name);

/** The read models that are folded without some events, with their numbers, as `leads 1, links 2`. */
export const skippedOf = (statuses: readonly { name: string; skipped: number }[]): string =>
  statuses
    .filter(({ skipped }) => skipped > 0)
    .map(({ name, skipped }) => `${name} ${skipped}`)
    .join(', ');

type Distance = { events: number; seconds: number };

/**
 * Measures the distance from a checkpoint to the head: events, and seconds since the oldest of them.
 * Positions of EventStoreDB are bytes, so a difference of positions is not a number of events: the
 * first COUNTED_MAX events give the average size by which the rest is estimated. Throws LogUnavailable.
 */
export const measureLag = async (
  { log, clock }: { log: Pick<EventLog, 'readFold'>; clock: Clock },
  { checkpoint, head }: { checkpoint: Position; head: Position },
): Promise<Distance> => {
  let [events, after] = [0, checkpoint];
  let oldest: number | undefined;
  while (after < head && events < COUNTED_MAX) {
    const page = await log.readFold({ after, limit: COUNTED_MAX - events });
    const last = page.at(-1);
    if (!last) break;
    oldest ??= page[0]?.at;
    events += page.length;
    after = last.position;
  }
  const seconds = oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1_000;
  if (events < COUNTED_MAX) return { events, seconds };
  const eventSize = (after - checkpoint) / events;
  return { events: Math.max(events, Math.round((head - checkpoint) / eventSize)), seconds };
};

/** Measures the lag of each read model, once for each distinct checkpoint. Throws LogUnavailable. */
export const measureLags = async (deps: {
  log: Pick<EventLog, 'head' | 'readFold'>;
  clock: Clock;
  projections: Statuses;
}): Promise<Lag[]> => {
  const statuses = await deps.projections.status();
  const { position: head } = await deps.log.head();
  const distances = new Map<Position, Promise<Distance>>();
  const distanceFrom = (checkpoint: Position): Promise<Distance> => {
    const distance = distances.get(checkpoint) ?? measureLag(deps, { checkpoint, head });
    distances.set(checkpoint, distance);
    return distance;
  };
  return Promise.all(
    statuses.map(async ({ name, checkpoint, lagEvents, parked, skipped }) => ({
      projection: name,
      parked: parked.length,
      skipped,
      ...(lagEvents > 0 ? await distanceFrom(checkpoint) : { events: 0, seconds: 0 }),
    })),
  );
};
