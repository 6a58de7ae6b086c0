/** Initial length of columns, which double when they are full. */
export const INITIAL_ROWS = 1_024;

/** Copies `from` into the longer `to`, and returns `to`. */
export const copyInto = <A extends Float64Array | Uint32Array>(from: A, to: A): A => {
  to.set(from);
  return to;
};

/** Price tiers of all rows in one array; a row that outgrows its space gets a new one at the end. */
export class PriceTierColumn {
  #start = new Uint32Array(INITIAL_ROWS);
  #count = new Uint32Array(INITIAL_ROWS);
  #capacity = new Uint32Array(INITIAL_ROWS);
  #pool = new Float64Array(2 * INITIAL_ROWS);
  #used = 0;

  grow(size: number): void {
    this.#start = copyInto(this.#start, new Uint32Array(size));
    this.#count = copyInto(this.#count, new Uint32Array(size));
    this.#capacity = copyInto(this.#capacity, new Uint32Array(size));
  }

  /** `tiers` alternates quantity and price. Returns whether they have changed. */
  set(row: number, tiers: readonly number[]): boolean {
    const first = this.#start[row] ?? 0;
    const isSame =
      tiers.length === this.#count[row] &&
      tiers.every((value, i) => value === this.#pool[first + i]);
    if (isSame) return false;
    if (tiers.length > (this.#capacity[row] ?? 0)) {
      while (this.#used + tiers.length > this.#pool.length)
        this.#pool = copyInto(this.#pool, new Float64Array(2 * this.#pool.length));
      this.#start[row] = this.#used;
      this.#capacity[row] = tiers.length;
      this.#used += tiers.length;
    }
    this.#pool.set(tiers, this.#start[row]);
    this.#count[row] = tiers.length;
    return true;
  }

  /** Writes the unit price of each of `rows` at `quantity` into `prices`, indexed by row. */
  writePrices(quantity: number, rows: Uint32Array, prices: Float64Array): void {
    const [start, count, pool] = [this.#start, this.#count, this.#pool];
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const first = start[row] ?? 0;
      const end = first + (count[row] ?? 0);
      let at = first;
      while (at + 2 < end && (pool[at + 2] ?? 0) <= quantity) at += 2;
      prices[row] = at < end ? (pool[at + 1] ?? 0) : Number.POSITIVE_INFINITY;
    }
  }
}
