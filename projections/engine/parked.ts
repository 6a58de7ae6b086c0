/** Parked partitions: how one is filled again, and how those of other processes are found. */
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { foldBatch } from './fold.ts';
import { type FoldTarget, openTarget, type ParkedPartition } from './target.ts';

/** A target of the parked partitions alone, which is filled from their checkpoints. */
export const retryTargetOf = async ({
  projection,
  space,
  store,
  parked,
}: FoldTarget): Promise<FoldTarget> => {
  const own = new Set(parked.keys());
  // A fill reads from the lowest of its own checkpoints.
  return { ...(await openTarget(store, { projection, space, own })), filledTo: Infinity };
};

const PAGE = 1_000;

/** The partitions of a target that others fold, and that have not reached the last event of theirs. */
type Lagging = { target: FoldTarget; stored: Position[]; partitions: Set<number> };

const laggingOf = async (target: FoldTarget): Promise<Lagging> => {
  const stored = await target.store.checkpoints(target.space);
  const partitions = new Set<number>();
  for (const [partition, last] of target.lastSeen.entries())
    if (!target.own.has(partition) && (stored[partition] ?? 0) < last) partitions.add(partition);
  return { target, stored, partitions };
};

/** The partition of an event that a fold meets, as the fold decides it. */
const partitionAt = ({ projection }: FoldTarget, event: FoldEvent): number | undefined => {
  try {
    const place = projection.place(event);
    return place && partitionOf(place.scope);
  } catch {
    return partitionOf(event.owner);
  }
};

/**
 * Finds the partitions of other processes that are parked: of each that lags, folds the first event after its checkpoint
 * without storing anything. Reads the log once, from the lowest of these checkpoints.
 */
export const findParkedElsewhere = async (
  log: Pick<EventLog, 'readFold'>,
  targets: readonly FoldTarget[],
): Promise<{ name: string; parked: ParkedPartition }[]> => {
  const all = await Promise.all(targets.map(laggingOf));
  const lagging = all.filter(({ partitions }) => partitions.size > 0);
  const found: { name: string; parked: ParkedPartition }[] = [];
  let after = Math.min(
    ...lagging.flatMap(({ stored, partitions }) => [...partitions].map((at) => stored[at] ?? 0)),
  );
  while (lagging.some(({ partitions }) => partitions.size > 0)) {
    const page = await log.readFold({ after, limit: PAGE });
    for (const event of page)
      for (const one of lagging) found.push(...(await parkedBy(one, event)));
    const last = page.at(-1);
    if (!last) break;
    after = last.position;
  }
  return found;
};

/** Folds an event if it is the first one that its partition waits for. */
const parkedBy = async ({ target, stored, partitions }: Lagging, event: FoldEvent) => {
  const { projection } = target;
  if (partitions.size === 0 || !projection.handles.some((type) => type === event.type)) return [];
  const partition = partitionAt(target, event);
  if (partition === undefined || !partitions.has(partition)) return [];
  if (event.position <= (stored[partition] ?? 0)) return [];
  partitions.delete(partition);
  const probe: FoldTarget = {
    ...target,
    own: new Set([partition]),
    checkpoints: [...stored],
    parked: new Map(),
    lastSeen: [],
    firstPending: [],
  };
  await foldBatch(probe, { events: [event], upTo: event.position });
  return [...probe.parked.values()].map((parked) => ({ name: projection.name, parked }));
};
