/** Sets of rows, one bit each: intersecting two sets of 100,000 products takes a few microseconds. */
export type RowSet = Uint32Array;

/** Creates an empty set for the rows below `end`. */
export const emptyRowSet = (end: number): RowSet => new Uint32Array((end + 31) >>> 5);

export const addRow = (set: RowSet, row: number): void => {
  set[row >>> 5] = (set[row >>> 5] ?? 0) | (1 << (row & 31));
};

export const removeRow = (set: RowSet, row: number): void => {
  set[row >>> 5] = (set[row >>> 5] ?? 0) & ~(1 << (row & 31));
};

export const hasRow = (set: RowSet, row: number): boolean =>
  (((set[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1;

/** Removes from `set` the rows that are not in `other`. */
export const intersectRows = (set: RowSet, other: RowSet): void => {
  for (let i = 0; i < set.length; i += 1) set[i] = (set[i] ?? 0) & (other[i] ?? 0);
};

export const countRows = (set: RowSet): number => {
  let count = 0;
  for (let i = 0; i < set.length; i += 1) {
    let word = set[i] ?? 0;
    word -= (word >>> 1) & 0x5555_5555;
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333);
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
  }
  return count;
};

/** Writes the rows into `into`, rising, and returns the part of it that was filled. */
export const writeRows = (set: RowSet, into: Uint32Array): Uint32Array => {
  let count = 0;
  for (let i = 0; i < set.length; i += 1) {
    for (let word = set[i] ?? 0; word !== 0; word &= word - 1) {
      into[count++] = (i << 5) + 31 - Math.clz32(word & -word);
    }
  }
  return into.subarray(0, count);
};

/** Returns the first `count` rows of `set` in the order of `rows`, or all if there are fewer. */
export const firstInOrder = (set: RowSet, rows: Uint32Array, count: number): Uint32Array => {
  const first = new Uint32Array(count);
  let found = 0;
  for (let i = 0; i < rows.length && found < count; i += 1) {
    const row = rows[i] ?? 0;
    if (hasRow(set, row)) first[found++] = row;
  }
  return first.slice(0, found);
};
