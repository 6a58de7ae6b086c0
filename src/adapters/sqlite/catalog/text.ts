import type { DatabaseSync } from 'node:sqlite';
import { recentlyUsed } from './cache.ts';
import type { Columns } from './columns.ts';
import type { Vocabulary } from './words.ts';
import { wordsOf } from './words.ts';

/** Rows rising, and beside each its score: the higher, the better the match. */
export type Matches = { rows: Uint32Array; scores: Float64Array };

const NOTHING: Matches = { rows: new Uint32Array(0), scores: new Float64Array(0) };

/** Eight million postings are 96 MB, and most words of 100,000 products. */
const POSTINGS_MAX = 8_000_000;

/** What an entry without any posting costs, or words that match nothing would fill the memory. */
const ENTRY_POSTINGS = 64;

/**
 * BM25 with a word counted once per group of columns. FTS5's own bm25() reads the places and length
 * of each match from the file: measured at 30 to 180 ms for a word in 20,000 to 90,000 of 100,000
 * products, against 10 to 60 ms for the rows of each group, weighed here.
 */
const K1 = 1.2;
const B = 0.75;
const WEIGHTS = [
  { columns: '', weight: 1, whole: false },
  { columns: '{category brand} :', weight: 2, whole: false },
  { columns: '{title sku} :', weight: 5, whole: false },
  { columns: '{title sku} :', weight: 5, whole: true },
];

/** Quoted, so that no word is ever an operator: a word has no quotes in it (words.ts). */
const term = (word: string, whole: boolean): string => (whole ? `"${word}"` : `"${word}" *`);

/** The first place from `at` on whose row is not below `row`: near ones are found soonest. */
const placeOf = (rows: Uint32Array, from: number, row: number): number => {
  let at = from;
  let high = from;
  for (let step = 1; high < rows.length && (rows[high] ?? 0) < row; step *= 2) {
    at = high + 1;
    high += step;
  }
  high = Math.min(high, rows.length);
  while (at < high) {
    const middle = (at + high) >>> 1;
    if ((rows[middle] ?? 0) < row) at = middle + 1;
    else high = middle;
  }
  return at;
};

/** The rows of both, with the sum of their scores, written into `room`, which may be `one`. */
const both = (one: Matches, other: Matches, room: Matches): Matches => {
  const { rows, scores } = room;
  let found = 0;
  let at = 0;
  for (let i = 0; i < one.rows.length && at < other.rows.length; i += 1) {
    const row = one.rows[i] ?? 0;
    at = placeOf(other.rows, at, row);
    if (other.rows[at] !== row) continue;
    rows[found] = row;
    scores[found++] = (one.scores[i] ?? 0) + (other.scores[at] ?? 0);
  }
  return { rows: rows.subarray(0, found), scores: scores.subarray(0, found) };
};

/** Matches of words of which one is enough, read from the file. */
const postings = (db: DatabaseSync, columns: Columns) => {
  const select = db.prepare(
    'select json_group_array(rowid) as rows from product_text where product_text match ?',
  );
  let frequency = new Float64Array(0);

  const rowsOf = (expression: string): number[] =>
    JSON.parse(String(select.get(expression)?.['rows'] ?? '[]')) as number[];

  const scored = (rows: Uint32Array): Matches => {
    const count = columns.liveCount();
    const rarity = Math.log(1 + (count - rows.length + 0.5) / (rows.length + 0.5));
    const words = columns.of('words');
    const mean = columns.wordsMean();
    const scores = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const seen = frequency[row] ?? 0;
      scores[i] =
        (rarity * seen * (K1 + 1)) / (seen + K1 * (1 - B + (B * (words[row] ?? 0)) / mean));
    }
    return { rows, scores };
  };

  return (words: readonly { word: string; whole: boolean }[]): Matches => {
    if (frequency.length < columns.end()) frequency = new Float64Array(2 * columns.end());
    let rows = NOTHING.rows;
    for (const { columns: filter, weight, whole } of WEIGHTS) {
      const terms = words.map((near) => term(near.word, whole || near.whole)).join(' OR ');
      const found = rowsOf(`${filter} (${terms})`);
      if (filter === '') {
        if (found.length === 0) return NOTHING;
        rows = Uint32Array.from(found);
        for (let i = 0; i < rows.length; i += 1) frequency[rows[i] ?? 0] = 0;
      }
      for (let i = 0; i < found.length; i += 1) {
        const row = found[i] ?? 0;
        frequency[row] = (frequency[row] ?? 0) + weight;
      }
    }
    return scored(rows);
  };
};

export type CatalogText = ReturnType<typeof catalogText>;

export const catalogText = (db: DatabaseSync, columns: Columns, vocabulary: Vocabulary) => {
  const matchesOf = postings(db, columns);
  const cached = recentlyUsed<string, Matches>(POSTINGS_MAX);
  let room = NOTHING;

  /** A near word shorter than the typed one is no beginning: pinx is not pineapple. */
  const nearMatches = (word: string): Matches => {
    const near = vocabulary.near(word);
    if (near.length === 0) return NOTHING;
    return matchesOf(near.map((known) => ({ word: known, whole: known.length < word.length })));
  };

  const matchesOfWord = (word: string): Matches => {
    const known = cached.get(word);
    if (known) return known;
    const exact = matchesOf([{ word, whole: false }]);
    const matches = exact.rows.length > 0 ? exact : nearMatches(word);
    cached.set(word, matches, ENTRY_POSTINGS + word.length + matches.rows.length);
    return matches;
  };

  return {
    /** Products that match every word; none when there is no word. Good until the next call. */
    match(text: string): Matches {
      const found: Matches[] = [];
      for (const word of new Set(wordsOf(text))) {
        const matches = matchesOfWord(word);
        if (matches.rows.length === 0) return NOTHING;
        found.push(matches);
      }
      found.sort((one, other) => one.rows.length - other.rows.length);
      const [fewest = NOTHING, ...others] = found;
      const length = fewest.rows.length;
      if (room.rows.length < length)
        room = { rows: new Uint32Array(2 * length), scores: new Float64Array(2 * length) };
      return others.reduce((matches, other) => both(matches, other, room), fewest);
    },
    /** After a change of any text. */
    forget: () => cached.clear(),
  };
};
