import type { Position } from './event-log.ts';

/** How far the read models follow the log. */
export type ReadModelFollower = {
  /**
   * Resolves to true once every read model has folded the log up to `position`, and to false after
   * `waitMs`. In a process that does not fold, it waits for `scope` only; without a scope, true means
   * that this process knows the position and shows no older rows. Parked partitions are not awaited,
   * because their rows are not shown.
   */
  passed(position: Position, waitMs: number, scope?: string): Promise<boolean>;
  asOf(): { position: Position; at: number | null };
  /**
   * Names the read models of this process whose rows cannot be read now, because their file is being filled or the disk
   * fails. Requests need them, so the process is not ready.
   */
  unreadable?(): string[];
};
