/** Positions of the port on EventStoreDB's: byte offsets of its log, as numbers. */
import { type ReadPosition, START } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';

/**
 * The commit position alone tells records apart: only transactions of the old TCP protocol had
 * another prepare position. Throws RangeError beyond 2^53, where a number would round, and where a
 * server hands out no position at all (its largest integer).
 */
export const positionOf = (commit: bigint | undefined): Position => {
  if (commit === undefined || commit < 0n || commit > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`commit position ${commit} cannot be told exactly as a number`);
  }
  return Number(commit);
};

/** Where a read or a subscription begins. Reads begin with that record, subscriptions after it. */
export const startAt = (after: Position): ReadPosition | typeof START => {
  if (after <= 0) return START;
  const commit = BigInt(after);
  return { commit, prepare: commit };
};

export const positionOfEvent = ({ position }: { position?: { commit: bigint } }): Position =>
  positionOf(position?.commit);
