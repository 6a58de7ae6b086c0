/** The statements that read and write rows, in blocks. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  addHash,
  hashOf,
  removeHash,
  RowDamaged,
  type RowDigest,
  rowText,
} from '#src/stores/row-digest.ts';
import type { Row } from '#src/ports/read-model.ts';
import { prepareLists } from './list-statements.ts';
import type { Cell, CellPlace, StoredRow } from './read-model-buffer.ts';
import {
  blocksOf,
  CHARS_PER_BLOCK,
  decodeBlock,
  encodeBlock,
  lineOf,
  ROWS_PER_BLOCK_MIN,
} from './row-blocks.ts';
import { BLOCK_IDS, partOf, rowPlace, type RowRecord } from './row-records.ts';

/** Blocks in memory: some 10 MiB. */
const BLOCKS_MAX = 256;

/** A changed row that exists. */
type ChangedRow = { cell: Cell; place: string; hash: number; text: string };

/** The partition that is written, and its digest. */
type Target = { part: number; digest: RowDigest };

/** Reads and writes the rows of the file. */
export class RowStatements {
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
