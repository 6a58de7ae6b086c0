/**
 * The postings of each word, read from the file once and cached, so that those of a prefix are the union
 * of those of its few words. FTS5 walks the postings of a prefix in the file, once per column group: 10
 * to 60 ms for prefixes that occur in 20,000 to 100,000 rows.
 */
import type { DatabaseSync } from 'node:sqlite';
import { LruCache } from '#src/adapters/lru-cache.ts';
import type { Pause } from '#src/ports/system.ts';

/** Rows of a word, rising, and for each the column groups that have the word, as bits. */
export type Postings = { rows: Uint32Array; groups: Uint8Array };

/** The groups of columns that have a weight of their own. */
export const GROUP = { any: 1, categoryOrBrand: 2, titleOrSku: 4 } as const;

/** 40 MB: the words of half a million products. */
const ROWS_MAX = 8_000_000;
/** Weight of an entry without rows; otherwise words without matches would fill the memory. */
const ENTRY_ROWS = 64;

const GROUP_BITS = 8;

export class WordPostings {
  readonly #select;
  readonly #cache = new LruCache<string, Postings>(ROWS_MAX);

  constructor(db: DatabaseSync) {
    db.exec(
      "create virtual table temp.word_place using fts5vocab('main', 'product_text', 'instance')",
    );
    this.#select = db.prepare(`
      select json_group_array(doc * ${GROUP_BITS} + case col
        when 'title' then ${GROUP.any | GROUP.titleOrSku}
        when 'sku' then ${GROUP.any | GROUP.titleOrSku}
        when 'category' then ${GROUP.any | GROUP.categoryOrBrand}
        when 'brand' then ${GROUP.any | GROUP.categoryOrBrand}
        else ${GROUP.any} end) as postings
      from temp.word_place where term = ?`);
  }

  of(word: string): Postings {
    let postings = this.#cache.get(word);
    if (!postings) {
      postings = this.#read(word);
      this.#cache.set(word, postings, ENTRY_ROWS + postings.rows.length);
    }
    return postings;
  }

  /** Reads words into the cache between other requests, so that no search has to wait for them. Returns how to stop it. */
  readAhead(words: Iterable<string>, pause: Pause): () => void {
    let isStopped = false;
    const read = async (): Promise<void> => {
      for (const word of words) {
        await pause();
        if (isStopped) return;
        this.of(word);
      }
    };
    // A search will find the same error and handle it.
    read().catch(() => {});
    return () => (isStopped = true);
  }

  /** Call after texts with these words have changed. */
  forget(words: Iterable<string>): void {
    for (const word of words) this.#cache.delete(word);
  }

  #read(word: string): Postings {
    const found = JSON.parse(String(this.#select.get(word)?.['postings'])) as number[];
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
  }
}
