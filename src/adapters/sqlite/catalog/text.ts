import type { DatabaseSync } from 'node:sqlite';
import { recentlyUsed } from '#src/adapters/recently-used.ts';
import type { Columns } from './columns.ts';
import { wordPlaces } from './places.ts';
import { inFile, inPlaces, type Near, type Seen } from './seen.ts';
import { type Vocabulary, wordsOf } from './words.ts';

/** Rows rising, and beside each its score: the higher, the better the match. */
export type Matches = { rows: Uint32Array; scores: Float64Array };

/** Rows of one word, how much was seen of it in each, and the scores of that. */
type Posted = Matches & Seen & Weight;

/** How rare a word is, in eighths, and how many words a product has: rounded, to stay for long. */
type Weight = { rarity: number; mean: number };

const NOTHING: Posted = {
  rows: new Uint32Array(0),
  seen: new Uint8Array(0),
  scores: new Float64Array(0),
  rarity: 0,
  mean: 0,
};

/** Four million postings are 52 MB. */
const POSTINGS_MAX = 4_000_000;

/** What an entry without any posting costs, or words that match nothing would fill the memory. */
const ENTRY_POSTINGS = 64;

/**
 * BM25 with a word counted once per group of columns. FTS5's own bm25() reads the places and length
 * of each match from the file: measured at 30 to 180 ms for a word in 20,000 to 90,000 of 100,000
 * products.
 */
const K1 = 1.2;
const B = 0.75;
/** Whole numbers, so that a sum is the same in whatever order it is made. */
const SCALE = 1_000_000;
/** A mark has room for the weights of so many words; people ask for three. */
const PINNED_WORDS_MAX = 50;

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

/** What rows of a word score, which has nothing of other products in it but the weights. */
const scoredBy = (
  { rows, seen }: Pick<Posted, 'rows' | 'seen'>,
  { rarity, mean }: Weight,
  words: Float64Array,
): Float64Array => {
  const scores = new Float64Array(rows.length);
  const scale = SCALE * rarity * (K1 + 1);
  for (let i = 0; i < rows.length; i += 1) {
    const times = seen[i] ?? 0;
    const length = 1 - B + (B * (words[rows[i] ?? 0] ?? 0)) / mean;
    scores[i] = Math.round((scale * times) / (times + K1 * length));
  }
  return scores;
};

/** Matches of words of which one is enough. */
const postings = (columns: Columns, find: (words: readonly Near[]) => Seen) => {
  const weightOf = (rows: number): Weight => {
    const rarity = Math.log(1 + (columns.liveCount() - rows + 0.5) / (rows + 0.5));
    return {
      rarity: Math.max(1, Math.round(8 * rarity)),
      mean: Math.max(1, Math.round(columns.wordsMean())),
    };
  };
  return (words: readonly Near[]): Posted => {
    const { rows, seen } = find(words);
    if (rows.length === 0) return NOTHING;
    const weight = weightOf(rows.length);
    return { rows, seen, ...weight, scores: scoredBy({ rows, seen }, weight, columns.of('words')) };
  };
};

export type CatalogText = ReturnType<typeof catalogText>;

export const catalogText = (db: DatabaseSync, columns: Columns, vocabulary: Vocabulary) => {
  const places = wordPlaces(db);
  const fromPlaces = inPlaces(places, vocabulary, columns);
  const fromFile = inFile(db, columns);
  const matchesOf = postings(columns, (words) => fromPlaces(words) ?? fromFile(words));
  const cached = recentlyUsed<string, Posted>(POSTINGS_MAX);
  let room: Matches = NOTHING;
  let stopReading: (() => void) | undefined;

  /** A near word shorter than the typed one is no beginning: pinx is not pineapple. */
  const nearMatches = (word: string): Posted => {
    const near = vocabulary.near(word);
    if (near.length === 0) return NOTHING;
    return matchesOf(near.map((known) => ({ word: known, whole: known.length < word.length })));
  };

  const matchesOfWord = (word: string): Posted => {
    const known = cached.get(word);
    if (known) return known;
    const exact = matchesOf([{ word, whole: false }]);
    const matches = exact.rows.length > 0 ? exact : nearMatches(word);
    cached.set(word, matches, ENTRY_POSTINGS + word.length + matches.rows.length);
    return matches;
  };

  /** With other weights than now only for who goes on from a page of before a change. */
  const weighed = (posted: Posted, pinned: Weight | undefined): Matches => {
    if (!pinned || (pinned.rarity === posted.rarity && pinned.mean === posted.mean)) return posted;
    return { rows: posted.rows, scores: scoredBy(posted, pinned, columns.of('words')) };
  };

  return {
    /**
     * Products that match every word; none when there is no word. Good until the next call. With
     * `weights` of an earlier match of the same text, what has not changed scores as it did.
     */
    match(text: string, weights?: string): Matches & { weights: string } {
      stopReading ??= places.readAhead(vocabulary.ofLetters().values());
      const [mean = 0, ...rarities] = weights?.split(' ').map(Number) ?? [];
      const found: Matches[] = [];
      const weighing: number[] = [];
      for (const word of new Set(wordsOf(text))) {
        const posted = matchesOfWord(word);
        if (posted.rows.length === 0) return { ...NOTHING, weights: '' };
        const rarity = rarities[found.length];
        const pinned = rarity === undefined ? posted : { rarity, mean };
        if (found.length === 0) weighing.push(pinned.mean);
        if (weighing.length <= PINNED_WORDS_MAX) weighing.push(pinned.rarity);
        found.push(weighed(posted, pinned));
      }
      found.sort((one, other) => one.rows.length - other.rows.length);
      const [fewest = NOTHING, ...others] = found;
      const length = fewest.rows.length;
      if (room.rows.length < length)
        room = { rows: new Uint32Array(2 * length), scores: new Float64Array(2 * length) };
      const { rows, scores } = others.reduce(
        (matches, other) => both(matches, other, room),
        fewest,
      );
      return { rows, scores, weights: weighing.join(' ') };
    },
    /** After a change of texts with these words. */
    forget(words: Iterable<string>): void {
      places.forget(words);
      cached.clear();
    },
    close: (): void => stopReading?.(),
  };
};
