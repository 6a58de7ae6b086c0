import type { Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type ProjectionStore, type Space } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';

/** A partition that stopped before an event its fold could not take. */
export type Parked = { partition: number; position: Position; stream: string; reason: string };

/** A space that is being filled or followed, and what its folder knows of it. */
export type Target = {
  readonly projection: Projection;
  readonly space: Space;
  /** What the store has of each partition; further on when no event of it came since. */
  checkpoints: Position[];
  readonly parked: Map<number, Parked>;
  /** Partitions that this process folds. */
  readonly own: ReadonlySet<number>;
  /** The last event of each partition that others fold, as this process saw it go by. */
  readonly seen: Position[];
  /** The first of those events that nobody was seen to have folded; 0 where there is none. */
  readonly waiting: Position[];
  /** How far it was filled: what others' partitions owe is known up to here. */
  read: Position;
  /** Folds no further than this in each partition; verify compares at exact checkpoints. */
  readonly until?: readonly Position[];
};

const ALL: ReadonlySet<number> = new Set(Array.from({ length: PARTITIONS }, (_, i) => i));

export const openTarget = async (
  store: ProjectionStore,
  projection: Projection,
  space: Space,
  own: ReadonlySet<number> = ALL,
): Promise<Target> => ({
  projection,
  space,
  checkpoints: await store.checkpoints(space),
  parked: new Map(),
  own,
  seen: new Array<Position>(PARTITIONS).fill(0),
  waiting: new Array<Position>(PARTITIONS).fill(0),
  read: 0,
});

/**
 * Everything up to here is folded in every partition. Those of others count too: what happened in
 * them beyond their checkpoint must have been seen to know what an answer owes.
 */
export const lowest = (targets: readonly Target[]): Position => {
  let found = Infinity;
  for (const { checkpoints, own, read } of targets)
    for (const [partition, at] of checkpoints.entries())
      found = Math.min(found, own.has(partition) ? at : Math.max(at, read));
  return found === Infinity ? 0 : found;
};

/** How far rows of this partition must be folded to be as of where the loop stands. */
export const owed = ({ own, checkpoints, seen }: Target, partition: number): Position => {
  const known = checkpoints[partition] ?? 0;
  return own.has(partition) ? known : Math.max(known, seen[partition] ?? 0);
};

/**
 * Up to where all is folded that this partition owes, given that the store has folded it up to `at`;
 * undefined when nothing is left to fold. Of a quiet partition that is far beyond `at`.
 */
export const foldedUpTo = (
  target: Target,
  partition: number,
  at: Position,
): Position | undefined => {
  const { waiting } = target;
  if (at >= owed(target, partition)) {
    waiting[partition] = 0;
    return undefined;
  }
  return Math.max(at, (waiting[partition] ?? 0) - 1);
};

/**
 * Moves partitions to which no event came up to `upTo`, so that a restart does not read it all
 * again. Not with every batch: that would be 64 writes where one partition had news.
 */
export const moveOn = async (
  store: ProjectionStore,
  target: Target,
  upTo: Position,
): Promise<void> => {
  const { checkpoints, parked, own } = target;
  const batches = [];
  for (const partition of own) {
    const from = checkpoints[partition] ?? 0;
    if (from < upTo && !parked.has(partition))
      batches.push({ partition, from, to: upTo, writes: [] });
  }
  const answers = await store.commit(target.space, batches);
  const stale: { partition: number; from: Position }[] = [];
  for (const [i, batch] of batches.entries())
    if (answers[i] === 'committed') checkpoints[batch.partition] = batch.to;
    else stale.push(batch);
  if (stale.length === 0) return;
  const now = await store.checkpoints(target.space);
  let isAgain = false;
  for (const { partition, from } of stale) {
    // Somebody else moved it. We know of no event in it since, so it goes on from there; one that
    // stands before what it once confirmed is lost, which the next look finds.
    const at = Math.max(from, now[partition] ?? 0);
    checkpoints[partition] = at;
    isAgain ||= from < at && at < upTo;
  }
  if (isAgain) await moveOn(store, target, upTo);
};
