/** In which rows words stand, and how much is seen of them in each: from the file, or from memory. */
import type { DatabaseSync } from 'node:sqlite';
import type { Columns } from './columns.ts';
import { GROUP, type Places, type wordPlaces } from './places.ts';
import type { Vocabulary } from './words.ts';

const NOTHING: Seen = { rows: new Uint32Array(0), seen: new Uint8Array(0) };

const WEIGHTS = [
  { columns: '', group: GROUP.any, weight: 1, whole: false },
  { columns: '{category brand} :', group: GROUP.categoryOrBrand, weight: 2, whole: false },
  { columns: '{title sku} :', group: GROUP.titleOrSku, weight: 5, whole: false },
  { columns: '{title sku} :', group: GROUP.titleOrSku, weight: 5, whole: true },
];

/** The word itself stands in title or sku, not only one that it begins. */
const WHOLE = 8;

/** What each set of groups weighs, by its bits. */
const WEIGHT_OF = Uint8Array.from({ length: 2 * WHOLE }, (_, bits) =>
  WEIGHTS.reduce(
    (sum, { group, whole, weight }) => sum + ((bits & (whole ? WHOLE : group)) > 0 ? weight : 0),
    0,
  ),
);

/** Of all rows: fewer are sorted. */
const SORTED_SHARE = 32;

/** Beginnings of more words, as the first digits of skus, are left to the file. */
const WORDS_MAX = 256;

/** Quoted, so that no word is ever an operator: a word has no quotes in it (words.ts). */
const term = (word: string, whole: boolean): string => (whole ? `"${word}"` : `"${word}" *`);

export type Near = { word: string; whole: boolean };

/** Rows rising of words of which one is enough, and how much was seen of them in each. */
export type Seen = { rows: Uint32Array; seen: Uint8Array };

/** As FTS5 finds them in the file. */
export const inFile = (db: DatabaseSync, columns: Columns) => {
  const select = db.prepare(
    'select json_group_array(rowid) as rows from product_text where product_text match ?',
  );
  let frequency = new Uint8Array(0);

  const rowsOf = (expression: string): number[] =>
    JSON.parse(String(select.get(expression)?.['rows'] ?? '[]')) as number[];

  return (words: readonly Near[]): Seen => {
    if (frequency.length < columns.end()) frequency = new Uint8Array(2 * columns.end());
    let { rows } = NOTHING;
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
    const seen = new Uint8Array(rows.length);
    for (let i = 0; i < rows.length; i += 1) seen[i] = frequency[rows[i] ?? 0] ?? 0;
    return { rows, seen };
  };
};

/** The same of the places of their words; undefined where those are too many. */
export const inPlaces = (
  { of }: Pick<ReturnType<typeof wordPlaces>, 'of'>,
  vocabulary: Vocabulary,
  columns: Columns,
) => {
  let bits = new Uint8Array(0);
  let every = new Uint32Array(0);

  const mark = ({ rows, groups }: Places, isWhole: boolean): void => {
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const group = groups[i] ?? 0;
      const whole = isWhole && (group & GROUP.titleOrSku) > 0 ? WHOLE : 0;
      bits[row] = (bits[row] ?? 0) | group | whole;
    }
  };

  /** Rows rising, among which are all of these, some more than once: to sort many costs more than to look at all. */
  const rising = (lists: readonly Uint32Array[]): Uint32Array => {
    const [only] = lists;
    if (only && lists.length === 1) return only;
    const end = columns.end();
    const total = lists.reduce((sum, { length }) => sum + length, 0);
    if (total * SORTED_SHARE > end) {
      if (every.length < end) every = Uint32Array.from({ length: 2 * end }, (_, row) => row);
      return every.subarray(0, end);
    }
    const rows = new Uint32Array(total);
    let at = 0;
    for (const list of lists) {
      rows.set(list, at);
      at += list.length;
    }
    return rows.sort();
  };

  /** Those that are marked, each once; the marks are gone then. */
  const taken = (candidates: Uint32Array): Seen => {
    const rows = new Uint32Array(candidates.length);
    const seen = new Uint8Array(candidates.length);
    let count = 0;
    for (let i = 0; i < candidates.length; i += 1) {
      const row = candidates[i] ?? 0;
      const marks = bits[row] ?? 0;
      if (marks === 0) continue;
      bits[row] = 0;
      rows[count] = row;
      seen[count++] = WEIGHT_OF[marks] ?? 0;
    }
    return { rows: rows.slice(0, count), seen: seen.slice(0, count) };
  };

  return (words: readonly Near[]): Seen | undefined => {
    const known = new Map<string, boolean>();
    for (const { word, whole } of words) {
      const begun = whole ? [word] : vocabulary.beginning(word, WORDS_MAX);
      if (!begun) return undefined;
      for (const one of begun) known.set(one, known.get(one) === true || one === word);
    }
    if (known.size > WORDS_MAX) return undefined;
    if (bits.length < columns.end()) bits = new Uint8Array(2 * columns.end());
    const places = [...known].map(([word, isWhole]) => ({ of: of(word), isWhole }));
    for (const one of places) mark(one.of, one.isWhole);
    return taken(rising(places.map((one) => one.of.rows)));
  };
};
