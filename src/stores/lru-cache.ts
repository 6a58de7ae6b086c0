/** Evicts the least recently used values once all weights together exceed `weightMax`. */
export class LruCache<Key, Value> {
  readonly #entries = new Map<Key, { value: Value; weight: number }>();
  readonly #weightMax: number;
  #total = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(key: Key): Value | undefined {
    const entries = this.#entries;
    const entry = entries.get(key);
    if (!entry) return undefined;
    entries.delete(key);
    entries.set(key, entry);
    return entry.value;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  /** Stores the value even if it alone exceeds the limit. */
  set(key: Key, value: Value, weight: number): void {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#total += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#total <= this.#weightMax || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    this.#total -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }

  clear(): void {
    if (this.#entries.size === 0) return;
    this.#entries.clear();
    this.#total = 0;
  }
}
