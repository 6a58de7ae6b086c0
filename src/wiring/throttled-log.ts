import type { Logger } from 'pino';
import { systemClock } from '#src/adapters/system/clock.ts';

/** An unavailable store fails with every attempt, some twice a second. */
const INTERVAL_MS = 10_000;

/** Logs the first fault, then at most one per interval, with the number of unlogged ones. */
export const throttledLog = (
  logger: Logger,
  text: string,
  { monotonic } = systemClock(),
): ((error: unknown) => void) => {
  let loggedAt = -Infinity;
  let unlogged = 0;
  return (error) => {
    if (monotonic() - loggedAt < INTERVAL_MS) {
      unlogged += 1;
      return;
    }
    logger.error({ err: error, ...(unlogged > 0 && { unlogged }) }, text);
    loggedAt = monotonic();
    unlogged = 0;
  };
};
