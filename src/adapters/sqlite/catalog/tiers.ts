/** Columns begin with room for so many, and double. */
export const ROWS_AT_FIRST = 1_024;

export const grown = <A extends Float64Array | Uint32Array>(from: A, to: A): A => {
  to.set(from);
  return to;
};

/** Price tiers of all rows end to end; a row that outgrows its place gets one at the end. */
export const tierColumn = () => {
  let start = new Uint32Array(ROWS_AT_FIRST);
  let count = new Uint32Array(ROWS_AT_FIRST);
  let room = new Uint32Array(ROWS_AT_FIRST);
  let pool = new Float64Array(2 * ROWS_AT_FIRST);
  let used = 0;
  return {
    grow(size: number) {
      start = grown(start, new Uint32Array(size));
      count = grown(count, new Uint32Array(size));
      room = grown(room, new Uint32Array(size));
    },
    /** Whether they were others. */
    set(row: number, tiers: readonly number[]): boolean {
      const first = start[row] ?? 0;
      const isSame =
        tiers.length === count[row] && tiers.every((value, i) => value === pool[first + i]);
      if (isSame) return false;
      if (tiers.length > (room[row] ?? 0)) {
        while (used + tiers.length > pool.length)
          pool = grown(pool, new Float64Array(2 * pool.length));
        start[row] = used;
        room[row] = tiers.length;
        used += tiers.length;
      }
      pool.set(tiers, start[row]);
      count[row] = tiers.length;
      return true;
    },
    /** Writes into `prices`, by row, the unit price of each of `rows` at `quantity`. */
    pricesAt(quantity: number, rows: Uint32Array, prices: Float64Array) {
      for (let i = 0; i < rows.length; i += 1) {
        const row = rows[i] ?? 0;
        const first = start[row] ?? 0;
        const end = first + (count[row] ?? 0);
        let at = first;
        while (at + 2 < end && (pool[at + 2] ?? 0) <= quantity) at += 2;
        prices[row] = at < end ? (pool[at + 1] ?? 0) : Number.POSITIVE_INFINITY;
      }
    },
  };
};
