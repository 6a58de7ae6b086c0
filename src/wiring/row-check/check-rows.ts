import { checkAllRows } from '#projections/row-check/all-rows.ts';
import type { RowCheck, RowCheckOptions } from '#projections/row-check/difference.ts';
import { checkOwnerRows } from '#projections/row-check/owner-rows.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { foldPages } from '#src/app/audit/replays.ts';
import type { CheckedRows } from '#src/app/read-models/projection-desk.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';

/** Compares live rows with a fold of the log. */
export type CheckRows = (
  rows: CheckedRows,
  onProgress: (position: Position, rows: number) => void,
) => Promise<RowCheck>;

type Stores = Pick<RowCheckOptions, 'storeOf'> & {
  log: Pick<EventLog, 'readFold' | 'readOwnerFold' | 'head'>;
};

export const rowCheckOf =
  ({ log, storeOf }: Stores): CheckRows =>
  ({ owner, sample }, onProgress) => {
    const options = { log, storeOf, sample, onProgress };
    return owner === undefined
      ? checkAllRows(options, memoryStore)
      : checkOwnerRows(owner, options, (range) => foldPages(log, owner, range));
  };
