import type { Waits } from '#src/ports/system.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import type { Budget } from '#src/shared/call.ts';

/**
 * Refuses a request that would wait too long in this process. Without a budget, the operation is not known yet, and only
 * the wait for the event loop counts.
 */
export type Overload = (budget?: Budget) => Refusal | undefined;

/** Refused clients return in different seconds, because they would otherwise be one burst again. */
const RETRY_AFTER_S = [1, 2, 3];

/** A visitor whose redirect is refused does not come back, so redirects are refused last. */
const REDIRECT_FACTOR = 4;

const queueOf = (waits: Waits, budget: Budget | undefined): number => {
  if (budget === undefined) return 0;
  return budget === 'read' ? waits.reads() : waits.appends();
};

/** Admits requests by the milliseconds that they would wait. */
export const overload = (waits: Waits, maxMs: number): Overload => {
  const detail = `A request would wait for more than ${maxMs} ms before the service handles it.`;
  // Made once: a refusal must cost far less than an answer.
  const refusals = RETRY_AFTER_S.map((retryAfterS) =>
    refuse('overloaded', detail, { retryAfterS }),
  );
  let refused = 0;
  return (budget) => {
    const max = budget === 'redirect' ? maxMs * REDIRECT_FACTOR : maxMs;
    if (waits.eventLoop() + queueOf(waits, budget) <= max) return undefined;
    refused += 1;
    return refusals[refused % refusals.length];
  };
};
