import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import type { Parked } from './target.ts';

export const RECHECK_MS = 1_000;

/** What the engine runs on, and whom it tells. */
export type RunOptions = {
  log: EventLog;
  store: ProjectionStore;
  projections: readonly Projection[];
  catalog?: Catalog;
  /** Ends the run; what is folded is flushed first. */
  signal: AbortSignal;
  /** The partitions that this process folds; others fold the rest. Without: all. */
  partitions?: readonly number[];
  onParked?(projection: string, parked: Parked): void;
  /** Log or store gave no answer; the engine tries again until they do. */
  onFault?(error: unknown): void;
  /** Events in one batch at most. */
  batchEvents?: number;
  /** How often checkpoints of partitions without events are moved. */
  moveOnEvents?: number;
  /** How often the store is asked whether it still has what it had. */
  recheckMs?: number;
};
