/**
 * Returns the first `count` rows in rising order of `column`; `ties`, unique by row, decides between
 * equal values. A heap has the best rows so far, with the worst of them on top, so that one comparison
 * rejects most rows.
 */
export const topRows = (
  rows: Uint32Array,
  { column, ties }: { column: Float64Array; ties: Float64Array },
  count: number,
): Uint32Array => {
  const compare = (one: number, other: number): number => {
    const a = column[one] ?? 0;
    const b = column[other] ?? 0;
    // Not a - b, which is NaN for two infinities.
    if (a !== b) return a < b ? -1 : 1;
    return (ties[one] ?? 0) - (ties[other] ?? 0);
  };
  if (count >= rows.length) return rows.slice().sort(compare);

  const heap = rows.slice(0, count);
  const sink = (from: number): void => {
    const sinking = heap[from] ?? 0;
    let at = from;
    for (let child = 2 * at + 1; child < count; child = 2 * at + 1) {
      const next = heap[child] ?? 0;
      if (child + 1 < count && compare(next, heap[child + 1] ?? 0) < 0) child += 1;
      const worst = heap[child] ?? 0;
      if (compare(sinking, worst) >= 0) break;
      heap[at] = worst;
      at = child;
    }
    heap[at] = sinking;
  };
  for (let at = count >> 1; at >= 0; at -= 1) sink(at);
  let limit = column[heap[0] ?? 0] ?? 0;
  for (let i = count; i < rows.length; i += 1) {
    const row = rows[i] ?? 0;
    if ((column[row] ?? 0) > limit || compare(row, heap[0] ?? 0) > 0) continue;
    heap[0] = row;
    sink(0);
    limit = column[heap[0] ?? 0] ?? 0;
  }
  return heap.sort(compare);
};

/** Returns `rows`, all below `end`, in the order that all rows have in `order`, without comparing any. */
export const sortAs = (order: Uint32Array, rows: Uint32Array, end: number): Uint32Array => {
  const isWanted = new Uint8Array(end);
  for (let i = 0; i < rows.length; i += 1) isWanted[rows[i] ?? 0] = 1;
  return order.filter((row) => isWanted[row] === 1);
};
