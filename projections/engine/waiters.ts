import type { Position } from '#src/ports/event-log.ts';

/** Those who wait for a position: a sorted array, because nearly all come in rising order. */
export type Waiters = {
  /** True once `reached` has come to `position`; false after `waitMs`, or when closed. */
  wait(position: Position, waitMs: number): Promise<boolean>;
  reached(position: Position): void;
  close(): void;
};

type Waiter = { position: Position; settle: (passed: boolean) => void };

export const waiters = (): Waiters => {
  const waiting: Waiter[] = [];

  const settleFirst = (count: number, passed: boolean): void => {
    for (const waiter of waiting.splice(0, count)) waiter.settle(passed);
  };

  return {
    wait: (position, waitMs) =>
      new Promise((resolve) => {
        const waiter: Waiter = { position, settle: resolve };
        waiting.splice(countUpTo(waiting, position), 0, waiter);
        if (waitMs === Infinity) return;
        const timer = setTimeout(() => {
          const found = waiting.indexOf(waiter);
          if (found >= 0) waiting.splice(found, 1);
          resolve(false);
        }, waitMs);
        waiter.settle = (passed) => {
          clearTimeout(timer);
          resolve(passed);
        };
      }),
    reached(position) {
      if ((waiting[0]?.position ?? Infinity) <= position)
        settleFirst(countUpTo(waiting, position), true);
    },
    close: () => settleFirst(waiting.length, false),
  };
};

/** How many wait for `position` or less. */
const countUpTo = (waiting: readonly Waiter[], position: Position): number => {
  let low = 0;
  let high = waiting.length;
  // The newest waits for the newest position, nearly always.
  if ((waiting[high - 1]?.position ?? 0) <= position) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiting[middle]?.position ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
};
