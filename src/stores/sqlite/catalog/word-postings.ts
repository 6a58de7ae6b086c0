/**
 * The postings of each word, read from the file once, cached and kept up to date, so that those of a prefix are the
 * union of those of its few words. FTS5 walks the postings of a prefix in the file, once per column group: 10 to 60 ms
 * for prefixes that occur in 20,000 to 100,000 rows.
 */
import { DatabaseSync } from 'node:sqlite';
import { LruCache } from '#src/stores/caches.ts';
import type { Pause } from '#src/ports/system.ts';

/** Rows of a word, rising, and for each the column groups that have the word, as bits. */
export type Postings = { rows: Uint32Array; groups: Uint8Array };

/** The groups of columns that have a weight of their own. */
export const GROUP = { any: 1, categoryOrBrand: 2, titleOrSku: 4 } as const;

const TITLE_OR_SKU = GROUP.any | GROUP.titleOrSku;
const CATEGORY_OR_BRAND = GROUP.any | GROUP.categoryOrBrand;

/** The groups of title, sku, category, brand and description. */
export const COLUMN_GROUPS = [
  TITLE_OR_SKU,
  TITLE_OR_SKU,
  CATEGORY_OR_BRAND,
  CATEGORY_OR_BRAND,
  GROUP.any,
];

/** The groups in which changed rows have a word now, by word and row; 0 if a row has it no longer. */
export type WordChanges = Map<string, Map<number, number>>;

export const addWordChange = (
  changes: WordChanges,
  { word, row, groups }: { word: string; row: number; groups: number },
): void => {
  const rows = changes.get(word) ?? new Map<number, number>();
  changes.set(word, rows.set(row, (rows.get(row) ?? 0) | groups));
};

/** 40 MB: the words of half a million products. */
const ROWS_MAX = 8_000_000;
/** Weight of an entry without rows; otherwise words without matches would fill the memory. */
const ENTRY_ROWS = 64;
/** So many changes of a word that is not asked for are merged at once. */
const CHANGES_MAX = 500;
/** Rows that are read ahead in about a millisecond. */
const ROWS_PER_PAUSE = 1_000;

const GROUP_BITS = 8;

const createWordTable = (db: DatabaseSync): void =>
  db.exec(
    "create virtual table temp.word_place using fts5vocab('main', 'product_text', 'instance')",
  );

/** One number for each column of a row that has the word. */
const POSTING = `doc * ${GROUP_BITS} + case col
  when 'title' then ${TITLE_OR_SKU}
  when 'sku' then ${TITLE_OR_SKU}
  when 'category' then ${CATEGORY_OR_BRAND}
  when 'brand' then ${CATEGORY_OR_BRAND}
  else ${GROUP.any} end`;

export class WordPostings {
  readonly #db;
  readonly #select;
  readonly #cache = new LruCache<string, Postings>(ROWS_MAX);
  /** Changes of cached words since their postings were used. */
  readonly #changes: WordChanges = new Map();
  /** The word that is being read ahead; undefined also if it has changed meanwhile. */
  #readingAhead: string | undefined;

  constructor(db: DatabaseSync) {
    createWordTable(db);
    this.#db = db;
    this.#select = db.prepare(
      `select json_group_array(${POSTING}) as postings from temp.word_place where term = ?`,
    );
  }

  of(word: string): Postings {
    const cached = this.#cache.get(word);
    const changes = this.#changes.get(word);
    if (cached && !changes) return cached;
    const postings =
      cached && changes
        ? changePostings(cached, changes)
        : postingsOf(JSON.parse(String(this.#select.get(word)?.['postings'])) as number[]);
    this.#put(word, postings);
    return postings;
  }

  /**
   * Reads words into the cache until it is full, so that no search has to wait for them, and lets other requests run
   * meanwhile. Returns how to stop it.
   */
  readAhead(words: Iterable<string>, pause: Pause): () => void {
    const parts = this.#readInParts(words);
    const read = async (): Promise<void> => {
      do await pause();
      while (!parts.next().done);
    };
    // A search will find the same error and handle it.
    read().catch(() => {});
    return () => void parts.return();
  }

  /** Call after texts have changed. */
  change(words: WordChanges): void {
    if (words.has(this.#readingAhead ?? '')) this.#readingAhead = undefined;
    for (const [word, rows] of words) {
      if (!this.#cache.has(word)) {
        this.#changes.delete(word);
        continue;
      }
      const changes = this.#changes.get(word) ?? new Map<number, number>();
      for (const [row, groups] of rows) changes.set(row, groups);
      this.#changes.set(word, changes);
      if (changes.size >= CHANGES_MAX) this.of(word);
    }
  }

  #put(word: string, postings: Postings): void {
    this.#changes.delete(word);
    this.#cache.set(word, postings, ENTRY_ROWS + postings.rows.length);
  }

  *#readInParts(words: Iterable<string>): Generator<void, void> {
    const file = this.#db.location();
    if (file === null) return;
    // A connection of its own, whose reads continue while this one writes.
    using db = new DatabaseSync(file, { readOnly: true });
    createWordTable(db);
    const select = db.prepare(`select ${POSTING} as posting from temp.word_place where term = ?`);
    let rows = 0;
    for (const word of words) {
      if (this.#cache.has(word)) continue;
      this.#readingAhead = word;
      const found: number[] = [];
      for (const { posting } of select.iterate(word))
        if (found.push(Number(posting)) % ROWS_PER_PAUSE === 0) yield;
      const postings = postingsOf(found);
      if (this.#readingAhead === word) this.#put(word, postings);
      rows += ENTRY_ROWS + postings.rows.length;
      if (rows > ROWS_MAX) return;
      yield;
    }
  }
}

const postingsOf = (found: readonly number[]): Postings => {
  const rows = new Uint32Array(found.length);
  const groups = new Uint8Array(found.length);
  let count = 0;
  for (const posting of found) {
    const row = Math.floor(posting / GROUP_BITS);
    // The columns of one row follow one another.
    if (count === 0 || rows[count - 1] !== row) rows[count++] = row;
    groups[count - 1] = (groups[count - 1] ?? 0) | (posting % GROUP_BITS);
  }
  return { rows: rows.slice(0, count), groups: groups.slice(0, count) };
};

const changePostings = (
  { rows, groups }: Postings,
  changes: ReadonlyMap<number, number>,
): Postings => {
  const changed = [...changes].sort(([one], [other]) => one - other);
  const into = {
    rows: new Uint32Array(rows.length + changed.length),
    groups: new Uint8Array(rows.length + changed.length),
  };
  let [count, from] = [0, 0];
  const copyBelow = (end: number): void => {
    let to = from;
    while (to < rows.length && (rows[to] ?? 0) < end) to += 1;
    into.rows.set(rows.subarray(from, to), count);
    into.groups.set(groups.subarray(from, to), count);
    count += to - from;
    from = to;
  };
  for (const [row, now] of changed) {
    copyBelow(row);
    if (rows[from] === row) from += 1;
    if (now === 0) continue;
    into.rows[count] = row;
    into.groups[count++] = now;
  }
  copyBelow(Infinity);
  return { rows: into.rows.slice(0, count), groups: into.groups.slice(0, count) };
};
