/** A pseudo-random generator with a fixed seed, so that all runs measure the same work. */
export type Random = {
  /** Returns an integer from 0 to below `limit`. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  /** Returns characters of the alphabet of ids and hashes. */
  text(chars: number): string;
  /** Returns an id that a server accepts for an event. */
  uuid(): string;
};

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** Implements mulberry32. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number): number => next() % limit;
  return {
    below,
    pick: (values) => {
      const value = values[below(values.length)];
      if (value === undefined) throw new Error('there is nothing to pick from');
      return value;
    },
    text: (chars) => {
      let text = '';
      while (text.length < chars) {
        let bits = next();
        for (let i = 0; i < 6 && text.length < chars; i++, bits >>>= 5) text += BASE32[bits & 31];
      }
      return text;
    },
    uuid: () => {
      const bits = next() * 65_536 + (next() >>> 16);
      return `00000000-0000-7000-8000-${bits.toString(16).padStart(12, '0')}`;
    },
  };
};
