/** The clock and the ids of a running service; tests pass their own. */
import { randomUUID } from 'node:crypto';
import { randomView } from './crypto-seal.ts';
import type { Clock, Ids } from '#src/ports/system.ts';

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  monotonic: () => performance.now(),
});

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export const systemIds = (now = systemClock().now): Ids => ({
  uuid() {
    const time = now().toString(16).padStart(12, '0');
    // Version 4 has the same random bits and variant in the same places as version 7.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
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
