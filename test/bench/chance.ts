/** The same chance in every run, so that two runs measure the same work. */
export type Chance = {
  /** A whole number below `limit`. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  /** Characters as ids and hashes have them. */
  text(chars: number): string;
};

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** mulberry32. */
export const chanceOf = (seed: number): Chance => {
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
  };
};
