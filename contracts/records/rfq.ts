import { z } from 'zod';
import { money } from '../fields.ts';
import { RFQ_OUTCOMES } from '../moves.ts';

const CURRENCIES_MAX = 10;

/** Amounts, one per currency. */
export const moneyList = z
  .array(z.strictObject(money.shape))
  .min(1)
  .max(CURRENCIES_MAX)
  .refine((values) => new Set(values.map(({ currency }) => currency)).size === values.length, {
    error: 'has a currency twice; currencies are never added up',
  })
  .describe('One per currency');

/** What an agent sees of the RFQ of its handoff. */
export const shownRfq = z.object({
  state: z.enum(['open', 'expired', ...RFQ_OUTCOMES]),
  won_value: z.array(money).optional(),
});
