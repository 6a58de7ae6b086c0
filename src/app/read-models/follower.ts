import type { Position } from '#src/ports/event-log.ts';

/** How far the read models follow the log. */
export type Following = {
  /**
   * True once every read model has folded up to `position`; false when `waitMs` ran out first. Where
   * another process folds, it is waited for in this scope only: without one, true says that this
   * process knows what happened, and shows no rows from before it. Of a parked partition it shows
   * none at all, so nobody waits for that.
   */
  passed(position: Position, waitMs: number, scope?: string): Promise<boolean>;
  asOf(): { position: Position; at: number | null };
};
