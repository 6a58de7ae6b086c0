import { z } from 'zod';
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
  time,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { defineOperation } from '#contracts/operation.ts';
import { PAGE_PROBLEMS } from '#contracts/problems.ts';
import { facet, productRecord } from './product.records.ts';

export const FACETS = ['category', 'ship_from', 'brand', 'origin', 'stock'] as const;

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
      skus: list(line(64), LIMITS.SEARCH_IDS_MAX)
        .optional()
        .describe('Only these stock-keeping units'),
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
