/** Conversion between the port's positions and EventStoreDB's, which are byte offsets. */
import type { Position } from '#src/ports/event-log.ts';

/**
 * Converts a commit position, which identifies a record: prepare positions differ from it only in
 * transactions of the old TCP protocol. Throws RangeError above 2^53, where a number would be
 * rounded, and for the largest integer, by which servers say that they have no position.
 */
export const positionOf = (commit: bigint | undefined): Position => exactPosition(Number(commit));

/** Returns the number if no other position is rounded to it. Throws RangeError. */
export const exactPosition = (commit: number): Position => {
  if (!Number.isSafeInteger(commit) || commit < 0)
    throw new RangeError(`commit position ${commit} is not an exact number`);
  return commit;
};
