import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import type { RowJson } from '#src/ports/read-model.ts';
import type { Partition } from './read-model.ts';

/** Rows whose text is made in one turn of the event loop. */
const ROWS_IN_TURN = 100;

/** Reads the rows in turns, and again in one turn if a commit changed them meanwhile. */
export const readPartition = async (
  partition: Partition | undefined,
  rowsInTurn = ROWS_IN_TURN,
): Promise<{ checkpoint: Position; rows: RowJson[] }> => {
  if (!partition) return { checkpoint: 0, rows: [] };
  const { checkpoint, scopes } = partition;
  const rows: RowJson[] = [];
  for (const [scope, { key, row, rows: several }] of scopes)
    for (const [own, value] of several ?? [[key, row] as const]) {
      if (rows.length % rowsInTurn === rowsInTurn - 1) await nextTurn();
      rows.push({ scope, key: own, json: JSON.stringify(value) });
    }
  const isUnchanged = partition.checkpoint === checkpoint;
  return isUnchanged ? { checkpoint, rows } : readPartition(partition, Infinity);
};
