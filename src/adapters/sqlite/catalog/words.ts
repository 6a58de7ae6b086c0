/**
 * How text becomes words: the one rule for what is indexed and for what is asked. Lower case,
 * without accents, in compatibility form, so that a full-width or composed letter is the plain one.
 */
import { lowerBound } from '#src/adapters/lower-bound.ts';

const BEYOND_ASCII = /[^\0-\x7f]/;
const ASCII_WORD = /[a-z0-9]+/g;
const ACCENTS = /[\u0300-\u036f]+/g;

/** Han and kana stand alone: their words have no spaces between them to begin at. */
const ALONE = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const WORD = new RegExp(`${ALONE}|[[\\p{L}\\p{N}\\p{M}]--${ALONE}]+`, 'gv');

export const wordsOf = (text: string): string[] => {
  if (!BEYOND_ASCII.test(text)) return text.toLowerCase().match(ASCII_WORD) ?? [];
  const folded = text.normalize('NFKD').replace(ACCENTS, '').normalize('NFC').toLowerCase();
  return folded.match(WORD) ?? [];
};

/** One letter more, fewer, other, or two neighbours exchanged. */
export const isOneApart = (one: string, other: string): boolean => {
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
  const exchanged = one[same] === other[same + 1] && one[same + 1] === other[same];
  return exchanged && same < one.length && one.slice(same + 2) === other.slice(same + 2);
};

/** In a word of three letters another letter is another word: only an exchange is a typo. */
const TYPO_LETTERS_MIN = 4;
const EXCHANGE_LETTERS_MIN = 3;
const NEAR_WORDS_MAX = 20;

/** A number one digit off is another number, and a sku one digit off another product. */
const LETTERS_ONLY = /^[^\p{N}]{3,}$/u;

export type Vocabulary = {
  has(word: string): boolean;
  add(word: string): void;
  /** Known words that begin so, in order; undefined where they are more than `max`. */
  beginning(start: string, max: number): string[] | undefined;
  /** Those of letters alone: numbers and skus stand in few products each. */
  ofLetters(): string[];
  /** Known words one typo away from `word`, in order. */
  near(word: string): string[];
};

/** Where `word` stands among words in order, or would stand. */
const placeOf = (ordered: readonly string[], word: string): number =>
  lowerBound(ordered.length, (place) => (ordered[place] ?? '') < word);

/**
 * One typo in four letters or more spares the first letter or the last, so words are filed by both:
 * a search looks at two short lists, not at every word.
 */
export const vocabulary = (): Vocabulary => {
  const words = new Set<string>();
  /** Of all of them, once somebody has asked for it. */
  let ordered: string[] | undefined;
  const filed = new Map<string, string[]>();
  const file = (end: string, word: string): void => {
    const list = filed.get(end);
    if (list) list.push(word);
    else filed.set(end, [word]);
  };
  const ends = (word: string): [string, string] => [`${word.slice(0, 1)}-`, `-${word.slice(-1)}`];
  return {
    has: (word) => words.has(word),
    add(word) {
      if (words.has(word)) return;
      words.add(word);
      ordered?.splice(placeOf(ordered, word), 0, word);
      if (LETTERS_ONLY.test(word)) for (const end of ends(word)) file(end, word);
    },
    near(word) {
      if (word.length < EXCHANGE_LETTERS_MIN || !LETTERS_ONLY.test(word)) return [];
      const isTypo = word.length < TYPO_LETTERS_MIN ? isExchange : isOneApart;
      const candidates = ends(word).flatMap((end) => filed.get(end) ?? []);
      const near = new Set(candidates.filter((candidate) => isTypo(word, candidate)));
      return [...near].sort().slice(0, NEAR_WORDS_MAX);
    },
    beginning(start, max) {
      ordered ??= [...words].sort();
      const first = placeOf(ordered, start);
      let end = first;
      while (end - first <= max && ordered[end]?.startsWith(start)) end += 1;
      return end - first > max ? undefined : ordered.slice(first, end);
    },
    ofLetters: () => [...words].filter((word) => LETTERS_ONLY.test(word)),
  };
};
