/**
 * The first of the places 0 to `count` that is not below, where all that are below come first:
 * binary search.
 */
export const lowerBound = (count: number, isBelow: (place: number) => boolean): number => {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
