/** The order of search results, and the best rows of it without sorting all. */
import type { DatabaseSync } from 'node:sqlite';
import type { ProductSearch } from '#src/ports/catalog.ts';
import type { CatalogColumns } from './columns.ts';
import { hasOneCurrency } from './filter.ts';
import type { Matches } from './text.ts';

const ROWS_PER_READ = 1_000;
/** So many changed rows are merged at once: about 10 ms. */
const CHANGED_MAX = 1_000;

/**
 * All rows of the file in the order of an index, and the rank of each. Changed rows are merged into the order: a
 * look-up for each, one copy of the order, and new ranks, together about 1 ms for 100,000 rows. The index is read as a
 * whole only when the file is opened.
 */
class RowOrder {
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

/**
 * Returns the first `count` rows in rising order of `column`; `ties`, unique by row, decides between
 * equal values. A heap holds the best rows so far, with the worst of them on top, so that one comparison
 * rejects most rows.
 */
const topRows = (
  rows: Uint32Array,
  { column, ties }: { column: Float64Array; ties: Float64Array },
  count: number,
): Uint32Array => {
  const compare = (one: number, other: number): number => {
    const a = column[one] ?? 0;
    const b = column[other] ?? 0;
    // Not a - b, which is NaN for two infinities.
    if (a !== b) return a < b ? -1 : 1;
    return (ties[one] ?? 0) - (ties[other] ?? 0);
  };
  if (count >= rows.length) return rows.slice().sort(compare);

  const heap = rows.slice(0, count);
  const sink = (from: number): void => {
    const sinking = heap[from] ?? 0;
    let at = from;
    for (let child = 2 * at + 1; child < count; child = 2 * at + 1) {
      const next = heap[child] ?? 0;
      if (child + 1 < count && compare(next, heap[child + 1] ?? 0) < 0) child += 1;
      const worst = heap[child] ?? 0;
      if (compare(sinking, worst) >= 0) break;
      heap[at] = worst;
      at = child;
    }
    heap[at] = sinking;
  };
  for (let at = count >> 1; at >= 0; at -= 1) sink(at);
  let limit = column[heap[0] ?? 0] ?? 0;
  for (let i = count; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    if ((column[row] ?? 0) > limit || compare(row, heap[0] ?? 0) > 0) continue;
    heap[0] = row;
    sink(0);
    limit = column[heap[0] ?? 0] ?? 0;
  }
  return heap.sort(compare);
};

/** Returns `rows`, all below `end`, in the order that all rows have in `order`, without comparing any. */
const sortAs = (order: Uint32Array, rows: Uint32Array, end: number): Uint32Array => {
  const isWanted = new Uint8Array(end);
  for (let i = 0; i < rows.length; i += 1) isWanted[rows[i] ?? 0] = 1;
  return order.filter((row) => isWanted[row] === 1);
};

/** Everything that a search needs to select and order rows. */
export type SearchIndex = { columns: CatalogColumns; ranks: Ranks };

/** Rows in order; with a text, whose best match is first, also their scores. */
export type OrderedRows = { rows: Uint32Array; scores?: Float64Array };

/** Returns the first `count` rows in the order of the query. `matches` holds the scores of a text. */
export const orderRows = (
  index: SearchIndex,
  rows: Uint32Array,
  { query, count, matches }: { query: ProductSearch; count: number; matches: Matches | undefined },
): OrderedRows => {
  const { columns, ranks } = index;
  const byColumn = (column: Float64Array): OrderedRows => ({
    rows: topRows(rows, { column, ties: ranks.byId }, count),
  });
  if (query.sort === 'price') return { rows: orderByPrice(index, rows, { query, count }) };
  if (query.sort === 'updated') {
    const updated = columns.of('updated');
    return byColumn(deriveColumn(columns.end, rows, (row) => -(updated[row] ?? 0)));
  }
  if (query.sort !== 'relevance') return byColumn(columns.of(query.sort));
  if (!matches)
    return count === Infinity
      ? { rows: sortAs(ranks.rowsByTitle, rows, columns.end) }
      : byColumn(ranks.byTitle);
  const { scores } = matches;
  const column = deriveColumn(columns.end, matches.rows, (_, place) => -(scores[place] ?? 0));
  const { rows: first } = byColumn(column);
  const firstScores = new Float64Array(first.length);
  for (let i = 0; i < first.length; i += 1) firstScores[i] = -(column[first[i] ?? 0] ?? 0);
  return { rows: first, scores: firstScores };
};

/** Amounts of two currencies cannot be compared, so it orders by currency code first. */
const orderByPrice = (
  { columns, ranks }: SearchIndex,
  rows: Uint32Array,
  { query, count }: { query: ProductSearch; count: number },
): Uint32Array => {
  const by = { column: columns.prices(query.at_quantity, rows), ties: ranks.byId };
  if (hasOneCurrency(columns, query)) return topRows(rows, by, count);
  const currency = columns.values('currency');
  const codes = currency.rows;
  const ordered = new Uint32Array(Math.min(count, rows.length));
  let filled = 0;
  for (const value of currency.values.toSorted()) {
    if (filled === ordered.length) break;
    const code = currency.codeOf(value);
    const ofCurrency = rows.filter((row) => codes[row] === code);
    const first = topRows(ofCurrency, by, ordered.length - filled);
    ordered.set(first, filled);
    filled += first.length;
  }
  return ordered;
};

/** Shared by all calls, none of which retains it. */
let scratch = new Float64Array(0);

/** Returns a column below `end` with a value for each of `rows`, valid until the next call. */
const deriveColumn = (
  end: number,
  rows: Uint32Array,
  value: (row: number, place: number) => number,
): Float64Array => {
  if (scratch.length < end) scratch = new Float64Array(2 * end);
  for (let i = 0; i < rows.length; i += 1) scratch[rows[i] ?? 0] = value(rows[i] ?? 0, i);
  return scratch;
};

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
