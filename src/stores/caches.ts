/** Caches of a bounded size. */

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

/**
 * A cache of about `entriesMax` entries in two generations: when the young one holds half of them, it
 * becomes the old one, and the old one is dropped whole. Evicts almost what an LRU cache evicts, but
 * a hit in the young generation reorders nothing, which costs more in a large Map than it saves.
 */
export class GenerationCache<Key, Value> {
  readonly #youngMax: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(entriesMax: number) {
    this.#youngMax = entriesMax / 2;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#youngMax) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: Key): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Walks over both generations. */
  deleteWhere(isUnwanted: (value: Value) => boolean): void {
    for (const values of [this.#young, this.#old])
      for (const [key, value] of values) if (isUnwanted(value)) values.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
