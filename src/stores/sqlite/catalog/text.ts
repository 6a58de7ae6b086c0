import type { DatabaseSync } from 'node:sqlite';
import { LruCache } from '#src/stores/caches.ts';
import type { Pause } from '#src/ports/system.ts';
import type { CatalogColumns } from './columns.ts';
import {
  findInPostings,
  prepareFileFinder,
  type QueryTerm,
  type TermFrequencies,
} from './term-frequencies.ts';
import { splitWords, type Vocabulary } from './vocabulary.ts';
import { type WordChanges, WordPostings } from './word-postings.ts';

/** Rows, rising, and the score of each: the higher, the better the match. */
export type Matches = { rows: Uint32Array; scores: Float64Array };

/**
 * How rare a word is, in eighths, and the mean number of words of a product. Rounded, so that they
 * remain the same for a long time.
 */
type WordWeight = { rarity: number; mean: number };

type WordMatches = Matches & TermFrequencies & WordWeight;

const NOTHING: WordMatches = {
  rows: new Uint32Array(0),
  frequencies: new Uint8Array(0),
  scores: new Float64Array(0),
  rarity: 0,
  mean: 0,
};

/** Four million rows are 52 MB. */
const ROWS_MAX = 4_000_000;

/** Weight of an entry without rows; otherwise words without matches would fill the memory. */
const ENTRY_ROWS = 64;

/**
 * BM25 with a word counted once per column group. FTS5's bm25() reads the positions and the length of
 * each match from the file: 30 to 180 ms for a word in 20,000 to 90,000 of 100,000 products.
 */
const K1 = 1.2;
const B = 0.75;
/** Scores are integers, so that a sum does not depend on its order. */
const SCALE = 1_000_000;
/** A page's mark has space for the weights of this many words; people search for three. */
const PINNED_WORDS_MAX = 50;

/** Returns the first index from `from` on whose row is at least `row`. Galloping search. */
const indexFrom = (rows: Uint32Array, from: number, row: number): number => {
  let at = from;
  let high = from;
  for (let step = 1; high < rows.length && (rows[high] ?? 0) < row; step *= 2) {
    at = high + 1;
    high += step;
  }
  high = Math.min(high, rows.length);
  // Not by lowerBound(), which calls a function per step.
  while (at < high) {
    const middle = (at + high) >>> 1;
    if ((rows[middle] ?? 0) < row) at = middle + 1;
    else high = middle;
  }
  return at;
};

/** Writes the common rows and the sums of their scores into `into`, which can be `one`. */
const intersect = (one: Matches, other: Matches, into: Matches): Matches => {
  const { rows, scores } = into;
  let count = 0;
  let at = 0;
  for (let i = 0; i < one.rows.length && at < other.rows.length; i += 1) {
    const row = one.rows[i] ?? 0;
    at = indexFrom(other.rows, at, row);
    if (other.rows[at] !== row) continue;
    rows[count] = row;
    scores[count++] = (one.scores[i] ?? 0) + (other.scores[at] ?? 0);
  }
  return { rows: rows.subarray(0, count), scores: scores.subarray(0, count) };
};

/** Scores each row; depends on other products by the weight only. */
const scoreRows = (
  { rows, frequencies }: TermFrequencies,
  { rarity, mean }: WordWeight,
  words: Float64Array,
): Float64Array => {
  const scores = new Float64Array(rows.length);
  const scale = SCALE * rarity * (K1 + 1);
  for (let i = 0; i < rows.length; i += 1) {
    const frequency = frequencies[i] ?? 0;
    const length = 1 - B + (B * (words[rows[i] ?? 0] ?? 0)) / mean;
    scores[i] = Math.round((scale * frequency) / (frequency + K1 * length));
  }
  return scores;
};

export class CatalogText {
  readonly #columns: CatalogColumns;
  readonly #vocabulary: Vocabulary;
  readonly #postings: WordPostings;
  readonly #findInFile: (terms: readonly QueryTerm[]) => TermFrequencies;
  readonly #cache = new LruCache<string, WordMatches>(ROWS_MAX);
  #scratch: Matches = NOTHING;
  readonly #pause: Pause;
  #stopReading: (() => void) | undefined;

  constructor(
    db: DatabaseSync,
    { columns, vocabulary }: { columns: CatalogColumns; vocabulary: Vocabulary },
    pause: Pause,
  ) {
    this.#pause = pause;
    this.#columns = columns;
    this.#vocabulary = vocabulary;
    this.#postings = new WordPostings(db);
    this.#findInFile = prepareFileFinder(db, columns);
  }

  /**
   * Returns the products that match every word, none if there is no word; valid until the next call.
   * With the `weights` of an earlier match of the same text, unchanged products score as they did then.
   */
  match(text: string, weights?: string): Matches & { weights: string } {
    const words = this.#vocabulary;
    this.#stopReading ??= this.#postings.readAhead(words.wordsOfLetters(), this.#pause);
    const [mean = 0, ...rarities] = weights?.split(' ').map(Number) ?? [];
    const all: Matches[] = [];
    const used: number[] = [];
    for (const word of new Set(splitWords(text))) {
      const matches = this.#matchesOf(word);
      if (matches.rows.length === 0) return { ...NOTHING, weights: '' };
      const rarity = rarities[all.length];
      const weight = rarity === undefined ? matches : { rarity, mean };
      if (all.length === 0) used.push(weight.mean);
      if (used.length <= PINNED_WORDS_MAX) used.push(weight.rarity);
      all.push(this.#weigh(matches, weight));
    }
    return { ...this.#intersectAll(all), weights: used.join(' ') };
  }

  /** Call after texts have changed. */
  change(words: WordChanges): void {
    this.#postings.change(words);
    this.#cache.clear();
  }

  close(): void {
    this.#stopReading?.();
  }

  #intersectAll(all: Matches[]): Matches {
    all.sort((one, other) => one.rows.length - other.rows.length);
    const [fewest = NOTHING, ...others] = all;
    const { length } = fewest.rows;
    if (this.#scratch.rows.length < length)
      this.#scratch = { rows: new Uint32Array(2 * length), scores: new Float64Array(2 * length) };
    return others.reduce((matches, other) => intersect(matches, other, this.#scratch), fewest);
  }

  #matchesOf(word: string): WordMatches {
    const cached = this.#cache.get(word);
    if (cached) return cached;
    const exact = this.#find([{ word, isWhole: false }]);
    const matches = exact.rows.length > 0 ? exact : this.#findNear(word);
    this.#cache.set(word, matches, ENTRY_ROWS + word.length + matches.rows.length);
    return matches;
  }

  /** A near word that is shorter than the typed one is not used as a prefix: pinx is not pineapple. */
  #findNear(word: string): WordMatches {
    const near = this.#vocabulary.wordsNear(word);
    if (near.length === 0) return NOTHING;
    return this.#find(near.map((other) => ({ word: other, isWhole: other.length < word.length })));
  }

  /** Finds the rows with any of the terms. */
  #find(terms: readonly QueryTerm[]): WordMatches {
    const [postings, vocabulary, columns] = [this.#postings, this.#vocabulary, this.#columns];
    const found =
      findInPostings({ postings, vocabulary, columns }, terms) ?? this.#findInFile(terms);
    const count = found.rows.length;
    if (count === 0) return NOTHING;
    const rarity = Math.log(1 + (columns.liveCount - count + 0.5) / (count + 0.5));
    const weight = {
      rarity: Math.max(1, Math.round(8 * rarity)),
      mean: Math.max(1, Math.round(columns.meanWords)),
    };
    return { ...found, ...weight, scores: scoreRows(found, weight, columns.of('words')) };
  }

  /** Weights other than the current ones come from a page that was read before a change. */
  #weigh(matches: WordMatches, weight: WordWeight): Matches {
    if (weight.rarity === matches.rarity && weight.mean === matches.mean) return matches;
    return { rows: matches.rows, scores: scoreRows(matches, weight, this.#columns.of('words')) };
  }
}
