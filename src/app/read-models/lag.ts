import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { Lag } from '#src/ports/metrics.ts';
import type { Clock } from '#src/ports/system.ts';

/** So many are counted one by one; what is beyond is estimated from them. */
const COUNTED_MAX = 500;

/** Of an engine, or of the desk: how far each read model is. */
export type Statuses = {
  status(): Promise<
    { name: string; checkpoint: Position; lagEvents: number; parked: readonly unknown[] }[]
  >;
};

/** The read models of which a part is shown to nobody, until somebody has mended what holds it up. */
export const parkedOf = (
  statuses: readonly { name: string; parked: readonly unknown[] }[],
): string[] => statuses.filter(({ parked }) => parked.length > 0).map(({ name }) => name);

export type Behind = { events: number; seconds: number };

type Counted = { log: Pick<EventLog, 'readFold'>; clock: Clock };

/**
 * What lies between a checkpoint and the head: events, and seconds since the oldest of them.
 * Positions of EventStoreDB are bytes, so a difference of positions is not a number of events: up to
 * COUNTED_MAX they are counted, and tell the size of the others. Throws LogUnavailable.
 */
export const behindOf = async (
  { log, clock }: Counted,
  { checkpoint, head }: { checkpoint: Position; head: Position },
): Promise<Behind> => {
  const first =
    head > checkpoint ? await log.readFold({ after: checkpoint, limit: COUNTED_MAX }) : [];
  const [oldest, last] = [first[0], first.at(-1)];
  if (!oldest || !last) return { events: 0, seconds: 0 };
  const seconds = Math.max(0, clock.now() - oldest.at) / 1_000;
  if (first.length < COUNTED_MAX) return { events: first.length, seconds };
  const each = (last.position - checkpoint) / first.length;
  return { events: Math.max(first.length, Math.round((head - checkpoint) / each)), seconds };
};

/** How far each read model is behind the log. Throws LogUnavailable. */
export const lagOf = async ({
  log,
  clock,
  projections,
}: {
  log: Pick<EventLog, 'head' | 'readFold'>;
  clock: Clock;
  projections: Statuses;
}): Promise<Lag[]> => {
  const statuses = await projections.status();
  const { position: head } = await log.head();
  const known = new Map<Position, Promise<Behind>>();
  const behind = (checkpoint: Position): Promise<Behind> => {
    const found = known.get(checkpoint) ?? behindOf({ log, clock }, { checkpoint, head });
    known.set(checkpoint, found);
    return found;
  };
  return Promise.all(
    statuses.map(async ({ name, checkpoint, lagEvents, parked }) => ({
      projection: name,
      parked: parked.length,
      ...(lagEvents > 0 ? await behind(checkpoint) : { events: 0, seconds: 0 }),
    })),
  );
};
