import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '#src/ports/event-log.ts';
import { type ListQuery, partitionOf, type Row, type Space } from '#src/ports/read-model.ts';
import { inTransaction } from '../database.ts';
import { type Cell, type CellPlace, changedEntries } from './read-model-buffer.ts';

const AT_PLACE = 'space_id = ? AND partition = ? AND scope = ? AND key = ?';

export type RowText = { scope: string; key: string; text: string };
export type EntryPlace = readonly [scope: string, list: string, sort: number, key: string];

const IN_LIST = 'space_id = ? AND partition = ? AND scope = ? AND list = ?';
const IN_SCOPE = 'space_id = ? AND scope = ? AND sort IS NOT NULL';

/** Prepares the statement that returns key and sort of some rows in the order of a list. */
const prepareList = (db: DatabaseSync, from: string, order: string) => {
  const list = db.prepare(`
    SELECT key, sort FROM ${from} AND sort >= ? AND (sort, key) < (?, ?) ORDER BY ${order} LIMIT ?`);
  // An object for each row costs as much as the row.
  list.setReturnArrays(true);
  return list;
};

/** Prepares every statement on lists. */
const prepareListStatements = (db: DatabaseSync) => {
  const entries = `entries WHERE ${IN_LIST}`;
  const newestIn = prepareList(db, entries, 'sort DESC, key DESC');
  const oldestIn = prepareList(db, entries, 'sort, key');
  const newest = prepareList(db, `rows WHERE ${IN_SCOPE}`, 'sort DESC');
  const add = db.prepare('INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?, ?)');
  const remove = db.prepare(`DELETE FROM entries WHERE ${IN_LIST} AND sort = ? AND key = ?`);
  const all = db.prepare(`
    SELECT scope, list, sort, key FROM entries WHERE space_id = ? AND partition = ?
    ORDER BY scope, list, sort, key`);
  all.setReturnArrays(true);
  return {
    /** Returns key and sort of each row. */
    list(id: number, { scope, list, limit, isAscending, ...range }: ListQuery) {
      const { before = Number.MAX_SAFE_INTEGER, downTo = Number.MIN_SAFE_INTEGER } = range;
      const args = [downTo, before, range.beforeKey ?? '', limit];
      const rows =
        list === undefined
          ? newest.all(id, scope, ...args)
          : (isAscending ? oldestIn : newestIn).all(id, partitionOf(scope), scope, list, ...args);
      return rows as unknown as [key: string, sort: number][];
    },
    writeEntries(cell: Cell): void {
      const { id, partition, scope, key } = cell;
      for (const { entry, isAdded } of changedEntries(cell))
        (isAdded ? add : remove).run(id, partition, scope, ...entry, key);
    },
    entriesIn: (id: number, partition: number) =>
      all.iterate(id, partition) as Iterable<unknown> as Iterable<EntryPlace>,
  };
};

/** Prepares every statement on rows once. */
const prepareRowStatements = (db: DatabaseSync) => {
  const get = db.prepare(`SELECT sort, row FROM rows WHERE ${AT_PLACE}`);
  const partitionRows = db.prepare(`
    SELECT scope, key, row AS text FROM rows WHERE space_id = ? AND partition = ?
    ORDER BY scope, key`);
  const put = db.prepare(`
    INSERT INTO rows (space_id, partition, scope, key, sort, row) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET row = excluded.row`);
  const remove = db.prepare(`DELETE FROM rows WHERE ${AT_PLACE}`);
  const count = db.prepare('SELECT count(*) AS rows FROM rows WHERE space_id = ?');
  const removeAll = db.prepare('DELETE FROM rows WHERE space_id = ? AND partition = ?');
  const removeAllEntries = db.prepare('DELETE FROM entries WHERE space_id = ? AND partition = ?');
  const lists = prepareListStatements(db);
  return {
    row({ id, partition, scope, key }: CellPlace) {
      const row = get.get(id, partition, scope, key) as { sort: number; row: string } | undefined;
      return row && { sort: row.sort, row: JSON.parse(row.row) as Row };
    },
    count: (id: number): number => Number(count.get(id)?.['rows']),
    rowsIn: (id: number, partition: number) =>
      partitionRows.iterate(id, partition) as Iterable<RowText>,
    write(cell: Cell): void {
      const { id, partition, scope, key, row, sort, isRenewed } = cell;
      if (row === null || isRenewed) remove.run(id, partition, scope, key);
      if (row !== null) put.run(id, partition, scope, key, sort, JSON.stringify(row));
      if (cell.entries) lists.writeEntries(cell);
    },
    dropRows(id: number, partition: number): void {
      removeAll.run(id, partition);
      removeAllEntries.run(id, partition);
    },
    list: lists.list,
    entriesIn: lists.entriesIn,
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
