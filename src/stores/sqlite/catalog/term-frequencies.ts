/** Finds the rows of words, and how often each row has them, weighted by column. */
import type { DatabaseSync } from 'node:sqlite';
import type { CatalogColumns } from './columns.ts';
import type { Vocabulary } from './vocabulary.ts';
import { GROUP, type Postings, type WordPostings } from './word-postings.ts';

/** A word to find, or the prefix of one. */
export type QueryTerm = { word: string; isWhole: boolean };

/** Rows with any of some terms, rising, and the weighted frequency of the terms in each. */
export type TermFrequencies = { rows: Uint32Array; frequencies: Uint8Array };

const WEIGHTS = [
  { filter: '', group: GROUP.any, weight: 1, isWhole: false },
  { filter: '{category brand} :', group: GROUP.categoryOrBrand, weight: 2, isWhole: false },
  { filter: '{title sku} :', group: GROUP.titleOrSku, weight: 5, isWhole: false },
  { filter: '{title sku} :', group: GROUP.titleOrSku, weight: 5, isWhole: true },
];

/** A bit beside those of the groups: title or SKU has the whole word, not only a longer one. */
const WHOLE = 8;

/** The weight of each combination of groups, by its bits. */
const WEIGHT_OF = Uint8Array.from({ length: 2 * WHOLE }, (_, bits) =>
  WEIGHTS.reduce(
    (sum, { group, isWhole, weight }) =>
      sum + ((bits & (isWhole ? WHOLE : group)) > 0 ? weight : 0),
    0,
  ),
);

/** If more than this share of all rows may match, all are checked instead of sorting the matches. */
const SORTED_SHARE = 32;

/** Prefixes of more words, such as the first digits of SKUs, are left to FTS5. */
const WORDS_MAX = 256;

/** Quoted, so that no word is an operator; words have no quotes (vocabulary.ts). */
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
