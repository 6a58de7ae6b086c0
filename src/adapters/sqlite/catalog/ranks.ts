import type { DatabaseSync } from 'node:sqlite';

/** The rank of each row, by row, in the orders that the file's indexes have. */
export class Ranks {
  readonly #selectById;
  readonly #selectByTitle;
  readonly #selectName;
  readonly #selectUpToId;
  readonly #selectUpToTitle;
  #byId: Float64Array | undefined;
  #byTitle: Float64Array | undefined;

  constructor(db: DatabaseSync) {
    const prepareOrder = (by: string) =>
      db.prepare(
        `select json_group_array(row) as rows from (select row from product order by ${by})`,
      );
    this.#selectById = prepareOrder('product_id');
    this.#selectByTitle = prepareOrder('title_words, product_id');
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
    return (this.#byId ??= rankRows(this.#selectById.get()?.['rows']));
  }

  get byTitle(): Float64Array {
    return (this.#byTitle ??= rankRows(this.#selectByTitle.get()?.['rows']));
  }

  /** Returns what the orders compare: the id, and the beginning of the title. */
  nameOf(row: number): { id: string; title: string } {
    const name = this.#selectName.get(row);
    return { id: String(name?.['id']), title: String(name?.['title']) };
  }

  /** Returns the rank of the last row up to the id; -1 if there is none. */
  rankOfId(id: string): number {
    return rankIn(this.byId, this.#selectUpToId.get(id));
  }

  /** Returns the rank of the last row up to the title and id; -1 if there is none. */
  rankOfTitle(title: string, id: string): number {
    return rankIn(this.byTitle, this.#selectUpToTitle.get(title, id));
  }

  /** Call after any change of products. */
  clear(): void {
    this.#byId = undefined;
    this.#byTitle = undefined;
  }
}

const rankRows = (json: unknown): Float64Array => {
  const rows = JSON.parse(String(json)) as number[];
  const ranks = new Float64Array(rows.reduce((most, row) => Math.max(most, row), 0) + 1);
  rows.forEach((row, rank) => void (ranks[row] = rank));
  return ranks;
};

const rankIn = (ranks: Float64Array, found: { row?: unknown } | undefined): number =>
  found ? (ranks[Number(found.row)] ?? -1) : -1;
