import { type Refusal, refuse } from '#src/shared/outcome.ts';

/** Takes a place for one call of a key: a function that frees it, or a refusal. */
export type Concurrency = (key: string) => (() => void) | Refusal;

/**
 * Limits the calls of each key that are in progress in this process. A refusal asks for the time that the oldest of
 * them has taken so far, at least one second, because its end cannot be predicted.
 */
export const concurrency = (max: number, monotonic: () => number): Concurrency => {
  /** When each call in progress began, oldest first. */
  const inProgress = new Map<string, Set<{ since: number }>>();
  return (key) => {
    const calls = inProgress.get(key) ?? new Set();
    if (calls.size >= max) {
      const [oldest] = calls;
      const ms = monotonic() - (oldest?.since ?? 0);
      const retryAfterS = Math.max(1, Math.ceil(ms / 1_000));
      return refuse('rate_limited', `At most ${max} such calls at once.`, { retryAfterS });
    }
    const call = { since: monotonic() };
    inProgress.set(key, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0) inProgress.delete(key);
    };
  };
};
