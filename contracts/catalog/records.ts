/** A product as operations answer it. */
import { z } from 'zod';
import { country, id, money, time } from '#contracts/fields.ts';

export const productRecord = z
  .object({
    id: id('prd'),
    sku: z.string(),
    title: z.string(),
    description: z.string(),
    brand: z.string().optional(),
    gtin: z.string().optional(),
    mpn: z.string().optional(),
    category: z.string(),
    image_url: z.string().optional(),
    origin_country: country.optional(),
    ship_from: country.optional(),
    lead_time_days: z.int().optional().describe('Days from order to dispatch'),
    order_rule: z.object({
      moq: z.int().describe('Minimum order quantity'),
      increment: z.int().describe('Quantities must be multiples of this'),
    }),
    price_tiers: z.array(z.object({ min_quantity: z.int(), unit_price: money })),
    price_at_quantity: z
      .object({ quantity: z.int(), unit_price: money })
      .optional()
      .describe('Unit price at at_quantity, or at the minimum order quantity if it is not set'),
    price_status: z
      .literal('indicative')
      .describe('Prices are never binding: staff control pricing'),
    stock: z
      .object({
        level: z.enum(['in_stock', 'low', 'out_of_stock']),
        available_quantity: z.int().nullable(),
        as_of: time.describe(
          'When the feed last updated it (updated_at), if the feed says so; otherwise when it last changed here',
        ),
      })
      .describe('An indication, never a reservation'),
    certifications: z.array(z.string()).optional(),
    status: z.literal('published'),
    revision: z.int(),
    updated_at: time,
  })
  .meta({ id: 'Product' });

export type Product = z.infer<typeof productRecord>;

export const facet = z.object({
  field: z.string(),
  values: z
    .array(z.object({ value: z.string(), count: z.int() }))
    .describe('Most frequent first; at most 500 for category, 50 for other fields'),
  more: z.int().describe('Number of further values'),
});
