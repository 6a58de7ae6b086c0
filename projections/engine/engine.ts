import type { Position } from '#src/ports/event-log.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { adopt, openSpaces } from './build.ts';
import { CatalogFollower } from './catalog-follower.ts';
import { recheck } from './lifecycle.ts';
import { LoopState } from './loop-state.ts';
import { runLoop } from './loop.ts';
import type { EngineOptions } from './options.ts';
import { checkDaily } from './operator/check-daily.ts';
import { type FillProgress, listStatuses, type ReadModelStatus } from './operator/status.ts';
import {
  completeUpTo,
  type FoldTarget,
  type ParkedPartition,
  requiredCheckpoint,
} from './target.ts';

export type Engine = {
  /** Resolves to true once every live read model has folded `position`, except parked partitions. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  position(): Position;
  /** Returns the position of the read models, and the time of the last event up to it. */
  asOf(): { position: Position; at: number | null };
  /** Returns true while the store rejects writes: pending positions will not be reached soon. */
  isFailing(): boolean;
  status(): Promise<ReadModelStatus[]>;
  /**
   * Returns the checkpoint that rows of this scope need to reflect `asOf()`; undefined while the
   * engine follows no space of the projection. A remote store with a lower checkpoint lost rows, or
   * its projector is lagging.
   */
  requiredCheckpoint(projection: string, scope: string): Position | undefined;
  /**
   * Returns the position up to which the partition of this scope is complete if its stored
   * checkpoint is `at`; undefined if no event is pending.
   */
  completeUpTo(projection: string, scope: string, at: Position): Position | undefined;
  /**
   * Returns why the rows of this scope are not up to date and must not be shown, if they are not.
   * The next start of the engine tries the event again.
   */
  parkedFor(projection: string, scope: string): ParkedPartition | undefined;
  /** Adopts a filled space: it goes live, and the engine follows it from its position on. */
  adopt(target: FoldTarget): Promise<void>;
  /** Shows the progress of a rebuild in the status. */
  reportFill(projection: string, progress: FillProgress | undefined): void;
  /** Inspects the store now instead of at the next interval. */
  recheck(): void;
  /**
   * Resolves to true once all read models are live and reach the head of the log at the start. Rejects with an error
   * of the catalog's file.
   */
  readonly ready: Promise<boolean>;
  /** Resolves when the run has ended and the store is flushed. */
  readonly done: Promise<void>;
};

/** The engine of a store in this process, which also follows the log with the catalog. */
export type LocalEngine = Engine & {
  /** `passed` without the catalog, so that its full disk does not delay credentials. */
  rowsPassed: Engine['passed'];
};

/** Follows the log with all projections through one subscription. */
export const runProjections = async (options: EngineOptions): Promise<LocalEngine> => {
  const { onParked, onFault } = options;
  const catalogFailed = Promise.withResolvers<true>();
  const catalog =
    options.catalog &&
    new CatalogFollower(options.catalog, {
      onParked: (parked) => onParked?.('catalog', parked),
      onFault: (error) => {
        catalogFailed.resolve(true);
        onFault?.(error);
      },
    });
  const state = new LoopState(options, catalog);
  const opened = options.catalog?.opened.then(() => {
    state.wake();
    return true;
  });
  const { head, built } = await openSpaces(state);
  checkDaily(options);
  const done = runLoop(state);
  const passed: Engine['passed'] = (position, waitMs) => state.waiters.wait(position, waitMs);
  const rowsPassed: Engine['passed'] = (position, waitMs) =>
    state.rowWaiters.wait(position, waitMs);

  return {
    passed,
    rowsPassed,
    ready: Promise.all([
      built,
      rowsPassed(head, Infinity),
      opened ?? true,
      // When its store fails, the catalog serves the products that it has.
      Promise.race([passed(head, Infinity), catalogFailed.promise]),
    ]).then((results) => results.every(Boolean)),
    position: () => state.reached(),
    asOf: () => ({ position: state.reached(), at: state.lastEventAt }),
    status: () => listStatuses(state),
    isFailing: () => state.context.isFailing === true,
    requiredCheckpoint(projection, scope) {
      const target = state.findTarget(projection);
      return target && requiredCheckpoint(target, partitionOf(scope));
    },
    completeUpTo(projection, scope, at) {
      const target = state.findTarget(projection);
      return target && completeUpTo(target, partitionOf(scope), at);
    },
    parkedFor: (projection, scope) => findParked(state, projection)?.get(partitionOf(scope)),
    adopt: (target) => adopt(state, target),
    reportFill: (projection, progress) => state.reportFill(projection, progress),
    recheck: () => recheck(state),
    done,
  };
};

/** Every read of a row calls this: compares names only where a partition is parked. */
const findParked = (
  { targets, lagging }: LoopState,
  name: string,
): FoldTarget['parked'] | undefined => {
  const isParked = ({ parked, projection }: FoldTarget): boolean =>
    parked.size > 0 && projection.name === name;
  return (targets.find(isParked) ?? lagging.find(isParked))?.parked;
};
