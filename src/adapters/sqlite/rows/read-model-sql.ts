import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '#src/ports/event-log.ts';
import type { ListQuery, Row, Space } from '#src/ports/read-model.ts';
import { inTransaction } from '../database.ts';
import type { Cell, CellPlace } from './read-model-buffer.ts';

const AT_PLACE = 'space_id = ? AND partition = ? AND scope = ? AND key = ?';

export type RowText = { scope: string; key: string; text: string };

/** Prepares every statement on rows once. */
const prepareRowStatements = (db: DatabaseSync) => {
  const get = db.prepare(`SELECT sort, row FROM rows WHERE ${AT_PLACE}`);
  const list = db.prepare(`
    SELECT key, sort FROM rows WHERE space_id = ? AND scope = ? AND sort IS NOT NULL AND sort < ?
      AND sort >= ?
    ORDER BY sort DESC LIMIT ?`);
  // An object for each row costs as much as the row.
  list.setReturnArrays(true);
  const partitionRows = db.prepare(`
    SELECT scope, key, row AS text FROM rows WHERE space_id = ? AND partition = ?
    ORDER BY scope, key`);
  const put = db.prepare(`
    INSERT INTO rows (space_id, partition, scope, key, sort, row) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET row = excluded.row`);
  const remove = db.prepare(`DELETE FROM rows WHERE ${AT_PLACE}`);
  const count = db.prepare('SELECT count(*) AS rows FROM rows WHERE space_id = ?');
  const removeAll = db.prepare('DELETE FROM rows WHERE space_id = ? AND partition = ?');
  return {
    row({ id, partition, scope, key }: CellPlace) {
      const row = get.get(id, partition, scope, key) as { sort: number; row: string } | undefined;
      return row && { sort: row.sort, row: JSON.parse(row.row) as Row };
    },
    /** Returns key and sort of each row, in falling order of `sort`. */
    list(id: number, { scope, before, downTo, limit }: ListQuery) {
      const [below, from] = [before ?? Number.MAX_SAFE_INTEGER, downTo ?? Number.MIN_SAFE_INTEGER];
      return list.all(id, scope, below, from, limit) as unknown as [key: string, sort: number][];
    },
    count: (id: number): number => Number(count.get(id)?.['rows']),
    rowsIn: (id: number, partition: number) =>
      partitionRows.iterate(id, partition) as Iterable<RowText>,
    write({ id, partition, scope, key, row, sort, isRenewed }: Cell): void {
      if (row === null || isRenewed) remove.run(id, partition, scope, key);
      if (row !== null) put.run(id, partition, scope, key, sort, JSON.stringify(row));
    },
    dropRows: (id: number, partition: number) => removeAll.run(id, partition),
  };
};

/** Every statement of the read models' file. */
export const prepareStatements = (db: DatabaseSync) => {
  const move = db.prepare(`
    INSERT INTO checkpoints (space_id, partition, position) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET position = excluded.position`);
  const checkpoints = db.prepare('SELECT partition, position FROM checkpoints WHERE space_id = ?');
  const addSpace = db.prepare('INSERT INTO spaces (space) VALUES (?)');
  const setLive = db.prepare(`
    INSERT INTO live (name, space) VALUES (?, ?) ON CONFLICT DO UPDATE SET space = excluded.space`);
  const transaction = (write: () => void): void => inTransaction(db, write);
  return {
    ...prepareRowStatements(db),
    transaction,
    moveCheckpoint: (id: number, partition: number, position: Position) =>
      move.run(id, partition, position),
    checkpoints: (id: number) => checkpoints.all(id) as { partition: number; position: Position }[],
    addSpace: (space: Space): number => Number(addSpace.run(space).lastInsertRowid),
    allSpaces() {
      const rows = db.prepare('SELECT id, space FROM spaces ORDER BY id').all();
      return rows as { id: number; space: Space }[];
    },
    allLive: () =>
      db.prepare('SELECT name, space FROM live').all() as { name: string; space: Space }[],
    goLive: (name: string, space: Space) => setLive.run(name, space),
    dropSpace(id: number, space: Space): void {
      transaction(() => {
        db.prepare('DELETE FROM spaces WHERE id = ?').run(id);
        db.prepare('DELETE FROM live WHERE space = ?').run(space);
        db.prepare('DELETE FROM checkpoints WHERE space_id = ?').run(id);
      });
    },
  };
};
