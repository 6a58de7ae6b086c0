/** Reads the rows of a file of read models from another thread. */
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { PARTITIONS, type RowJson, type RowsReader, type Space } from '#src/ports/read-model.ts';
import { queryValue } from '#src/stores/sqlite/open.ts';
import { partOf, rowsOfPartition, urlOfCache } from './read-model-file.ts';

/** How long rows are read in one turn of the event loop; how many that are depends on their size. */
const TURN_MS = 1;
const ROWS_BETWEEN = 32;

/**
 * Reads rows as the files of a store have them, in any thread of the store's process, while the store writes. One partition
 * can be read at a time.
 */
export const openRows = (files: readonly string[]): RowsReader & Disposable => {
  const readers = files.map(openFile);
  /** The last file that has the space: a build is filled in a later one. */
  const readerOf = (space: Space) => readers.findLast(({ idOf }) => idOf(space) !== undefined);
  return {
    async spaces(name) {
      // A switch marks the new space first.
      return { live: readers.findLast(({ live }) => live(name) !== null)?.live(name) ?? null };
    },
    count: async (space) => readerOf(space)?.count(space) ?? 0,
    partitionRows: async (space, partition) =>
      (await readerOf(space)?.partitionRows(space, partition)) ?? { checkpoint: 0, rows: [] },
    [Symbol.dispose]: () => {
      for (const { db } of readers) db.close();
    },
  };
};

const openFile = (file: string) => {
  const db = new DatabaseSync(urlOfCache(file), { readOnly: true });
  const id = db.prepare('SELECT id FROM spaces WHERE space = ?');
  const live = db.prepare('SELECT space FROM live WHERE name = ?');
  const checkpoint = db.prepare('SELECT position FROM checkpoints WHERE part = ?');
  const idOf = (space: Space): number | undefined => {
    const found = id.get(space)?.['id'];
    return found === undefined ? undefined : Number(found);
  };
  return {
    db,
    idOf,
    live: (name: string): Space | null => {
      const space = live.get(name)?.['space'];
      return space === undefined ? null : String(space);
    },
    count(space: Space): number {
      const first = partOf(idOf(space) ?? -1, 0);
      const range = `part BETWEEN ${first} AND ${first + PARTITIONS - 1}`;
      return Number(queryValue(db, `SELECT sum(rows) FROM checkpoints WHERE ${range}`) ?? 0);
    },
    async partitionRows(space: Space, partition: number) {
      const rows: RowJson[] = [];
      // The file does not change for the reader until the end of the transaction.
      db.exec('BEGIN');
      try {
        const part = partOf(idOf(space) ?? -1, partition);
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
  };
};
