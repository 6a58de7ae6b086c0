/** A limit of the time that this process waits for a server. */
const TICK_MS = 20;

/**
 * A time limit whose `over` rejects with `late` after `ms`. Time in which this process was too busy to read an answer,
 * which delays its timers, does not count.
 */
export const timeLimit = (ms: number, late: Error): { over: Promise<never>; stop(): void } => {
  const { promise: over, reject } = Promise.withResolvers<never>();
  over.catch(() => {});
  let left = ms;
  const timer = setInterval(() => {
    left -= TICK_MS;
    if (left <= 0) reject(late);
  }, TICK_MS);
  return { over, stop: () => clearInterval(timer) };
};
