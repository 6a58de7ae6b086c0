/** Operations on the catalog: search of agents, import and withdrawal at the desk. */
import { z } from 'zod';
import { deskCommand } from '#contracts/desk-operation.ts';
import { productExample } from '#contracts/examples/records.ts';
import {
  asOf,
  category,
  country,
  currency,
  cursor,
  id,
  limit,
  line,
  list,
  page,
  quantity,
  sku,
  time,
  text,
  url,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { defineOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import { facet, productRecord } from './records.ts';

const FACETS = ['category', 'ship_from', 'brand', 'origin', 'stock'] as const;

export const searchProducts = defineOperation({
  kind: 'query',
  scope: 'products:read',
  http: { method: 'GET', path: '/products', status: 200 },
  summary: 'Search published ready-stock products',
  guidance:
    'Every word of q must match the beginning of a word of title, sku, category or brand; a word without a match ' +
    'is also tried with one typo (for three letters, only with two letters swapped). Prices are indicative, and are ' +
    'compared at at_quantity. If the catalog changes between pages, products that did not change are neither skipped ' +
    'nor repeated; get the changed ones with updated_since afterwards. Use the product ids or skus in createLink and ' +
    'createHandoff.',
  brief:
    'q matches beginnings of words of title, sku, category and brand, also with a typo. Prices are indicative, for ' +
    'at_quantity. Use the ids or skus in createLink and createHandoff.',
  input: z
    .strictObject({
      q: line(200)
        .refine((words) => /[\p{L}\p{N}]/u.test(words.normalize('NFKD')), {
          error: 'must contain a letter or a digit',
        })
        .optional()
        .describe('Words, each matched by prefix'),
      ids: list(id('prd'), LIMITS.SEARCH_IDS_MAX).optional().describe('Only these ids'),
      skus: list(sku, LIMITS.SEARCH_IDS_MAX).optional().describe('Only these stock-keeping units'),
      category: category
        .optional()
        .describe(`Exact name; facets=category lists up to ${LIMITS.FACET_CATEGORIES_MAX} of them`),
      brand: line(100).optional().describe('Exact name of the brand'),
      origin: country.optional().describe('Country of origin, as an ISO 3166-1 alpha-2 code'),
      ship_from: country.optional().describe('Country of dispatch, as an ISO 3166-1 alpha-2 code'),
      at_quantity: quantity
        .optional()
        .describe(
          'Quantity at which prices are compared; default: the minimum order quantity of each product',
        ),
      price_min: z.int().min(0).optional().describe('Minor units; needs currency'),
      price_max: z.int().min(0).optional().describe('Minor units; needs currency'),
      currency: currency.optional().describe('ISO 4217 code; only products with prices in it'),
      moq_max: quantity.optional().describe('Largest accepted minimum order quantity'),
      min_available: quantity.optional().describe('Smallest accepted stock, as last reported'),
      lead_time_max_days: z
        .int()
        .min(0)
        .max(3_650)
        .optional()
        .describe('Largest accepted number of days to dispatch'),
      updated_since: time.optional().describe('Only products changed at this time or later'),
      sort: z
        .enum(['relevance', 'price', 'moq', 'lead_time', 'updated'])
        .default('relevance')
        .describe('Order of the rows; price sorts by currency first, then by amount'),
      facets: list(z.enum(FACETS), FACETS.length)
        .optional()
        .describe('Fields whose values are counted'),
      limit,
      cursor: cursor.optional(),
    })
    .meta({ dependentRequired: { price_min: ['currency'], price_max: ['currency'] } }),
  output: z.object({
    data: z.array(productRecord),
    page: page.extend({ total: z.int() }),
    facets: z.array(facet).optional(),
    as_of: asOf,
  }),
  problems: ['scope_missing', 'parameter_invalid', ...PAGE_PROBLEMS],
  examples: [
    {
      name: 'stoneware mugs sent from the UK, 48 for at most 3 pounds each',
      input: {
        q: 'stoneware mug',
        ship_from: 'GB',
        price_max: 300,
        currency: 'GBP',
        at_quantity: 48,
        facets: ['category'],
        limit: 1,
      },
      output: {
        data: [productExample],
        page: { next_cursor: null, has_more: false, total: 1 },
        facets: [{ field: 'category', values: [{ value: 'Kitchen', count: 1 }], more: 0 }],
        as_of: { position: 3120, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});

const PRICE_MAX = 1_000_000_000;

const priceTiers = z
  .array(
    z.strictObject({
      min_quantity: quantity,
      unit_price: z.int().min(0).max(PRICE_MAX).describe('Minor units'),
    }),
  )
  .min(1)
  .max(20)
  .refine(
    (tiers) =>
      tiers.every((tier, i) => {
        const before = tiers[i - 1];
        return (
          !before ||
          (tier.min_quantity > before.min_quantity && tier.unit_price <= before.unit_price)
        );
      }),
    { error: 'quantities must increase, and prices must not' },
  );

/** A product of a feed. Strict, because every agent reads what is published. */
const feedProduct = z.strictObject({
  sku,
  title: line(200),
  description: text(5_000).or(z.literal('')),
  brand: line(100).optional(),
  gtin: line(50).optional(),
  mpn: line(70).optional(),
  category: line(100),
  image_url: url.optional(),
  origin_country: country.optional(),
  ship_from: country.optional(),
  lead_time_days: z.int().min(0).max(3_650).optional(),
  currency,
  moq: quantity,
  increment: quantity,
  price_tiers: priceTiers,
  certifications: z.array(line(100)).max(20).optional(),
  source_updated_at: line(40).optional(),
});

const stockLevel = z.strictObject({
  level: z.enum(['in_stock', 'low', 'out_of_stock']),
  available_quantity: z.int().min(0).max(1_000_000_000).nullable(),
});

const exampleProduct = {
  sku: '22847',
  title: 'Bread Bin Diner Style Ivory',
  description: 'BREAD BIN DINER STYLE IVORY',
  category: 'Kitchen',
  currency: 'GBP',
  moq: 1,
  increment: 1,
  price_tiers: [{ min_quantity: 1, unit_price: 1695 }],
};

const importProducts = deskCommand({
  roles: ['staff'],
  path: '/products/import',
  summary: 'Publish or revise products; an unchanged product appends no event',
  guidance:
    'The CLI reads feed files and sends them in parts. Amounts are in minor units. To continue an interrupted ' +
    'import, send it again with the same idempotency key: it does not overwrite what others have changed since it began.',
  fields: {
    products: z
      .array(z.strictObject({ product: feedProduct, stock: stockLevel }))
      .min(1)
      .max(LIMITS.IMPORT_PRODUCTS_MAX),
  },
  output: z.object({
    read: z.int(),
    appended: z.int(),
    unchanged: z.int(),
    republished: z.int().describe('How many of those appended had been withdrawn'),
  }),
  example: {
    name: 'one product',
    input: {
      idempotency_key: 'feed-2026-11-20:1',
      products: [{ product: exampleProduct, stock: { level: 'in_stock', available_quantity: 97 } }],
    },
    output: { read: 1, appended: 1, unchanged: 0, republished: 0 },
  },
});

const withdrawProduct = deskCommand({
  destructive: true,
  roles: ['staff'],
  path: '/products/withdraw',
  summary: 'Withdraw a product from the catalog',
  guidance:
    'Links and handoffs that name the product stay. A buyer whose list has the product sees that it was withdrawn, ' +
    'and the reason; the buyer can send the list with the same quantity or less, but not more. An import with the ' +
    'sku publishes the product again.',
  fields: { sku, reason: line(500).describe('Shown to buyers who have it in a handoff') },
  output: z.object({ sku: z.string(), status: z.literal('withdrawn') }),
  example: {
    name: 'discontinued',
    input: { idempotency_key: 'withdraw-22847', sku: '22847', reason: 'Discontinued' },
    output: { sku: '22847', status: 'withdrawn' },
  },
});

export const catalogDeskOperations = { importProducts, withdrawProduct };
