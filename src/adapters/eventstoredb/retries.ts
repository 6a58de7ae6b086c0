/** Repetition and time limits of calls to the server. */
import { setTimeout as delay } from 'node:timers/promises';
import { noAnswer } from './failures.ts';
import type { Timing } from './timing.ts';

/** Exponential backoff: each pause is twice the one before, up to a maximum. */
export const backoff = ([first, most]: Timing['retryMs']) => {
  let pause = first;
  return {
    next(): number {
      const current = pause;
      pause = Math.min(2 * pause, most);
      return current;
    },
    reset(): void {
      pause = first;
    },
  };
};

export type RetryOptions = {
  /** Time after which no further attempt begins, in milliseconds. */
  forMs: number;
  retryMs: Timing['retryMs'];
  /** Throws what the caller receives; returns to repeat. It must throw when `isLast`. */
  onFailure(error: unknown, isLast: boolean): void;
};

/** Repeats `attempt` until it succeeds or `onFailure` throws. */
export const withRetries = async <T>(
  attempt: () => Promise<T>,
  { forMs, retryMs, onFailure }: RetryOptions,
): Promise<T> => {
  const end = performance.now() + forMs;
  const pauses = backoff(retryMs);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const pause = pauses.next();
      onFailure(error, performance.now() + pause >= end);
      await delay(pause);
    }
  }
};

/**
 * Rejects unless `call` settles within `ms`. The client's batch path ignores deadlines,
 * and a half-open connection reports none.
 */
export const within = <T>(ms: number, call: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    // Created here, because the stack of an error costs more than the rest of an append.
    const timer = setTimeout(() => reject(noAnswer(ms)), ms);
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
