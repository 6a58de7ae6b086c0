export type Cache<Key, Value> = {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value, weight: number): void;
  drop(key: Key): void;
  clear(): void;
};

/** The most recently used values whose weights add up to at most `weightMax`. */
export const recentlyUsed = <Key, Value>(weightMax: number): Cache<Key, Value> => {
  const kept = new Map<Key, { value: Value; weight: number }>();
  let total = 0;
  return {
    get(key) {
      const entry = kept.get(key);
      if (!entry) return undefined;
      kept.delete(key);
      kept.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      total += weight - (kept.get(key)?.weight ?? 0);
      kept.delete(key);
      kept.set(key, { value, weight });
      for (const [oldest, entry] of kept) {
        if (total <= weightMax || oldest === key) break;
        kept.delete(oldest);
        total -= entry.weight;
      }
    },
    drop(key) {
      total -= kept.get(key)?.weight ?? 0;
      kept.delete(key);
    },
    clear() {
      kept.clear();
      total = 0;
    },
  };
};
