import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { GenerationCache } from '#src/adapters/generation-cache.ts';
import {
  addHash,
  hashOf,
  removeHash,
  RowDamaged,
  type RowDigest,
  rowText,
} from '#src/adapters/row-digest.ts';
import type { Row } from '#src/ports/read-model.ts';
import { prepareLists } from './list-statements.ts';
import type { Cell, CellPlace, StoredRow } from './read-model-buffer.ts';
import { blocksOf, decodeBlock, encodeBlock, lineOf, ROWS_PER_BLOCK_MIN } from './row-blocks.ts';
import { BLOCK_IDS, partOf, rowPlace, type RowRecord } from './row-records.ts';

/** Blocks in memory: some 10 MiB. */
const BLOCKS_MAX = 256;

type RowToPack = { place: string; hash: number; text: string };

/** Reads and writes the rows of the file. */
export class RowStatements {
  readonly lists: ReturnType<typeof prepareLists>;
  readonly #get: StatementSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #getBlock: StatementSync;
  readonly #addBlock: StatementSync;
  readonly #lastBlock: StatementSync;
  readonly #blocks = new GenerationCache<number, string>(BLOCKS_MAX);

  constructor(db: DatabaseSync) {
    this.lists = prepareLists(db);
    this.#get = db.prepare('SELECT hash, block, text FROM rows WHERE part = ? AND place = ?');
    this.#put = db.prepare(`
      INSERT INTO rows (part, place, hash, block, text) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET hash = excluded.hash, block = excluded.block, text = excluded.text`);
    this.#remove = db.prepare('DELETE FROM rows WHERE part = ? AND place = ?');
    this.#getBlock = db.prepare('SELECT data FROM blocks WHERE id = ?');
    this.#addBlock = db.prepare('INSERT INTO blocks VALUES (?, ?)');
    this.#lastBlock = db.prepare('SELECT max(id) AS id FROM blocks WHERE id BETWEEN ? AND ?');
  }

  /** Throws RowDamaged if a record is not what was written. */
  read({ id, partition, scope, key }: CellPlace): (StoredRow & { row: Row }) | undefined {
    const record = this.#get.get(partOf(id, partition), rowPlace(scope, key)) as
      | RowRecord
      | undefined;
    if (!record) return undefined;
    const { hash, block } = record;
    const text = block === null ? record.text : lineOf(this.#blockAt(block), scope, key);
    if (typeof text !== 'string' || hashOf(text) !== hash)
      throw new RowDamaged('the hash of a row does not fit');
    const stored = JSON.parse(text) as [string, string, number | null, Row];
    if (stored[0] !== scope || stored[1] !== key) throw new RowDamaged('a row is in a wrong place');
    return { hash, sort: stored[2], row: stored[3] };
  }

  /** Writes changed rows of a partition, and adds them to its digest. */
  write(part: number, cells: readonly Cell[], digest: RowDigest): void {
    const packed: RowToPack[] | undefined = cells.length < ROWS_PER_BLOCK_MIN ? undefined : [];
    for (const cell of cells) {
      const { scope, key, sort, row } = cell;
      const place = rowPlace(scope, key);
      const stored = cell.stored === undefined ? (this.read(cell) ?? null) : cell.stored;
      cell.stored = stored;
      cell.written = null;
      if (stored) removeHash(digest, stored.hash);
      digest.rows += (row === null ? 0 : 1) - (stored ? 1 : 0);
      this.lists.writeEntries(part, cell, digest);
      if (row === null) {
        if (stored) this.#remove.run(part, place);
        continue;
      }
      const text = rowText(cell, sort, JSON.stringify(row));
      const hash = hashOf(text);
      addHash(digest, hash);
      cell.written = { hash, sort };
      if (packed) packed.push({ place, hash, text });
      else this.#put.run(part, place, hash, null, text);
    }
    if (packed) this.#pack(part, packed);
  }

  /** Must be called when blocks are removed, whose numbers are used again. */
  forgetBlocks(): void {
    this.#blocks.clear();
  }

  #pack(part: number, rows: RowToPack[]): void {
    const first = part * BLOCK_IDS;
    const last = this.#lastBlock.get(first, first + BLOCK_IDS - 1)?.['id'];
    let id = typeof last === 'number' ? last + 1 : first;
    // Rows of one scope are alike.
    for (const block of blocksOf(rows.sort((a, b) => (a.text < b.text ? -1 : 1)))) {
      this.#addBlock.run(id, encodeBlock(block));
      for (const { place, hash } of block) this.#put.run(part, place, hash, id, null);
      id += 1;
    }
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
