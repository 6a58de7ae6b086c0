/** The SQL of views.db. */
import type { DatabaseSync } from 'node:sqlite';
import { hashOf, noRows, type RowDigest } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { ListQuery, Space } from '#src/ports/read-model.ts';
import { inTransaction } from '#src/stores/sqlite/open.ts';
import type { Cell, CellPlace } from './read-model-buffer.ts';
import { prepareCheck } from './row-check.ts';
import { BLOCK_IDS, partOf } from './row-records.ts';
import { RowStatements } from './row-statements.ts';

/** Every statement of the read models' file. */
export const prepareStatements = (db: DatabaseSync) => {
  const rows = new RowStatements(db);
  const check = prepareCheck(db);
  const move = db.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)');
  const checkpoint = db.prepare('SELECT * FROM checkpoints WHERE part = ?');
  const addSpace = db.prepare('INSERT INTO spaces (space) VALUES (?)');
  const setLive = db.prepare(`
    INSERT INTO live (name, space) VALUES (?, ?) ON CONFLICT DO UPDATE SET space = excluded.space`);
  const transaction = (write: () => void): void => inTransaction(db, write);
  const removals = [
    'DELETE FROM rows WHERE part = ?1',
    'DELETE FROM entries WHERE part = ?1',
    `DELETE FROM blocks WHERE id BETWEEN ?1 * ${BLOCK_IDS} AND (?1 + 1) * ${BLOCK_IDS} - 1`,
    'DELETE FROM checkpoints WHERE part = ?1',
  ].map((text) => db.prepare(text));
  return {
    row: (place: CellPlace) => rows.read(place),
    list: (id: number, query: ListQuery) => rows.lists.list(id, query),
    write: ({ id, partition }: PartitionPlace, cells: readonly Cell[], digest: RowDigest): void =>
      rows.write(partOf(id, partition), cells, digest),
    transaction,
    moveCheckpoint(id: number, partition: number, at: PartitionRecord): void {
      const { position, rows: count, sum } = at;
      const part = partOf(id, partition);
      move.run(part, position, count, sum, recordHash(part, at));
    },
    /** Returns the record of a partition; undefined if it is damaged. */
    checkpoint(id: number, partition: number): PartitionRecord | undefined {
      const part = partOf(id, partition);
      const record = checkpoint.get(part) as (PartitionRecord & { hash: number }) | undefined;
      if (!record) return { position: 0, ...noRows() };
      return recordHash(part, record) === record.hash ? record : undefined;
    },
    check: (id: number, partition: number, written: RowDigest): void =>
      check(partOf(id, partition), written),
    addSpace: (space: Space): number => Number(addSpace.run(space).lastInsertRowid),
    allSpaces() {
      const all = db.prepare('SELECT id, space FROM spaces ORDER BY id').all();
      return all as { id: number; space: Space }[];
    },
    allLive: () =>
      db.prepare('SELECT name, space FROM live').all() as { name: string; space: Space }[],
    goLive: (name: string, space: Space) => setLive.run(name, space),
    dropSpace(id: number, space: Space): void {
      transaction(() => {
        db.prepare('DELETE FROM spaces WHERE id = ?').run(id);
        db.prepare('DELETE FROM live WHERE space = ?').run(space);
      });
    },
    dropPartition(id: number, partition: number): void {
      rows.forgetBlocks();
      transaction(() => {
        for (const removal of removals) removal.run(partOf(id, partition));
      });
    },
  };
};

type PartitionPlace = Pick<CellPlace, 'id' | 'partition'>;

/** The checkpoint of a partition, and what it has. */
export type PartitionRecord = RowDigest & { position: Position };

const recordHash = (part: number, { position, rows, sum }: PartitionRecord): number =>
  hashOf(JSON.stringify([part, position, rows, sum]));
