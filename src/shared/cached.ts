/**
 * Returns `make` with a cache of its results, for one that costs far more than a lookup. A full cache is emptied: at
 * most `max` results are stored, and none is when `make` throws.
 */
export const cached = <Key, Value extends {}>(
  max: number,
  make: (key: Key) => Value,
): ((key: Key) => Value) => {
  const values = new Map<Key, Value>();
  return (key) => {
    const stored = values.get(key);
    if (stored !== undefined) return stored;
    const made = make(key);
    if (values.size >= max) values.clear();
    values.set(key, made);
    return made;
  };
};
