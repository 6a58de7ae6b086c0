/** Reads the rows of a file of read models from another thread. */
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { PARTITIONS, type RowJson, type RowsReader } from '#src/ports/read-model.ts';
import { queryValue } from '#src/stores/sqlite/open.ts';
import { partOf, rowsOfPartition, urlOfCache } from './read-model-file.ts';

/** How long rows are read in one turn of the event loop; how many that are depends on their size. */
const TURN_MS = 1;
const ROWS_BETWEEN = 32;

/**
 * Reads rows as the file of a store has them, in any thread of the store's process, while the store writes. One partition can
 * be read at a time.
 */
export const openRows = (file: string): RowsReader & Disposable => {
  const db = new DatabaseSync(urlOfCache(file), { readOnly: true });
  const id = db.prepare('SELECT id FROM spaces WHERE space = ?');
  const live = db.prepare('SELECT space FROM live WHERE name = ?');
  const checkpoint = db.prepare('SELECT position FROM checkpoints WHERE part = ?');
  // No space has the number -1.
  const idOf = (space: string): number => Number(id.get(space)?.['id'] ?? -1);
  return {
    async spaces(name) {
      const space = live.get(name)?.['space'];
      return { live: space === undefined ? null : String(space) };
    },
    async count(space) {
      const first = partOf(idOf(space), 0);
      const range = `part BETWEEN ${first} AND ${first + PARTITIONS - 1}`;
      return Number(queryValue(db, `SELECT sum(rows) FROM checkpoints WHERE ${range}`) ?? 0);
    },
    async partitionRows(space, partition) {
      const rows: RowJson[] = [];
      // The file does not change for the reader until the end of the transaction.
      db.exec('BEGIN');
      try {
        const part = partOf(idOf(space), partition);
        const position = Number(checkpoint.get(part)?.['position'] ?? 0);
        let end = performance.now() + TURN_MS;
        for (const row of rowsOfPartition(db, part)) {
          rows.push(row);
          if (rows.length % ROWS_BETWEEN > 0 || performance.now() < end) continue;
          await turn();
          end = performance.now() + TURN_MS;
        }
        return { checkpoint: position, rows };
      } finally {
        db.exec('COMMIT');
      }
    },
    [Symbol.dispose]: () => db.close(),
  };
};
