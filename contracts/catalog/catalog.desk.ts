import { z } from 'zod';
import { deskCommand } from '#contracts/desk-operation.ts';
import { country, currency, line, quantity, text, url } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';

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
  sku: line(64),
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

export const importProducts = deskCommand({
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
    republished: z
      .int()
      .optional()
      .describe('How many of those appended had been withdrawn; absent from older answers'),
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

export const withdrawProduct = deskCommand({
  roles: ['staff'],
  path: '/products/withdraw',
  summary: 'Withdraw a product from the catalog',
  guidance:
    'Links and handoffs that name the product stay. A buyer whose list has the product sees that it was withdrawn, ' +
    'and the reason; the buyer can send the list with the same quantity or less, but not more. An import with the ' +
    'sku publishes the product again.',
  fields: { sku: line(64), reason: line(500).describe('Shown to buyers who have it in a handoff') },
  output: z.object({ sku: z.string(), status: z.literal('withdrawn') }),
  example: {
    name: 'discontinued',
    input: { idempotency_key: 'withdraw-22847', sku: '22847', reason: 'Discontinued' },
    output: { sku: '22847', status: 'withdrawn' },
  },
});

export const catalogDeskOperations = { importProducts, withdrawProduct };
