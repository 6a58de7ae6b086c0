import type { Position } from '#src/ports/event-log.ts';

/** How far the read models follow the log. */
export type Following = {
  /** True once every read model has folded up to `position`; false when `waitMs` ran out first. */
  passed(position: Position, waitMs: number): Promise<boolean>;
  asOf(): { position: Position; at: number | null };
};
