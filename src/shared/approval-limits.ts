/** Reads the amounts of the setting APPROVAL_ABOVE, at startup. */
import { StartupError } from '#src/ports/startup-error.ts';
import { moneyIn } from './cells.ts';

/**
 * The amounts above which a second person approves, from texts like `5000 GBP`. Throws StartupError for an unknown
 * currency, for more decimals than it has, and for a currency that occurs twice.
 */
export const approvalLimits = (
  texts: readonly string[],
): { amount: number; currency: string }[] => {
  const limits = new Map<string, { amount: number; currency: string }>();
  for (const text of texts) {
    const limit = moneyIn(text);
    if (!limit || limits.has(limit.currency))
      throw new StartupError(
        `APPROVAL_ABOVE: ${text.trim()} is not an amount in a currency of its own; write it like "5000 GBP, 6000.50 EUR"`,
      );
    limits.set(limit.currency, limit);
  }
  return [...limits.values()];
};
