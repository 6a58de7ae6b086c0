import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PRODUCT_TEXT, productJson, renderProduct } from '#src/catalog/products.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { content, T0 } from '../support/world/products.ts';

const productOf = (over: Partial<CatalogProduct>): CatalogProduct => ({
  ...content('0123456789abcdefghjkmnpq'),
  stock: { level: 'in_stock', available_quantity: null, as_of: T0 },
  revision: 3,
  published_at: T0,
  updated_at: T0,
  ...over,
});

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"price_at_quantity":{"quantity":', ',"currency":', '\\"', '}}', '£ 5 "net"'),
);

test('productJson equals the JSON of renderProduct at any quantity and age of stock', () => {
  const product = fc.record({
    title: text,
    description: text,
    category: text,
    moq: fc.integer({ min: 1, max: 90 }),
    currency: fc.constantFrom('GBP', 'EUR'),
    lead_time_days: fc.nat(),
    price_tiers: fc.constantFrom<CatalogProduct['price_tiers'][]>(
      [{ min_quantity: 1, unit_price: 0 }],
      [
        { min_quantity: 12, unit_price: 250 },
        { min_quantity: 48, unit_price: 199 },
      ],
    ),
  });
  const quantity = fc.option(fc.integer({ min: 1, max: 100_000_000 }), { nil: undefined });
  fc.assert(
    fc.property(product, quantity, fc.nat(), (over, atQuantity, age) => {
      const one = productOf(over);
      const shown = PRODUCT_TEXT.show(one);
      const showing = { atQuantity, staleBefore: one.stock.as_of + 2 ** 30 - age };
      expect(productJson(shown, showing)).toBe(JSON.stringify(renderProduct(one, showing)));
      expect(PRODUCT_TEXT.bytes(shown)).toBeGreaterThan(100);
    }),
  );
});

test('PRODUCT_TEXT rejects a product that violates its contract', () => {
  expect(() => PRODUCT_TEXT.show(productOf({ currency: 'pounds' }))).toThrow(
    /outside its contract/,
  );
});
