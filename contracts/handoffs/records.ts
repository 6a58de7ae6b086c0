/** A handoff as operations answer it. */
import { z } from 'zod';
import {
  enteredMoney,
  id,
  money,
  recordWarnings,
  time,
  shownMetadata,
  versioned,
} from '#contracts/fields.ts';
import { shownRfq } from '#contracts/leads/records.ts';

const CURRENCIES_MAX = 10;

/** Amounts, one per currency. */
export const moneyList = z
  .array(enteredMoney)
  .min(1)
  .max(CURRENCIES_MAX)
  .refine((values) => new Set(values.map(({ currency }) => currency)).size === values.length, {
    error: 'has a currency twice; currencies are never added up',
  })
  .describe('One per currency');

export const WARNINGS = {
  below_moq: 'The quantity is below the minimum order quantity',
  off_increment: 'The quantity is not a multiple of the order increment',
  stock_below_quantity: 'The stock last reported is below the quantity on the list',
  free: 'The price is 0, which may be a mistake of the catalog',
  withdrawn: 'The product is no longer offered',
} as const;

export type Warning = keyof typeof WARNINGS;

export const lineItem = z
  .object({
    line_id: z.string(),
    product_id: id('prd'),
    product_revision: z.int().describe('Revision of the product when the line was priced'),
    sku: z.string(),
    title: z.string(),
    quantity: z.int(),
    indicative_unit_price: money,
    tier_min_quantity: z.int(),
    note: z.string().optional().describe('Absent after an erasure'),
    unit_price_when_sent: money
      .optional()
      .describe('Catalog price when the RFQ was sent, if it differed from the indicative price'),
    warnings: z
      .array(z.enum(Object.keys(WARNINGS) as [Warning, ...Warning[]]))
      .describe('As of the pricing of the line; after an RFQ, as of its sending'),
    rule: z
      .object({
        moq: z.int(),
        increment: z.int(),
        available: z.int().optional().describe('Stock last reported'),
        in_list: z.int().optional().describe('Pieces of the product on all lines'),
        below: z.int().optional().describe('Nearest lower quantity of this line that is valid'),
        above: z.int().optional().describe('Nearest higher quantity of this line that is valid'),
        next_tier: z.int().optional().describe('Nearest valid quantity of the next price'),
      })
      .optional()
      .describe('With warnings: the rule in numbers, and the nearest quantities without them'),
  })
  .meta({ id: 'HandoffLine' });

export const HANDOFF_STATUSES = [
  'awaiting_buyer',
  'in_review',
  'rfq_submitted',
  'declined',
  'withdrawn',
  'invalidated',
  'expired',
] as const;

/** The contact that a buyer sends with an RFQ. Only staff and the person see it. */
export const rfqContact = z.object({
  name: z.string(),
  email: z.string(),
  company: z.string().optional(),
  phone: z.string().optional(),
  country: z.string().optional().describe('Where the goods are to go'),
  message: z.string().optional(),
});

export const handoffRecord = z
  .object({
    id: id('hnd'),
    owner_id: z.string(),
    agent_id: z.string(),
    title: z.string(),
    note_to_buyer: z
      .string()
      .optional()
      .describe('[erased] after an erasure, [key missing] or [key damaged] if its key is lost'),
    locale: z.string(),
    link_id: id('lnk').optional(),
    external_id: z.string().optional(),
    buyer: z.object({
      company: z.string().optional(),
      country: z.string().optional(),
      email: z
        .string()
        .optional()
        .describe(
          'Personal data: [erased] after an erasure, [key missing] or [key damaged] if its key is lost',
        ),
    }),
    line_items: z.array(lineItem),
    list_revision: z.int(),
    indicative_totals: z.array(money).describe('One per currency; an estimate only'),
    review_url: z
      .string()
      .optional()
      .describe(
        'For the buyer alone: any holder of this URL can review the list and send the RFQ. Absent if the service delivers it',
      ),
    delivery: z
      .object({
        outbound_id: id('out').describe('The outreach request that has approval and outcome'),
        delivered_at: time
          .optional()
          .describe(
            'When the letter was given to the mail server; the list is with the buyer since',
          ),
      })
      .optional()
      .describe('The service mails the review link'),
    status: z.enum(HANDOFF_STATUSES),
    check_only: z
      .literal(true)
      .optional()
      .describe('Nothing was stored, and there is no review_url'),
    status_reason: z
      .string()
      .optional()
      .describe('[erased] after an erasure, [key missing] or [key damaged] if its key is lost'),
    rfq: shownRfq.optional(),
    expires_at: time,
    disclaimer: z.string(),
    metadata: shownMetadata.optional(),
    warnings: recordWarnings.optional(),
    ...versioned,
  })
  .meta({ id: 'Handoff' });

export type Handoff = z.infer<typeof handoffRecord>;
