import { lowerBound } from '#src/ports/lower-bound.ts';

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

  /** Returns the block that has or would have the word, and the index of the first word that is not below it. */
  #find(word: string): { block: number; index: number } {
    const blocks = this.#blocks;
    const last = blocks.length - 1;
    // The first word of a block belongs to it, a word between two blocks to the first of them.
    const block = lowerBound(last, (index) => (blocks[index + 1]?.[0] ?? '') <= word);
    const words = blocks[block] ?? [];
    return { block, index: lowerBound(words.length, (index) => (words[index] ?? '') < word) };
  }
}
