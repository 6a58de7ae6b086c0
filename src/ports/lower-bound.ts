/**
 * Returns the first index from 0 to `count` for which `isBelow` is false, or `count`. `isBelow` must
 * be true only for a prefix of the indexes. Binary search.
 */
export const lowerBound = (count: number, isBelow: (index: number) => boolean): number => {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
