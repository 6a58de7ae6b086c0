import type { DatabaseSync } from 'node:sqlite';

const ROWS_PER_READ = 1_000;
/** So many changed rows are merged at once: about 10 ms. */
const CHANGED_MAX = 1_000;

/**
 * All rows of the file in the order of an index, and the rank of each. Changed rows are merged into the order: a
 * look-up for each, one copy of the order, and new ranks, together about 1 ms for 100,000 rows. The index is read as a
 * whole only when the file is opened.
 */
export class RowOrder {
  readonly #selectPage;
  readonly #selectKey;
  readonly #selectSorted;
  readonly #selectBefore;
  readonly #keys: readonly string[];
  /** In order. */
  #rows = new Uint32Array(0);
  /** The place of each row in the order; NaN for rows that are not in it. */
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

  /** All rows in order. Valid until the next change, like the other properties. */
  get rows(): Uint32Array {
    this.#merge();
    return this.#rows;
  }

  /** The rank of each row, by row. */
  get ranks(): Float64Array {
    this.#merge();
    return this.#ranks;
  }

  /** Reads the order of the rows below `end` from the file, and yields after each page. */
  *read(end: number): Generator<void> {
    const rows = new Uint32Array(end);
    const ranks = new Float64Array(end).fill(Number.NaN);
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
    if (this.#changed.size === 0) return;
    const added = this.#places();
    const before = this.#rows;
    const removed = [...this.#changed].flatMap((row) => this.#indexOf(row) ?? []);
    removed.sort((one, other) => one - other);
    const rows = new Uint32Array(before.length - removed.length + added.length);
    let [count, from, skipped] = [0, 0, 0];
    const copyUpTo = (end: number): void => {
      rows.set(before.subarray(from, end), count);
      count += end - from;
      from = end;
    };
    const copyKeptUpTo = (end: number): void => {
      for (; (removed[skipped] ?? Infinity) < end; skipped += 1) {
        copyUpTo(removed[skipped] ?? 0);
        from += 1;
      }
      copyUpTo(end);
    };
    for (const { row, place } of added) {
      copyKeptUpTo(place);
      rows[count++] = row;
    }
    copyKeptUpTo(before.length);
    this.#rows = rows;
    this.#reserve(added.reduce((most, { row }) => Math.max(most, row), 0));
    for (let i = 0; i < rows.length; i += 1) this.#ranks[rows[i] ?? 0] = i;
    this.#changed.clear();
  }

  /** Returns the changed rows in order, and the index before which each belongs in the order so far. */
  #places(): { row: number; place: number }[] {
    let place = 0;
    return this.#selectSorted.all(JSON.stringify([...this.#changed])).map((found) => {
      const row = Number(found['row']);
      const before = Number(this.#selectBefore.get(...this.#keysOf(found))?.['row'] ?? 0);
      // After a row that has changed, which is the previous one here, it belongs to the same place.
      if (before > 0 && !this.#changed.has(before)) place = (this.#indexOf(before) ?? 0) + 1;
      return { row, place };
    });
  }

  #indexOf(row: number): number | undefined {
    const rank = this.#ranks[row] ?? Number.NaN;
    return Number.isNaN(rank) ? undefined : rank;
  }

  #reserve(row: number): void {
    const before = this.#ranks;
    if (row < before.length) return;
    this.#ranks = new Float64Array(2 * row).fill(Number.NaN);
    this.#ranks.set(before);
  }
}
