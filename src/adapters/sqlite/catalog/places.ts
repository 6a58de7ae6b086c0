/**
 * In which rows a word stands, and in which groups of columns: read from the file once for each word
 * and kept, so that the beginning of a word is the union of the few words that begin so. FTS5 walks
 * the postings of a beginning in the file, once for each group: 10 to 60 ms for those that stand in
 * 20,000 to 100,000 rows.
 */
import type { DatabaseSync } from 'node:sqlite';
import { recentlyUsed } from '#src/adapters/recently-used.ts';

/** Rows rising, and beside each the groups that the word stands in, as bits. */
export type Places = { rows: Uint32Array; groups: Uint8Array };

/** The groups of columns that count by themselves. */
export const GROUP = { any: 1, categoryOrBrand: 2, titleOrSku: 4 } as const;

/** 40 MB: the words of half a million products. */
const PLACES_MAX = 8_000_000;
/** What an entry without any place costs, or words that stand nowhere would fill the memory. */
const ENTRY_PLACES = 64;
/** A turn's worth of them, when all are read. */
const WORDS_AT_A_TIME = 50;

const GROUP_BITS = 8;

export const wordPlaces = (db: DatabaseSync) => {
  db.exec(
    "create virtual table temp.word_place using fts5vocab('main', 'product_text', 'instance')",
  );
  const select = db.prepare(`
    select json_group_array(doc * ${GROUP_BITS} + case col
      when 'title' then ${GROUP.any | GROUP.titleOrSku} when 'sku' then ${GROUP.any | GROUP.titleOrSku}
      when 'category' then ${GROUP.any | GROUP.categoryOrBrand}
      when 'brand' then ${GROUP.any | GROUP.categoryOrBrand}
      else ${GROUP.any} end) as places
    from temp.word_place where term = ?`);
  const kept = recentlyUsed<string, Places>(PLACES_MAX);

  const read = (word: string): Places => {
    const found = JSON.parse(String(select.get(word)?.['places'])) as number[];
    const rows = new Uint32Array(found.length);
    const groups = new Uint8Array(found.length);
    let count = 0;
    for (const place of found) {
      const row = Math.floor(place / GROUP_BITS);
      // A row comes once for each column, one behind the other.
      if (count === 0 || rows[count - 1] !== row) rows[count++] = row;
      groups[count - 1] = (groups[count - 1] ?? 0) | (place % GROUP_BITS);
    }
    return { rows: rows.slice(0, count), groups: groups.slice(0, count) };
  };

  const of = (word: string): Places => {
    let places = kept.get(word);
    if (!places) {
      places = read(word);
      kept.set(word, places, ENTRY_PLACES + places.rows.length);
    }
    return places;
  };

  /** Undone by `stop`: reads ahead, a few words a turn, so that no search is the first to ask. */
  const readAhead = (words: Iterator<string>): (() => void) => {
    let stopped = false;
    const some = (): void => {
      try {
        for (let i = 0; i < WORDS_AT_A_TIME && !stopped; i += 1) {
          const next = words.next();
          if (next.done) return;
          of(next.value);
        }
      } catch {
        // Nobody asked yet: who does, finds the same and acts on it.
        return;
      }
      if (!stopped) setImmediate(some).unref();
    };
    setImmediate(some).unref();
    return () => (stopped = true);
  };

  return {
    of,
    readAhead,
    /** After a change of texts with these words. */
    forget(words: Iterable<string>): void {
      for (const word of words) kept.drop(word);
    },
  };
};
