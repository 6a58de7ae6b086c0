/** Repetition and time limits of calls to the server. */
import { setTimeout as delay } from 'node:timers/promises';
import { noAnswer } from './failures.ts';

/** Time limits, in milliseconds. */
export type Timing = {
  /** Time to wait at startup for a server that does not answer. */
  startupMs: number;
  /** Time during which an append is repeated. With its last attempt, less than five seconds. */
  appendRepeatMs: number;
  /** Time limit of one attempt. Never shortened: a cut-off attempt has an unknown outcome. */
  attemptMs: number;
  /** Time during which a read is repeated. */
  readRepeatMs: number;
  /** Longest silence between two events of a read. */
  idleMs: number;
  /** Longest silence of a subscription before it is compared with the head of the log. */
  silenceMs: number;
  /** Time without an answer after which the log is compared with the known one before the next call. */
  pauseMs: number;
  /** Pause between two comparisons while the log is another one. */
  replacedRetryMs: number;
  /** The first pause before a repetition; each pause is twice the one before, up to `most`. */
  retryMs: readonly [first: number, most: number];
};

export const TIMING: Timing = {
  startupMs: 4_000,
  appendRepeatMs: 3_000,
  attemptMs: 1_500,
  readRepeatMs: 3_000,
  idleMs: 1_500,
  silenceMs: 5_000,
  pauseMs: 2_000,
  replacedRetryMs: 500,
  retryMs: [20, 500],
};

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
