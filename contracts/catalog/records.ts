/** A product as operations answer it. */
import { z } from 'zod';
import { country, id, money, time } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';

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
        stale: z
          .literal(true)
          .optional()
          .describe(
            `as_of is more days ago than the owner allows; default: ${LIMITS.STOCK_STALE_DAYS} days`,
          ),
      })
      .describe('An indication, never a reservation'),
    certifications: z.array(z.string()).optional(),
    status: z.literal('published'),
    revision: z.int(),
    updated_at: time,
  })
  .meta({ id: 'Product' });

/** A product as the desk shows it. */
export const deskProduct = productRecord.omit({ status: true }).extend({
  status: z.enum(['published', 'withdrawn']),
  reason: z.string().optional().describe('Why it was withdrawn'),
  source: z.string().optional().describe('The feed that it comes from'),
  source_updated_at: z.string().optional().describe('As the feed says'),
  published_at: time.describe('When it was published first'),
  page_url: z.string(),
});

export type Product = z.infer<typeof productRecord>;

/** A product as a search answers it. */
export const productRow = productRecord.partial().meta({
  id: 'ProductRow',
  description: 'A product: all members of Product, or those that fields names',
});

export const productFieldNames = Object.keys(productRecord.shape) as (keyof Product)[];

/** A filter that leaves nothing. */
export const excluder = z.object({
  filter: z.string().describe('A parameter of the call'),
  total_without: z.int().describe('Number of products without this filter'),
  closest: z.string().optional().describe('The most similar value that products have'),
});

export const facet = z.object({
  field: z.string(),
  values: z
    .array(z.object({ value: z.string(), count: z.int() }))
    .describe(
      'Most frequent first, ranges rising; at most 500 for category, 50 for other fields. A category includes its ' +
        'subcategories; the count of a lead time includes shorter ones',
    ),
  more: z.int().describe('Number of further values'),
});
