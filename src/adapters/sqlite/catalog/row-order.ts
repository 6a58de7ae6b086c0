import type { DatabaseSync } from 'node:sqlite';
import { addRow, emptyRowSet, hasRow } from './row-set.ts';

const ROWS_PER_READ = 1_000;
/** So many changed rows are merged at once: about 15 ms among a million. */
const CHANGED_MAX = 1_000;

const NO_ROWS = new Uint32Array(0);

/**
 * All rows of the file in the order of an index, and the rank of each. Changed rows are merged into the order, which
 * costs one pass over all rows and one look-up for each changed one; the index is read as a whole only when the file
 * is opened.
 */
export class RowOrder {
  readonly #selectPage;
  readonly #selectKey;
  readonly #selectSorted;
  readonly #selectBefore;
  readonly #keys: readonly string[];
  /** In order. */
  #rows = NO_ROWS;
  #ranks = new Float64Array(0);
  readonly #changed = new Set<number>();

  /** `keys` are the columns of a unique index, texts that are never all empty. */
  constructor(db: DatabaseSync, keys: readonly string[]) {
    const [key, values] = [keys.join(), keys.map(() => '?').join()];
    const falling = keys.map((column) => `${column} desc`).join();
    this.#keys = keys;
    this.#selectPage = db.prepare(
      `select json_group_array(row) as rows from (select row from product
       where (${key}) > (${values}) order by ${key} limit ${ROWS_PER_READ})`,
    );
    this.#selectKey = db.prepare(`select ${key} from product where row = ?`);
    this.#selectSorted = db.prepare(
      `select row, ${key} from product where row in (select value from json_each(?)) order by ${key}`,
    );
    this.#selectBefore = db.prepare(
      `select row from product where (${key}) < (${values}) order by ${falling} limit 1`,
    );
  }

  /** The rank of each row, by row. After a change it is another array. */
  get ranks(): Float64Array {
    if (this.#changed.size > 0) this.#merge();
    return this.#ranks;
  }

  /** Reads the order of the rows below `end` from the file, and yields after each page. */
  *read(end: number): Generator<void> {
    const rows = new Uint32Array(end);
    const ranks = new Float64Array(end);
    let count = 0;
    for (let last = this.#keys.map(() => ''); ; ) {
      const page = JSON.parse(String(this.#selectPage.get(...last)?.['rows'])) as number[];
      for (const row of page) {
        ranks[row] = count;
        rows[count++] = row;
      }
      if (page.length < ROWS_PER_READ) break;
      last = this.#keysOf(this.#selectKey.get(page.at(-1) ?? 0) ?? {});
      yield;
    }
    this.#rows = rows.subarray(0, count);
    this.#ranks = ranks;
  }

  /** Call after these rows were added, or their keys have changed. */
  change(rows: readonly number[]): void {
    for (const row of rows) this.#changed.add(row);
    if (this.#changed.size >= CHANGED_MAX) this.#merge();
  }

  #keysOf(row: Record<string, unknown>): string[] {
    return this.#keys.map((key) => String(row[key]));
  }

  #merge(): void {
    const changed = this.#places();
    const end = Math.max(this.#ranks.length, ...changed.map(({ row }) => row + 1));
    const moved = emptyRowSet(end);
    for (const { row } of changed) addRow(moved, row);
    const before = this.#rows;
    const rows = new Uint32Array(before.length + changed.length);
    const ranks = new Float64Array(end);
    let count = 0;
    let next = 0;
    const put = (row: number): void => {
      ranks[row] = count;
      rows[count++] = row;
    };
    for (let i = 0; i < before.length; i += 1) {
      for (; (changed[next]?.place ?? Infinity) <= i; next += 1) put(changed[next]?.row ?? 0);
      const row = before[i] ?? 0;
      if (!hasRow(moved, row)) put(row);
    }
    for (; next < changed.length; next += 1) put(changed[next]?.row ?? 0);
    this.#rows = rows.subarray(0, count);
    this.#ranks = ranks;
    this.#changed.clear();
  }

  /** Returns the changed rows in order, and where each belongs in the order before the change. */
  #places(): { row: number; place: number }[] {
    let place = 0;
    return this.#selectSorted.all(JSON.stringify([...this.#changed])).map((found) => {
      const row = Number(found['row']);
      const before = Number(this.#selectBefore.get(...this.#keysOf(found))?.['row'] ?? 0);
      // After a row that has changed, which is the previous one here, it belongs to the same place.
      if (before > 0 && !this.#changed.has(before)) place = (this.#ranks[before] ?? 0) + 1;
      return { row, place };
    });
  }
}
