/** The statements that read lists of rows. */
import type { DatabaseSync } from 'node:sqlite';
import {
  addHash,
  ALL_ROWS,
  entryHash,
  removeHash,
  type RowDigest,
} from '#src/stores/row-digest.ts';
import { type ListQuery, partitionOf } from '#src/ports/read-model.ts';
import type { Cell } from './read-model-buffer.ts';
import { partOf } from './row-records.ts';

/** Prepares every statement on lists once. */
export const prepareLists = (db: DatabaseSync) => {
  const inList = 'part = ? AND scope = ? AND list = ?';
  const prepareList = (order: string) => {
    const list = db.prepare(`
      SELECT key, sort FROM entries WHERE ${inList} AND sort >= ? AND (sort, key) < (?, ?)
      ORDER BY ${order} LIMIT ?`);
    // An object for each row costs as much as the row.
    list.setReturnArrays(true);
    return list;
  };
  const newest = prepareList('sort DESC, key DESC');
  const oldest = prepareList('sort, key');
  const add = db.prepare('INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?)');
  const remove = db.prepare(`DELETE FROM entries WHERE ${inList} AND sort = ? AND key = ?`);
  return {
    /** Returns key and sort of each row. */
    list(id: number, { scope, list = ALL_ROWS, limit, isAscending, ...range }: ListQuery) {
      const { before = Number.MAX_SAFE_INTEGER, downTo = Number.MIN_SAFE_INTEGER } = range;
      const rows = (isAscending ? oldest : newest).all(
        partOf(id, partitionOf(scope)),
        scope,
        list,
        downTo,
        before,
        range.beforeKey ?? '',
        limit,
      );
      return rows as unknown as [key: string, sort: number][];
    },
    /** Writes what changed in the lists of a row. */
    writeEntries(part: number, cell: Cell, digest: RowDigest): void {
      const { scope, key, row, sort, stored } = cell;
      const after = row === null ? null : sort;
      const before = stored?.sort ?? null;
      if (before !== after) {
        if (before !== null) remove.run(part, scope, ALL_ROWS, before, key);
        if (after !== null) add.run(part, scope, ALL_ROWS, after, key);
      }
      for (const { entry, isAdded } of cell.entries ?? []) {
        const { changes } = isAdded
          ? add.run(part, scope, ...entry, key)
          : remove.run(part, scope, ...entry, key);
        if (changes === 0) continue;
        (isAdded ? addHash : removeHash)(digest, entryHash(scope, key, entry));
      }
    },
  };
};
