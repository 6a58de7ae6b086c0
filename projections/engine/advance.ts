import { setTimeout as pause } from 'node:timers/promises';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { fold } from './fold.ts';
import type { Parked, Target } from './target.ts';

export type Folding = {
  store: ProjectionStore;
  signal?: AbortSignal;
  onParked?(target: Target, parked: Parked): void;
  /** The store gave no answer; the same work is tried again until it does. */
  onFault?(error: unknown): void;
  /** The last answer of the store was none, or a refusal. */
  failing?: boolean;
  /** Resolves when requests have been answered: what is folded and what is sent may both be much. */
  breathe?(): Promise<unknown>;
};

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;

/**
 * Folds a batch into a target and commits. `lost`: the store knows less than it has committed (it
 * was flushed, or restored from an older copy), so this batch alone would leave a hole.
 */
export const advance = async (
  folding: Folding,
  target: Target,
  events: readonly FoldEvent[],
  upTo: Position,
): Promise<'held' | 'lost'> => {
  const { store, signal, onFault } = folding;
  if (events.length === 0) return 'held';
  for (let wait = RETRY_MS_FIRST; ; wait = Math.min(2 * wait, RETRY_MS_MAX)) {
    try {
      const held = await attempt(folding, target, events, upTo);
      folding.failing = false;
      if (held) return 'held';
      const now = await store.checkpoints(target.space);
      // What it knew stays: with less, it would move partitions on over what is lost.
      if (isBehind(now, target)) return 'lost';
      target.checkpoints = now;
      // Somebody whose fold could take the event has gone past it.
      for (const { partition, position } of target.parked.values())
        if ((now[partition] ?? 0) >= position) target.parked.delete(partition);
    } catch (error) {
      folding.failing = true;
      onFault?.(error);
      await pause(wait, undefined, { ref: false, ...(signal && { signal }) });
      // The commit may have happened: the next attempt is then stale, and finds out.
    }
  }
};

/** True when every batch was committed; the others were moved by somebody else meanwhile. */
const attempt = async (
  { store, onParked, breathe }: Folding,
  target: Target,
  events: readonly FoldEvent[],
  upTo: Position,
): Promise<boolean> => {
  await breathe?.();
  const known = target.parked.size;
  const batches = await fold(store, target, events, upTo);
  if (!batches) return false;
  if (target.parked.size > known && onParked)
    for (const parked of [...target.parked.values()].slice(known)) onParked(target, parked);
  if (batches.length === 0) return true;
  await breathe?.();
  const answers = await store.commit(target.space, batches);
  let held = true;
  for (const [i, { partition, to }] of batches.entries())
    if (answers[i] === 'committed') target.checkpoints[partition] = to;
    else held = false;
  return held;
};

/** True when the store stands before a checkpoint that it once confirmed. */
export const isBehind = (
  now: readonly Position[],
  { own, checkpoints }: Pick<Target, 'own' | 'checkpoints'>,
): boolean => {
  for (const partition of own)
    if ((now[partition] ?? 0) < (checkpoints[partition] ?? 0)) return true;
  return false;
};
