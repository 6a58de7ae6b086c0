/** The statements that read log.db. They check nothing. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Position } from '#src/ports/event-log.ts';
import { readLogFile } from '#src/stores/sqlite/failure.ts';
import {
  FOLD_COLUMNS,
  type FoldRow,
  FULL_COLUMNS,
  type FullRow,
  SLICE_BITS,
} from './log-records.ts';

/** Ends with `meta.v` if an upcast needs it. */
export type FoldRowV = [...FoldRow, v?: number];

/** Rows as arrays: building an object for each row costs as much as reading it. */
const prepareRows = <Row>(db: DatabaseSync, sql: string) => {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return (...values: SQLInputValue[]): Row[] =>
    readLogFile(() => statement.all(...values)) as unknown as Row[];
};

/** Prepares the reads of log.db; those of a fold have `meta.v` if there are upcasts. */
export const prepareReads = (db: DatabaseSync, hasUpcasts: boolean) => {
  const prepareFull = (where: string) =>
    prepareRows<FullRow>(db, `SELECT ${FULL_COLUMNS} FROM events ${where}`);
  // The versions are read only if an upcast needs them.
  const version = hasUpcasts ? ", meta ->> '$.v'" : '';
  const foldColumns = `${FOLD_COLUMNS}${version}`;
  // The join reads the slices in order and each slice by position, so no sorting is needed.
  const prepareOwner = <Row>(columns: string) =>
    prepareRows<Row>(
      db,
      `WITH RECURSIVE slices (slice) AS (
         SELECT ?1 UNION ALL SELECT slice + 1 FROM slices WHERE slice < ?2
       )
       SELECT ${columns} FROM slices CROSS JOIN events INDEXED BY events_owner
       ON position >> ${SLICE_BITS} = slice AND owner = ?3
       WHERE position > ?4 AND position <= ?5 LIMIT ?6`,
    );
  return {
    byPosition: prepareFull('WHERE position > ? ORDER BY position LIMIT ?'),
    byType: prepareFull(
      `WHERE position > ? AND position <= ? AND type IN (SELECT value FROM json_each(?))
       ORDER BY position LIMIT ?`,
    ),
    byOwner: prepareOwner<FullRow>(FULL_COLUMNS),
    foldsByOwner: prepareOwner<FoldRowV>(foldColumns),
    backInSlice: prepareFull(
      `INDEXED BY events_owner
       WHERE position >> ${SLICE_BITS} = ? AND owner = ? AND position <= ?
       ORDER BY position DESC LIMIT ?`,
    ),
    byStream: prepareFull('WHERE stream_id = ? AND revision BETWEEN ? AND ? ORDER BY revision'),
    // One JSON.parse over many joined rows was measured to be no faster than one per row.
    folds: prepareRows<FoldRowV>(
      db,
      `SELECT ${foldColumns} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
    ),
    seal: prepareRows<[number]>(db, 'SELECT seal FROM events WHERE position = ?'),
    stream: prepareRows<[string]>(db, 'SELECT stream FROM events WHERE position = ?'),
  };
};

export const sliceOf = (position: Position): number => Math.floor(position / 2 ** SLICE_BITS);
