import type { OpeningCatalog } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import type { ParkedPartition } from './target.ts';

export const RECHECK_MS = 1_000;

/** What the engine reads and writes, and whom it notifies. */
export type EngineOptions = {
  log: EventLog;
  store: ProjectionStore;
  projections: readonly Projection[];
  catalog?: OpeningCatalog;
  /** Ends the run; the engine flushes the store first. */
  signal: AbortSignal;
  /** The partitions that this process folds; all by default. */
  partitions?: readonly number[];
  onParked?(projection: string, parked: ParkedPartition): void;
  /** Called when the log or the store fails; the engine retries until it answers. */
  onFault?(error: unknown): void;
  /** Called for each skipped event of a type that this version does not know. */
  onUnknownType?(event: FoldEvent): void;
  /** Maximum number of events in a batch. */
  batchEvents?: number;
  /** The engine advances the checkpoints of idle partitions after this many events. */
  checkpointEvents?: number;
  /** Interval at which the engine compares the store with the checkpoints it confirmed. */
  recheckMs?: number;
};
