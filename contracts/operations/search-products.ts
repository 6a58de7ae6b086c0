import { z } from 'zod';
import { productExample } from '../examples/records.ts';
import {
  asOf,
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
} from '../fields.ts';
import { defineOperation } from '../operation.ts';
import { facet, product } from '../records/product.ts';

export const FACETS = ['category', 'ship_from', 'brand', 'origin', 'stock'] as const;

export const searchProducts = defineOperation({
  id: 'searchProducts',
  kind: 'query',
  scope: 'products:read',
  http: { method: 'GET', path: '/products', status: 200 },
  summary: 'Search published ready-stock products',
  guidance:
    'Every word of q must match a word of title, sku, category or brand, by its beginning; a word that ' +
    'matches nothing is tried with one typo. Prices are indicative and compared at at_quantity. Take ' +
    'product ids or skus from here into createLink and createHandoff.',
  input: z.strictObject({
    q: line(200).optional().describe('Words, each matched by prefix'),
    ids: list(id('prd'), 100).optional(),
    skus: list(line(64), 100).optional(),
    category: line(100).optional().describe('Exact; facets=category lists them'),
    brand: line(100).optional(),
    origin: country.optional(),
    ship_from: country.optional(),
    at_quantity: quantity
      .optional()
      .describe('Quantity at which prices are compared; default each minimum'),
    price_min: z.int().min(0).optional().describe('Minor units; needs currency'),
    price_max: z.int().min(0).optional().describe('Minor units; needs currency'),
    currency: currency.optional(),
    moq_max: quantity.optional().describe('Minimum order quantity at most this'),
    min_available: quantity.optional().describe('Stock last seen at least this'),
    lead_time_max_days: z.int().min(0).max(3_650).optional(),
    updated_since: time.optional(),
    sort: z.enum(['relevance', 'price', 'moq', 'lead_time', 'updated']).default('relevance'),
    facets: list(z.enum(FACETS), FACETS.length).optional().describe('Fields to count values of'),
    limit,
    cursor: cursor.optional(),
  }),
  output: z.object({
    data: z.array(product),
    page: page.extend({ total: z.int() }),
    facets: z.array(facet).optional(),
    as_of: asOf,
  }),
  problems: [
    'scope_missing',
    'parameter_invalid',
    'cursor_invalid',
    'cursor_expired',
    'consistency_token_invalid',
    'consistency_timeout',
  ],
  examples: [
    {
      name: 'mugs from the UK under 2 pounds at 48 pieces',
      input: {
        q: 'mug',
        ship_from: 'GB',
        price_max: 200,
        currency: 'GBP',
        at_quantity: 48,
        facets: ['category'],
        limit: 1,
      },
      output: {
        data: [productExample],
        page: { next_cursor: null, has_more: false, total: 1 },
        facets: [{ field: 'category', values: [{ value: 'Mugs', count: 1 }] }],
        as_of: { position: 2961, at: '2026-11-20T09:30:00.000Z' },
      },
    },
  ],
});
