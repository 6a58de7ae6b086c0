import { setTimeout as pause } from 'node:timers/promises';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { foldBatch, type FoldedBatch } from './fold.ts';
import type { FoldTarget, ParkedPartition } from './target.ts';

export type FoldContext = {
  store: ProjectionStore;
  signal?: AbortSignal | undefined;
  onParked?: ((projection: string, parked: ParkedPartition) => void) | undefined;
  /** Called when the store fails; the same batch is retried until it succeeds. */
  onFault?: ((error: unknown) => void) | undefined;
  /** Called for each skipped event of a type that this version does not know. */
  onUnknownType?: ((event: FoldEvent) => void) | undefined;
  /** True while the last commit failed. */
  isFailing?: boolean;
  /** Waits for a turn of the event loop, so that folds and commits do not delay requests. */
  awaitTurn?(): Promise<unknown>;
};

/** Events for one target, from a reading of the log up to `upTo`. */
export type EventBatch = { events: readonly FoldEvent[]; upTo: Position };

/** `lost`: the stored checkpoint is lower than the confirmed one (a flush, or an older copy). */
export type AdvanceOutcome = 'held' | 'lost';

/** The first pause after a failure, and the longest; each pause is twice the one before. */
export const RETRY_MS_FIRST = 50;
export const RETRY_MS_MAX = 2_000;

/**
 * Folds a batch into a target and commits it, with retries. When the store lost rows, committing
 * this batch would leave a gap: the target must be filled again.
 */
export const advance = async (
  context: FoldContext,
  target: FoldTarget,
  batch: EventBatch,
): Promise<AdvanceOutcome> => {
  const { store, signal, onFault } = context;
  if (batch.events.length === 0) return 'held';
  for (let wait = RETRY_MS_FIRST; ; wait = Math.min(2 * wait, RETRY_MS_MAX)) {
    try {
      const isCommitted = await tryAdvance(context, target, batch);
      context.isFailing = false;
      if (isCommitted) return 'held';
      const stored = await store.checkpoints(target.space);
      // Keeps the confirmed checkpoints: lower ones would be advanced over the lost events.
      if (hasLostRows(stored, target)) return 'lost';
      target.checkpoints = stored;
      // Another process whose code could fold the event has gone beyond it.
      for (const { partition, position } of target.parked.values())
        if ((stored[partition] ?? 0) >= position) target.parked.delete(partition);
    } catch (error) {
      context.isFailing = true;
      onFault?.(error);
      await pause(wait, undefined, { ref: false, ...(signal && { signal }) });
      // If the commit did happen, the next attempt is stale and reads the new checkpoints.
    }
  }
};

/** Returns false when another process advanced one of the partitions in the meantime. */
const tryAdvance = async (
  { store, onParked, awaitTurn }: FoldContext,
  target: FoldTarget,
  batch: EventBatch,
): Promise<boolean> => {
  for (let rest: EventBatch | undefined = batch; rest; ) {
    await awaitTurn?.();
    const parkedBefore = target.parked.size;
    const folded: FoldedBatch | undefined = await foldBatch(store, target, rest);
    if (!folded) return false;
    for (const parked of [...target.parked.values()].slice(parkedBefore))
      onParked?.(target.projection.name, parked);
    const { batches } = folded;
    rest = folded.rest;
    if (batches.length === 0) continue;
    await awaitTurn?.();
    const results = await store.commit(target.space, batches);
    for (const [i, { partition, to }] of batches.entries())
      if (results[i] === 'committed') target.checkpoints[partition] = to;
    if (results.includes('stale')) return false;
  }
  return true;
};

/** Returns true when a stored checkpoint is lower than one that the store confirmed earlier. */
export const hasLostRows = (
  stored: readonly Position[],
  { own, checkpoints }: Pick<FoldTarget, 'own' | 'checkpoints'>,
): boolean =>
  [...own].some((partition) => (stored[partition] ?? 0) < (checkpoints[partition] ?? 0));
