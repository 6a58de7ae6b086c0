/** The SQL of views.db: rows in blocks, lists, checkpoints and spaces. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  addHash,
  ALL_ROWS,
  entryHash,
  hashOf,
  noRows,
  removeHash,
  RowDamaged,
  type RowDigest,
  rowText,
} from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { type ListQuery, partitionOf, type Row, type Space } from '#src/ports/read-model.ts';
import { inTransaction } from '#src/stores/sqlite/open.ts';
import type { Cell, CellPlace, StoredRow } from './read-model-buffer.ts';
import {
  BLOCK_IDS,
  blocksOf,
  CHARS_PER_BLOCK,
  decodeBlock,
  encodeBlock,
  lineOf,
  partOf,
  rowPlace,
  type RowRecord,
  ROWS_PER_BLOCK_MIN,
} from './row-blocks.ts';
import { prepareCheck } from './row-check.ts';

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

/** Blocks in memory: some 10 MiB. */
const BLOCKS_MAX = 256;

/** A changed row that exists. */
type ChangedRow = { cell: Cell; place: string; hash: number; text: string };

/** The partition that is written, and its digest. */
type Target = { part: number; digest: RowDigest };

/** Reads and writes the rows of the file. */
class RowStatements {
  readonly lists: ReturnType<typeof prepareLists>;
  readonly #get: StatementSync;
  readonly #add: StatementSync;
  readonly #replace: StatementSync;
  readonly #remove: StatementSync;
  readonly #getBlock: StatementSync;
  readonly #addBlock: StatementSync;
  readonly #lastBlock: StatementSync;
  readonly #blocks = new GenerationCache<number, string>(BLOCKS_MAX);

  constructor(db: DatabaseSync) {
    this.lists = prepareLists(db);
    this.#get = db.prepare('SELECT hash, block, text FROM rows WHERE part = ? AND place = ?');
    const insert = 'INSERT INTO rows (part, place, hash, block, text) VALUES (?, ?, ?, ?, ?)';
    this.#add = db.prepare(`${insert} ON CONFLICT DO NOTHING`);
    this.#replace = db.prepare(`${insert}
      ON CONFLICT DO UPDATE SET hash = excluded.hash, block = excluded.block, text = excluded.text`);
    this.#remove = db.prepare('DELETE FROM rows WHERE part = ? AND place = ?');
    this.#getBlock = db.prepare('SELECT data FROM blocks WHERE id = ?');
    this.#addBlock = db.prepare('INSERT INTO blocks VALUES (?, ?)');
    this.#lastBlock = db.prepare('SELECT max(id) AS id FROM blocks WHERE id BETWEEN ? AND ?');
  }

  /** Throws RowDamaged if a record is not what was written. */
  read(
    { id, partition, scope, key }: CellPlace,
    place = rowPlace(scope, key),
  ): (StoredRow & { row: Row; isLarge: boolean }) | undefined {
    const record = this.#get.get(partOf(id, partition), place) as RowRecord | undefined;
    if (!record) return undefined;
    const { hash, block } = record;
    const text = block === null ? record.text : lineOf(this.#blockAt(block), scope, key);
    if (typeof text !== 'string' || hashOf(text) !== hash)
      throw new RowDamaged('the hash of a row does not fit');
    const stored = JSON.parse(text) as [string, string, number | null, Row];
    if (stored[0] !== scope || stored[1] !== key) throw new RowDamaged('a row is in a wrong place');
    return { hash, sort: stored[2], row: stored[3], isLarge: text.length >= CHARS_PER_BLOCK };
  }

  /** Writes changed rows of a partition, and adds them to its digest. */
  write(part: number, cells: readonly Cell[], digest: RowDigest): void {
    const target = { part, digest };
    const hasBlocks = cells.length >= ROWS_PER_BLOCK_MIN;
    const packed: ChangedRow[] = [];
    for (const cell of cells) {
      const { scope, key, sort, row } = cell;
      const place = rowPlace(scope, key);
      if (row === null) {
        this.#findStored(cell, place);
        if (cell.stored) this.#remove.run(part, place);
        this.#count(target, cell, null);
      } else {
        const text = rowText(cell, sort, JSON.stringify(row));
        const changed = { cell, place, hash: hashOf(text), text };
        if (hasBlocks && text.length < CHARS_PER_BLOCK) packed.push(changed);
        else this.#put(target, changed, null);
      }
    }
    if (packed.length > 0) this.#pack(target, packed);
  }

  /** Must be called when blocks are removed, whose numbers are used again. */
  forgetBlocks(): void {
    this.#blocks.clear();
  }

  #pack(target: Target, rows: ChangedRow[]): void {
    const first = target.part * BLOCK_IDS;
    const last = this.#lastBlock.get(first, first + BLOCK_IDS - 1)?.['id'];
    let id = typeof last === 'number' ? last + 1 : first;
    // Rows of one scope are alike.
    for (const block of blocksOf(rows.sort((a, b) => (a.text < b.text ? -1 : 1)))) {
      this.#addBlock.run(id, encodeBlock(block));
      for (const row of block) this.#put(target, row, id);
      id += 1;
    }
  }

  /** Writes a row by itself, or the number of the block that has it. */
  #put(target: Target, { cell, place, hash, text }: ChangedRow, block: number | null): void {
    const record = [target.part, place, hash, block, block === null ? text : null] as const;
    // A row that was never read is nearly always new: adding it shows that, so it is not read first.
    if (cell.stored === undefined && this.#add.run(...record).changes > 0) cell.stored = null;
    else {
      this.#findStored(cell, place);
      this.#replace.run(...record);
    }
    this.#count(target, cell, { hash, sort: cell.sort });
  }

  #findStored(cell: Cell, place: string): void {
    if (cell.stored === undefined) cell.stored = this.read(cell, place) ?? null;
  }

  /** Changes the digest and the lists by what is written of a row. */
  #count({ part, digest }: Target, cell: Cell, written: StoredRow | null): void {
    if (cell.stored) removeHash(digest, cell.stored.hash);
    if (written) addHash(digest, written.hash);
    digest.rows += (written ? 1 : 0) - (cell.stored ? 1 : 0);
    this.lists.writeEntries(part, cell, digest);
    cell.written = written;
  }

  #blockAt(id: number): string {
    const cached = this.#blocks.get(id);
    if (cached !== undefined) return cached;
    const data = this.#getBlock.get(id)?.['data'];
    const text = data instanceof Uint8Array ? decodeBlock(data) : '';
    this.#blocks.set(id, text);
    return text;
  }
}

/** Prepares every statement on lists once. */
const prepareLists = (db: DatabaseSync) => {
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
