import { randomPool, randomView, takeRandom } from '#src/adapters/random-pool.ts';
import type { Ids } from '#src/ports/system.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export const systemIds = (now: () => number): Ids => ({
  uuid() {
    const time = now().toString(16).padStart(12, '0');
    const at = takeRandom(10);
    randomPool[at] = ((randomPool[at] ?? 0) & 0x0f) | 0x70;
    randomPool[at + 2] = ((randomPool[at + 2] ?? 0) & 0x3f) | 0x80;
    const hex = randomPool.toString('hex', at, at + 10);
    return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
  },
  base62(count) {
    let out = '';
    while (out.length < count) {
      for (const byte of randomView(count)) {
        // Skips bytes of 248 and more: their remainders would make some characters more frequent.
        if (byte < 248 && out.length < count) out += BASE62[byte % 62];
      }
    }
    return out;
  },
});
