/**
 * Values by row, at most so many bytes of them. What was read or set since the hand came by last is
 * spared once: nearly the least recently used goes, and a read moves nothing.
 */
export type KeptRows<Value> = {
  get(row: number): Value | undefined;
  set(row: number, value: Value, bytes: number): void;
  drop(row: number): void;
};

export const keptRows = <Value>(bytesMax: number): KeptRows<Value> => {
  const entries: ({ value: Value; bytes: number; wasRead: boolean } | undefined)[] = [];
  let total = 0;
  let hand = 0;

  const drop = (row: number): void => {
    total -= entries[row]?.bytes ?? 0;
    if (row < entries.length) entries[row] = undefined;
  };
  return {
    get(row) {
      const entry = entries[row];
      if (!entry) return undefined;
      entry.wasRead = true;
      return entry.value;
    },
    set(row, value, bytes) {
      drop(row);
      // Without holes, which would make it a dictionary.
      while (entries.length <= row) entries.push(undefined);
      entries[row] = { value, bytes, wasRead: true };
      total += bytes;
      while (total > bytesMax) {
        hand = (hand + 1) % entries.length;
        const entry = entries[hand];
        if (entry?.wasRead) entry.wasRead = false;
        else drop(hand);
      }
    },
    drop,
  };
};
