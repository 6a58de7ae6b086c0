import type { Clock } from '#src/ports/system.ts';

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  monotonic: () => performance.now(),
});
