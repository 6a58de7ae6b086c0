type Entry<Value> = { value: Value; bytes: number; wasUsed: boolean };

/**
 * Values by row, of at most `bytesMax` bytes. Evicts by the CLOCK algorithm: a hand passes over the rows
 * and evicts values that were neither read nor written since its last pass. This is nearly the least
 * recently used one, but a read reorders nothing.
 */
export class ClockCache<Value> {
  readonly #bytesMax: number;
  readonly #entries: (Entry<Value> | undefined)[] = [];
  #total = 0;
  #hand = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(row: number): Value | undefined {
    const entry = this.#entries[row];
    if (!entry) return undefined;
    entry.wasUsed = true;
    return entry.value;
  }

  set(row: number, value: Value, bytes: number): void {
    this.delete(row);
    // Without holes, which would turn the array into a dictionary.
    while (this.#entries.length <= row) this.#entries.push(undefined);
    this.#entries[row] = { value, bytes, wasUsed: true };
    this.#total += bytes;
    while (this.#total > this.#bytesMax) {
      this.#hand = (this.#hand + 1) % this.#entries.length;
      const entry = this.#entries[this.#hand];
      if (entry?.wasUsed) entry.wasUsed = false;
      else this.delete(this.#hand);
    }
  }

  delete(row: number): void {
    this.#total -= this.#entries[row]?.bytes ?? 0;
    if (row < this.#entries.length) this.#entries[row] = undefined;
  }
}
