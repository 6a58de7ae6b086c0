import type { DatabaseSync } from 'node:sqlite';
import { RowOrder } from './row-order.ts';

/** The orders that the file's indexes have, with the rank of each row by row. */
export class Ranks {
  readonly #ids: RowOrder;
  readonly #titles: RowOrder;
  readonly #selectName;
  readonly #selectUpToId;
  readonly #selectUpToTitle;

  constructor(db: DatabaseSync) {
    this.#ids = new RowOrder(db, ['product_id']);
    this.#titles = new RowOrder(db, ['title_words', 'product_id']);
    this.#selectName = db.prepare(
      'select product_id as id, title_words as title from product where row = ?',
    );
    this.#selectUpToId = db.prepare(
      'select row from product where product_id <= ? order by product_id desc limit 1',
    );
    this.#selectUpToTitle = db.prepare(
      `select row from product where (title_words, product_id) <= (?, ?)
       order by title_words desc, product_id desc limit 1`,
    );
  }

  get byId(): Float64Array {
    return this.#ids.ranks;
  }

  get byTitle(): Float64Array {
    return this.#titles.ranks;
  }

  /** All rows, withdrawn ones too, in the order of their titles. */
  get rowsByTitle(): Uint32Array {
    return this.#titles.rows;
  }

  /** Reads the ranks of the rows below `end` from the file, and yields after each page. */
  *read(end: number): Generator<void> {
    yield* this.#ids.read(end);
    yield* this.#titles.read(end);
  }

  /** Returns what the orders compare: the id, and the beginning of the title. */
  nameOf(row: number): { id: string; title: string } {
    const name = this.#selectName.get(row);
    return { id: String(name?.['id']), title: String(name?.['title']) };
  }

  /** Returns the rank of the last row up to the id; -Infinity if there is none. */
  rankOfId(id: string): number {
    return rankIn(this.byId, this.#selectUpToId.get(id));
  }

  /** Returns the rank of the last row up to the title and id; -Infinity if there is none. */
  rankOfTitle(title: string, id: string): number {
    return rankIn(this.byTitle, this.#selectUpToTitle.get(title, id));
  }

  /** Call after these rows were added, or their titles have changed. */
  change(rows: readonly number[]): void {
    this.#ids.change(rows);
    this.#titles.change(rows);
  }
}

const rankIn = (ranks: Float64Array, found: { row?: unknown } | undefined): number =>
  found ? (ranks[Number(found.row)] ?? -Infinity) : -Infinity;
