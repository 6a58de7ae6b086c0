/** What the stores tell the operator, and how often. */
import type { Logger } from 'pino';
import { systemClock } from '#src/adapters/system/clock.ts';

/** A store that is away is said to be so at each try, some twice a second. */
const QUIET_MS = 10_000;

/** Logs the first fault, then one in each `quietMs`, and how many it did not log. */
export const sparing = (
  logger: Logger,
  text: string,
  { monotonic } = systemClock(),
  quietMs = QUIET_MS,
): ((error: unknown) => void) => {
  let loggedAt = -Infinity;
  let unlogged = 0;
  return (error) => {
    if (monotonic() - loggedAt < quietMs) {
      unlogged += 1;
      return;
    }
    logger.error({ err: error, ...(unlogged > 0 && { unlogged }) }, text);
    loggedAt = monotonic();
    unlogged = 0;
  };
};
