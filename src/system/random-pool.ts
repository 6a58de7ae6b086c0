import { randomFillSync } from 'node:crypto';

// Random bytes cost 2 to 3 µs per call and almost nothing per byte, so 8 KiB are drawn at a time.
const POOL_BYTES = 8_192;
export const randomPool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Returns unused bytes of the pool itself. The caller overwrites those that are secret. */
export const randomView = (count: number): Buffer => {
  if (used + count > POOL_BYTES) {
    randomFillSync(randomPool);
    used = 0;
  }
  used += count;
  return randomPool.subarray(used - count, used);
};
