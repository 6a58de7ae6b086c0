/** Words of products and of searches: how texts are cut, which words there are, and which products contain each. */
import { DatabaseSync } from 'node:sqlite';
import { splitWords } from '#src/ports/folded-text.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import type { Pause } from '#src/ports/system.ts';
import { LruCache } from '#src/stores/caches.ts';
import type { CatalogColumns } from './columns.ts';

/** Rows of a word, rising, and for each the column groups that contain the word, as bits. */
type Postings = { rows: Uint32Array; groups: Uint8Array };

/** The groups of columns that have a weight of their own. */
const GROUP = { any: 1, categoryOrBrand: 2, titleOrSku: 4 } as const;

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

/** The groups in which changed rows contain a word now, by word and row; 0 if a row no longer contains it. */
export type WordChanges = Map<string, Map<number, number>>;

export const addWordChange = (
  changes: WordChanges,
  { word, row, groups }: { word: string; row: number; groups: number },
): void => {
  const rows = changes.get(word) ?? new Map<number, number>();
  changes.set(word, rows.set(row, (rows.get(row) ?? 0) | groups));
};

/** 40 MB: the words of half a million products. */
const POSTINGS_ROWS_MAX = 8_000_000;
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

/** One number for each column of a row that contains the word. */
const POSTING = `doc * ${GROUP_BITS} + case col
  when 'title' then ${TITLE_OR_SKU}
  when 'sku' then ${TITLE_OR_SKU}
  when 'category' then ${CATEGORY_OR_BRAND}
  when 'brand' then ${CATEGORY_OR_BRAND}
  else ${GROUP.any} end`;

/**
 * The postings of each word, read from the file once, cached and kept up to date, so that those of a prefix are the
 * union of those of its few words. FTS5 walks the postings of a prefix in the file, once per column group: 10 to 60 ms
 * for prefixes that occur in 20,000 to 100,000 rows.
 */
export class WordPostings {
  readonly #db;
  readonly #select;
  readonly #cache = new LruCache<string, Postings>(POSTINGS_ROWS_MAX);
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
      if (rows > POSTINGS_ROWS_MAX) return;
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

/** A word to find, or the prefix of one. */
export type QueryTerm = { word: string; isWhole: boolean };

/** Rows with any of some terms, rising, and the weighted frequency of the terms in each. */
type TermFrequencies = { rows: Uint32Array; frequencies: Uint8Array };

const WEIGHTS = [
  { filter: '', group: GROUP.any, weight: 1, isWhole: false },
  { filter: '{category brand} :', group: GROUP.categoryOrBrand, weight: 2, isWhole: false },
  { filter: '{title sku} :', group: GROUP.titleOrSku, weight: 5, isWhole: false },
  { filter: '{title sku} :', group: GROUP.titleOrSku, weight: 5, isWhole: true },
];

/** A bit beside those of the groups: title or SKU contains the whole word, not only a longer one. */
const WHOLE = 8;

/** The weight of each combination of groups, by its bits. */
const WEIGHT_OF = Uint8Array.from({ length: 2 * WHOLE }, (_, bits) =>
  WEIGHTS.reduce(
    (sum, { group, isWhole, weight }) =>
      sum + ((bits & (isWhole ? WHOLE : group)) > 0 ? weight : 0),
    0,
  ),
);

/** The least weighted frequency of a word in a row whose title or codes have it. */
const TITLE_FREQUENCY = WEIGHT_OF[TITLE_OR_SKU] ?? 0;

/** If more than this share of all rows may match, all are checked instead of sorting the matches. */
const SORTED_SHARE = 32;

/** Prefixes of more words, such as the first digits of SKUs, are left to FTS5. */
const WORDS_MAX = 256;

/** Quoted, so that no word is an operator; words have no quotes (folded-text.ts). */
const ftsTerm = (word: string, isWhole: boolean): string => (isWhole ? `"${word}"` : `"${word}" *`);

/** Frequency or column groups by row, for the call that runs; all 0 between calls. */
let scratch = new Uint8Array(0);

const scratchFor = (end: number): Uint8Array => {
  if (scratch.length < end) scratch = new Uint8Array(2 * end);
  return scratch;
};

/** Moves the values of `rows` out of the scratch array, skipping rows without one. */
const takeValues = (rows: Uint32Array, frequencyOf: (value: number) => number): TermFrequencies => {
  const values = scratch;
  const found = new Uint32Array(rows.length);
  const frequencies = new Uint8Array(rows.length);
  let count = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const value = values[row] ?? 0;
    if (value === 0) continue;
    values[row] = 0;
    found[count] = row;
    frequencies[count++] = frequencyOf(value);
  }
  return { rows: found.slice(0, count), frequencies: frequencies.slice(0, count) };
};

/** Prepares finding terms by FTS5 in the file. */
export const prepareFileFinder = (db: DatabaseSync, columns: CatalogColumns) => {
  const select = db.prepare(
    'select json_group_array(rowid) as rows from product_text where product_text match ?',
  );
  const match = (filter: string, terms: readonly string[]): number[] => {
    const rows = select.get(`${filter} (${terms.join(' OR ')})`)?.['rows'];
    return JSON.parse(String(rows ?? '[]')) as number[];
  };
  return (terms: readonly QueryTerm[]): TermFrequencies => {
    const matches = WEIGHTS.map(({ filter, isWhole }) =>
      match(
        filter,
        terms.map((term) => ftsTerm(term.word, isWhole || term.isWhole)),
      ),
    );
    const frequency = scratchFor(columns.end);
    for (const [index, { weight }] of WEIGHTS.entries())
      for (const row of matches[index] ?? []) frequency[row] = (frequency[row] ?? 0) + weight;
    // The first match is in any column, so it includes all rows.
    return takeValues(Uint32Array.from(matches[0] ?? []), (value) => value);
  };
};

type CachedWords = {
  postings: Pick<WordPostings, 'of'>;
  vocabulary: Vocabulary;
  columns: CatalogColumns;
};

/** Finds terms by the cached postings of their words. Returns undefined if they have too many. */
export const findInPostings = (
  { postings, vocabulary, columns }: CachedWords,
  terms: readonly QueryTerm[],
): TermFrequencies | undefined => {
  const words = wordsOf(vocabulary, terms);
  if (!words || words.size > WORDS_MAX) return undefined;
  const lists = [...words].map(([word, isWhole]) => ({ ...postings.of(word), isWhole }));
  const marks = scratchFor(columns.end);
  for (const list of lists) addMarks(marks, list, list.isWhole);
  const candidates = candidatesIn(
    lists.map(({ rows }) => rows),
    columns.end,
  );
  return takeValues(candidates, (value) => WEIGHT_OF[value] ?? 0);
};

/** Maps each word that a term matches to whether it is the term itself. */
const wordsOf = (
  vocabulary: Vocabulary,
  terms: readonly QueryTerm[],
): Map<string, boolean> | undefined => {
  const words = new Map<string, boolean>();
  for (const { word, isWhole } of terms) {
    const matching = isWhole ? [word] : vocabulary.wordsWithPrefix(word, WORDS_MAX);
    if (!matching) return undefined;
    for (const one of matching) words.set(one, words.get(one) === true || one === word);
  }
  return words;
};

const addMarks = (marks: Uint8Array, { rows, groups }: Postings, isWhole: boolean): void => {
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    const group = groups[i] ?? 0;
    const whole = isWhole && (group & GROUP.titleOrSku) > 0 ? WHOLE : 0;
    marks[row] = (marks[row] ?? 0) | group | whole;
  }
};

let everyRow = new Uint32Array(0);

/** Returns rows, rising and with repetitions, that include all of the lists. */
const candidatesIn = (lists: readonly Uint32Array[], end: number): Uint32Array => {
  const [only] = lists;
  if (only && lists.length === 1) return only;
  const total = lists.reduce((sum, { length }) => sum + length, 0);
  if (total * SORTED_SHARE > end) {
    if (everyRow.length < end) everyRow = new Uint32Array(2 * end).map((_, row) => row);
    return everyRow.subarray(0, end);
  }
  const rows = new Uint32Array(total);
  let at = 0;
  for (const list of lists) {
    rows.set(list, at);
    at += list.length;
  }
  return rows.sort();
};

const BLOCK_WORDS_MAX = 1_024;

/**
 * A sorted set of words. It has blocks, so that adding one word to a million moves a thousand at most: an array would
 * move all, and a Set rehashes all whenever it doubles.
 */
export class SortedWords {
  /** None is empty, except the first one before any word is added. */
  readonly #blocks: string[][] = [[]];

  has(word: string): boolean {
    const { block, index } = this.#find(word);
    return this.#blocks[block]?.[index] === word;
  }

  /** Returns whether the word is new. */
  add(word: string): boolean {
    const { block, index } = this.#find(word);
    const words = this.#blocks[block] ?? [];
    if (words[index] === word) return false;
    words.splice(index, 0, word);
    // A word added at the end begins a block, because words often come in order.
    if (words.length > BLOCK_WORDS_MAX) {
      const from = index === BLOCK_WORDS_MAX ? index : BLOCK_WORDS_MAX / 2;
      this.#blocks.splice(block + 1, 0, words.splice(from));
    }
    return true;
  }

  /** Returns the words that begin with `start`; undefined if there are more than `max`. */
  withPrefix(start: string, max: number): string[] | undefined {
    const found: string[] = [];
    let { block, index } = this.#find(start);
    for (; block < this.#blocks.length; block += 1, index = 0)
      for (const word of this.#blocks[block]?.slice(index, index + max + 1) ?? []) {
        if (!word.startsWith(start)) return found;
        if (found.push(word) > max) return undefined;
      }
    return found;
  }

  /** Returns the block that contains or would contain the word, and the index of the first word that is not below it. */
  #find(word: string): { block: number; index: number } {
    const blocks = this.#blocks;
    const last = blocks.length - 1;
    // The first word of a block belongs to it, a word between two blocks to the first of them.
    const block = lowerBound(last, (index) => (blocks[index + 1]?.[0] ?? '') <= word);
    const words = blocks[block] ?? [];
    return { block, index: lowerBound(words.length, (index) => (words[index] ?? '') < word) };
  }
}

/** Whether the words differ by one inserted, removed or replaced letter, or by two exchanged ones. */
const isOneTypoApart = (one: string, other: string): boolean => {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let same = 0;
  while (same < short.length && short[same] === long[same]) same += 1;
  if (short.length < long.length) return short.slice(same) === long.slice(same + 1);
  if (same === short.length) return false;
  return short.slice(same + 1) === long.slice(same + 1) || isExchange(one, other);
};

const isExchange = (one: string, other: string): boolean => {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const areExchanged = one[same] === other[same + 1] && one[same + 1] === other[same];
  return areExchanged && same < one.length && one.slice(same + 2) === other.slice(same + 2);
};

/** In a word of three letters, only an exchange is a typo: another letter makes another word. */
const TYPO_LETTERS_MIN = 4;
const EXCHANGE_LETTERS_MIN = 3;
const NEAR_WORDS_MAX = 20;

/** Without digits, because one other digit makes another number or another product's SKU. */
const LETTERS_ONLY = /^[^\p{N}]{3,}$/u;

/** A typo in four letters or more changes the first or the last letter, but never both. */
const endsOf = (word: string): [string, string] => [`${word.slice(0, 1)}-`, `-${word.slice(-1)}`];

export class Vocabulary {
  readonly #words = new SortedWords();
  /** Words of letters by each of their ends: a search for typos reads two short lists. */
  readonly #byEnd = new Map<string, string[]>();

  has(word: string): boolean {
    return this.#words.has(word);
  }

  add(word: string): void {
    if (!this.#words.add(word) || !LETTERS_ONLY.test(word)) return;
    for (const end of endsOf(word)) {
      const words = this.#byEnd.get(end);
      if (words) words.push(word);
      else this.#byEnd.set(end, [word]);
    }
  }

  /** Returns the words that begin with `start`, sorted; undefined if there are more than `max`. */
  wordsWithPrefix(start: string, max: number): string[] | undefined {
    return this.#words.withPrefix(start, max);
  }

  /** Yields the words without digits. Numbers and SKUs are in few products each. */
  *wordsOfLetters(): Generator<string> {
    for (const [end, words] of this.#byEnd) if (end.endsWith('-')) yield* words;
  }

  /** Returns the words that are one typo away from `word`, sorted. */
  wordsNear(word: string): string[] {
    if (word.length < EXCHANGE_LETTERS_MIN || !LETTERS_ONLY.test(word)) return [];
    const isTypo = word.length < TYPO_LETTERS_MIN ? isExchange : isOneTypoApart;
    const candidates = endsOf(word).flatMap((end) => this.#byEnd.get(end) ?? []);
    const near = new Set(candidates.filter((candidate) => isTypo(word, candidate)));
    return [...near].sort().slice(0, NEAR_WORDS_MAX);
  }
}

/** Rows, rising, and the score of each: the higher, the better the match. */
export type Matches = { rows: Uint32Array; scores: Float64Array };

/**
 * How rare a word is, in eighths, and the mean number of words in a product. Rounded, so that they
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

/**
 * BM25 with a word counted once per column group. FTS5's bm25() reads the positions and the length of
 * each match from the file: 30 to 180 ms for a word in 20,000 to 90,000 of 100,000 products.
 */
const K1 = 1.2;
const B = 0.75;
/** Scores are integers, so that a sum does not depend on its order. */
const SCALE = 1_000_000;
/** A page's mark has space for the weights of this many words; people search for three. Others are left out. */
const WORDS_USED_MAX = 50;
/** Stands in the weights of a mark for a word that was left out. */
const LEFT_OUT = '-';

/** A word of a search that products have, and its place in the search. */
type Term = Matches & { place: number; weight: WordWeight; matches: WordMatches };

/** `relaxed`: the words that were left out. */
export type TextMatches = Matches & { weights: string; relaxed: string[] };

/** The weights of the terms as a mark has them, so that the next page uses the same words with the same weights. */
const pinsOf = (kept: readonly Term[], words: number): string => {
  const pins = Array.from({ length: Math.min(words, WORDS_USED_MAX) }, () => LEFT_OUT);
  for (const { place, weight } of kept) pins[place] = String(weight.rarity);
  return [kept[0]?.weight.mean ?? 0, ...pins].join(' ');
};

/** Whether a title or code has the word (2), a category or brand (1), or only other texts (0). */
const importanceOf = ({ frequencies }: TermFrequencies): number => {
  let most = 0;
  for (let i = 0; i < frequencies.length && most < TITLE_FREQUENCY; i += 1)
    most = Math.max(most, frequencies[i] ?? 0);
  return most >= TITLE_FREQUENCY ? 2 : Number(most > 1);
};

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

/** Writes the common rows and the sums of their scores into `into`, which can be `a` or `b`. */
const intersect = (a: Matches, b: Matches, into: Matches): Matches => {
  const { rows, scores } = into;
  const [one, other] = a.rows.length <= b.rows.length ? [a, b] : [b, a];
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

/** Scores each row; depends on other products only by the weight. */
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
   * Returns the products that match every word, none if there is no word; valid until the next call. Leaves out words that no
   * product has. If no product has all others, keeps those of titles and codes first, then those of categories and brands,
   * then the rest, equal ones as they were typed: each as long as a product has it beside those that are kept. With the
   * `weights` of an earlier match of the same text, it leaves out the same words, and unchanged products score as they did.
   */
  match(text: string, weights?: string): TextMatches {
    this.#stopReading ??= this.#postings.readAhead(this.#vocabulary.wordsOfLetters(), this.#pause);
    const words = [...new Set(splitWords(text))];
    const [mean, ...pinned] = weights?.split(' ') ?? [];
    const terms: Term[] = [];
    for (const [place, word] of words.entries()) {
      const earlier = pinned[place];
      if (place >= WORDS_USED_MAX || earlier === LEFT_OUT) continue;
      const matches = this.#matchesOf(word);
      if (matches.rows.length === 0 && weights === undefined) continue;
      const weight = earlier === undefined ? matches : { rarity: +earlier, mean: Number(mean) };
      const { rows, scores } = this.#weigh(matches, weight);
      terms.push({ place, rows, scores, weight, matches });
    }
    const all = this.#intersectAll(terms);
    const isKept = all.rows.length > 0 || weights !== undefined || terms.length < 2;
    const { kept, found } = isKept ? { kept: terms, found: all } : this.#intersectMost(terms);
    return {
      ...found,
      weights: pinsOf(kept, words.length),
      relaxed:
        kept.length === 0 ? [] : words.filter((_, at) => !kept.some(({ place }) => place === at)),
    };
  }

  /** Call after texts have changed. */
  change(words: WordChanges): void {
    this.#postings.change(words);
    this.#cache.clear();
  }

  close(): void {
    this.#stopReading?.();
  }

  #intersectAll(terms: readonly Matches[]): Matches {
    const [fewest = NOTHING, ...others] = terms.toSorted(
      (one, other) => one.rows.length - other.rows.length,
    );
    const scratch = this.#scratchFor(fewest);
    return others.reduce((matches, other) => intersect(matches, other, scratch), fewest);
  }

  /** Keeps the more important terms, each as long as a row has it beside those that are kept. */
  #intersectMost(terms: readonly Term[]): { kept: Term[]; found: Matches } {
    const [first, ...others] = terms
      .map((term) => ({ term, importance: importanceOf(term.matches) }))
      .sort((one, other) => other.importance - one.importance)
      .map(({ term }) => term);
    if (!first) throw new Error('there is no term to keep');
    const kept = [first];
    let found: Matches = first;
    const scratch = this.#scratchFor(first);
    for (const term of others) {
      // Without common rows, nothing is written, and what was found remains.
      const common = intersect(found, term, scratch);
      if (common.rows.length === 0) continue;
      kept.push(term);
      found = common;
    }
    return { kept, found };
  }

  #scratchFor({ rows: { length } }: Matches): Matches {
    if (this.#scratch.rows.length < length)
      this.#scratch = { rows: new Uint32Array(2 * length), scores: new Float64Array(2 * length) };
    return this.#scratch;
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
