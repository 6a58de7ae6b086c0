import { randomFillSync } from 'node:crypto';
import type { Ids } from '#src/ports/system.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// Random bytes cost 1.5 µs per call and almost nothing per byte, so 8 KiB are drawn at a time.
const POOL_BYTES = 8_192;

export const systemIds = (now: () => number): Ids => {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  /** Returns the offset of `count` unused bytes. */
  const take = (count: number): number => {
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += count;
    return used - count;
  };
  return {
    uuid() {
      const time = now().toString(16).padStart(12, '0');
      const at = take(10);
      pool[at] = ((pool[at] ?? 0) & 0x0f) | 0x70;
      pool[at + 2] = ((pool[at + 2] ?? 0) & 0x3f) | 0x80;
      const hex = pool.toString('hex', at, at + 10);
      return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
    },
    base62(count) {
      let out = '';
      while (out.length < count) {
        const at = take(count);
        for (const byte of pool.subarray(at, at + count)) {
          // Skips bytes of 248 and more: their remainders would make some characters more frequent.
          if (byte < 248 && out.length < count) out += BASE62[byte % 62];
        }
      }
      return out;
    },
  };
};
