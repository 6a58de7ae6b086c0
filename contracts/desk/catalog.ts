import { z } from 'zod';
import { publishedProduct, stockLevel } from '../events/catalog.ts';
import { idempotencyKey, line } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { defineDeskOperation } from '../operation.ts';
import { DESK_WRITE_PROBLEMS } from './access.ts';

const feedProduct = z.strictObject(publishedProduct.omit({ product_id: true }).shape);

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

export const importProducts = defineDeskOperation({
  id: 'importProducts',
  kind: 'command',
  roles: ['staff'],
  http: { method: 'POST', path: '/products/import', status: 200 },
  summary: 'Publish or revise products; what is unchanged appends nothing',
  guidance: 'The CLI reads feed files and sends them here in pieces. Amounts are in minor units.',
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    products: z
      .array(z.strictObject({ product: feedProduct, stock: stockLevel }))
      .min(1)
      .max(LIMITS.IMPORT_PRODUCTS_MAX),
  }),
  output: z.object({ read: z.int(), appended: z.int(), unchanged: z.int() }),
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'one product',
      input: {
        idempotency_key: 'feed-2026-11-20:1',
        products: [
          { product: exampleProduct, stock: { level: 'in_stock', available_quantity: 97 } },
        ],
      },
      output: { read: 1, appended: 1, unchanged: 0 },
    },
  ],
});

export const withdrawProduct = defineDeskOperation({
  id: 'withdrawProduct',
  kind: 'command',
  roles: ['staff'],
  http: { method: 'POST', path: '/products/withdraw', status: 200 },
  summary: 'Take a product out of the catalog',
  guidance: 'Links and handoffs that name it stay; buyers see that it was withdrawn.',
  input: z.strictObject({ idempotency_key: idempotencyKey, sku: line(64), reason: line(500) }),
  output: z.object({ sku: z.string(), status: z.literal('withdrawn') }),
  problems: DESK_WRITE_PROBLEMS,
  examples: [
    {
      name: 'discontinued',
      input: { idempotency_key: 'withdraw-22847', sku: '22847', reason: 'Discontinued' },
      output: { sku: '22847', status: 'withdrawn' },
    },
  ],
});
