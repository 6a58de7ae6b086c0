/** Sets of rows, a bit each: two conditions on 100,000 products meet in some microseconds. */
export type Bits = Uint32Array;

export const bitsFor = (rows: number): Bits => new Uint32Array((rows + 31) >>> 5);

export const addRow = (bits: Bits, row: number): void => {
  bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << (row & 31));
};

export const removeRow = (bits: Bits, row: number): void => {
  bits[row >>> 5] = (bits[row >>> 5] ?? 0) & ~(1 << (row & 31));
};

export const hasRow = (bits: Bits, row: number): boolean =>
  (((bits[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1;

export const keepCommon = (bits: Bits, other: Bits): void => {
  for (let i = 0; i < bits.length; i += 1) bits[i] = (bits[i] ?? 0) & (other[i] ?? 0);
};

export const countRows = (bits: Bits): number => {
  let count = 0;
  for (let i = 0; i < bits.length; i += 1) {
    let word = bits[i] ?? 0;
    word -= (word >>> 1) & 0x5555_5555;
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333);
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
  }
  return count;
};

/** Rising, into `into`, which has room for all; the part of it that was filled. */
export const rowsOfBits = (bits: Bits, into: Uint32Array): Uint32Array => {
  let count = 0;
  for (let i = 0; i < bits.length; i += 1) {
    for (let word = bits[i] ?? 0; word !== 0; word &= word - 1) {
      into[count++] = (i << 5) + 31 - Math.clz32(word & -word);
    }
  }
  return into.subarray(0, count);
};
