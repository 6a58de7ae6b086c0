import type { Position } from '#src/ports/event-log.ts';
import {
  ALL_PARTITIONS,
  PARTITIONS,
  type ProjectionStore,
  type Space,
} from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import type { Life } from './life.ts';

/** A partition that stopped before an event that its projection cannot fold. */
export type ParkedPartition = {
  partition: number;
  position: Position;
  stream: string;
  reason: string;
};

/** A space that the engine fills or follows, and what this process knows about it. */
export type FoldTarget = {
  readonly projection: Projection;
  readonly space: Space;
  life: Life;
  /** Checkpoint of each partition; beyond the stored one after events that do not concern it. */
  checkpoints: Position[];
  readonly parked: Map<number, ParkedPartition>;
  /** Partitions that this process folds. */
  readonly own: ReadonlySet<number>;
  /** Position of the last event that this process saw in each partition that others fold. */
  readonly lastSeen: Position[];
  /** Position of the first of those events that others may not have folded; 0 if there is none. */
  readonly firstPending: Position[];
  /** The fill read up to here: the required checkpoints of others' partitions are known so far. */
  filledTo: Position;
  /** Last position to fold in each partition; `verify` compares at exact checkpoints. */
  readonly until?: readonly Position[];
};

const ALL: ReadonlySet<number> = new Set(ALL_PARTITIONS);
const zeros = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

type Opening = { projection: Projection; space: Space; own?: ReadonlySet<number> | undefined };

export const openTarget = async (
  store: ProjectionStore,
  { projection, space, own = ALL }: Opening,
): Promise<FoldTarget> => ({
  projection,
  space,
  life: { stage: 'filling', isRead: false },
  checkpoints: await store.checkpoints(space),
  parked: new Map(),
  own,
  lastSeen: zeros(),
  firstPending: zeros(),
  filledTo: 0,
});

/**
 * Returns the position up to which every partition of every target is folded. In a partition that
 * others fold, events beyond its checkpoint must have been seen to know its required checkpoint.
 */
export const lowestPosition = (targets: readonly FoldTarget[]): Position => {
  let lowest = Infinity;
  for (const { checkpoints, own, filledTo } of targets)
    for (const [partition, at] of checkpoints.entries())
      lowest = Math.min(lowest, own.has(partition) ? at : Math.max(at, filledTo));
  return lowest === Infinity ? 0 : lowest;
};

/** Returns the checkpoint that rows of this partition need to reflect the position of the loop. */
export const requiredCheckpoint = (
  { own, checkpoints, lastSeen }: FoldTarget,
  partition: number,
): Position => {
  const checkpoint = checkpoints[partition] ?? 0;
  return own.has(partition) ? checkpoint : Math.max(checkpoint, lastSeen[partition] ?? 0);
};

/**
 * Returns the position up to which a partition is complete when its stored checkpoint is `at`, or
 * undefined when no event is pending. In an idle partition this position is far beyond `at`.
 */
export const completeUpTo = (
  target: FoldTarget,
  partition: number,
  at: Position,
): Position | undefined => {
  const { firstPending } = target;
  if (at >= requiredCheckpoint(target, partition)) {
    firstPending[partition] = 0;
    return undefined;
  }
  return Math.max(at, (firstPending[partition] ?? 0) - 1);
};

/**
 * Advances the checkpoints of partitions without events up to `upTo`, so that a restart need not
 * read those events again. Runs rarely: each run writes up to 64 checkpoints.
 */
export const advanceCheckpoints = async (
  store: ProjectionStore,
  target: FoldTarget,
  upTo: Position,
): Promise<void> => {
  const { checkpoints, parked, own } = target;
  const batches = [];
  for (const partition of own) {
    const from = checkpoints[partition] ?? 0;
    if (from < upTo && !parked.has(partition))
      batches.push({ partition, from, to: upTo, writes: [] });
  }
  const results = await store.commit(target.space, batches);
  const stale = batches.filter(({ partition, to }, i) => {
    if (results[i] === 'committed') checkpoints[partition] = to;
    return results[i] !== 'committed';
  });
  if (stale.length === 0) return;
  const stored = await store.checkpoints(target.space);
  let mustRepeat = false;
  for (const { partition, from } of stale) {
    // Another process advanced it, and no event since then concerns it. A checkpoint below `from`
    // means that the store lost rows; the next inspection detects that.
    const at = Math.max(from, stored[partition] ?? 0);
    checkpoints[partition] = at;
    mustRepeat ||= from < at && at < upTo;
  }
  if (mustRepeat) await advanceCheckpoints(store, target, upTo);
};
