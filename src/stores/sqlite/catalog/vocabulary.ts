/**
 * Splits text into words, the same way for the index and for queries: lower case, without accents, in
 * compatibility form, so that a full-width or composed letter equals the plain one.
 */
import { SortedWords } from './sorted-words.ts';

const NON_ASCII = /[^\0-\x7f]/;
const ASCII_WORD = /[a-z0-9]+/g;
const ACCENTS = /[\u0300-\u036f]+/g;

/** Each Han or kana character is a word, because these scripts have no spaces between words. */
const ALONE = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const WORD = new RegExp(`${ALONE}|[[\\p{L}\\p{N}\\p{M}]--${ALONE}]+`, 'gv');

export const splitWords = (text: string): string[] => {
  if (!NON_ASCII.test(text)) return text.toLowerCase().match(ASCII_WORD) ?? [];
  const folded = text.normalize('NFKD').replace(ACCENTS, '').normalize('NFC').toLowerCase();
  return folded.match(WORD) ?? [];
};

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
