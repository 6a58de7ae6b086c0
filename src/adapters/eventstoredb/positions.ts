/** Conversion between the port's positions and EventStoreDB's, which are byte offsets. */
import { type ReadPosition, START } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';

/**
 * Converts a commit position, which identifies a record: prepare positions differ from it only in
 * transactions of the old TCP protocol. Throws RangeError above 2^53, where a number would be
 * rounded, and for the largest integer, by which servers say that they have no position.
 */
export const positionOf = (commit: bigint | undefined): Position => {
  if (commit === undefined || commit < 0n || commit > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`commit position ${commit} is not an exact number`);
  }
  return Number(commit);
};

/** Where a read or a subscription starts. Reads include that record, subscriptions do not. */
export const startAt = (after: Position): ReadPosition | typeof START => {
  if (after <= 0) return START;
  const commit = BigInt(after);
  return { commit, prepare: commit };
};

export const positionOfEvent = ({ position }: { position?: { commit: bigint } }): Position =>
  positionOf(position?.commit);
