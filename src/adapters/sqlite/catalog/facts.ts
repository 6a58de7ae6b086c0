import type { CatalogProduct } from '#src/ports/catalog.ts';

// What a search computes with: a product's fields as the columns of columns.ts take them.

export const CODED = ['category', 'brand', 'ship_from', 'origin', 'currency', 'stock'] as const;
export type Coded = (typeof CODED)[number];
export const COUNTED = [
  'live',
  'moq',
  'available',
  'lead_time',
  'updated',
  'price',
  'words',
] as const;
export type Counted = (typeof COUNTED)[number];

/** A row of them, as the file keeps it. */
export type Facts = {
  codes: (string | null)[];
  counts: (number | null)[];
  /** Quantity, price, quantity, price, ... */
  tiers: number[];
};

/**
 * Unknown stock is any quantity while there is some, and none otherwise; an unknown lead time is
 * the longest. JSON has no infinity, so null stands for it.
 */
export const factsOf = (product: CatalogProduct, live: boolean, words: number): Facts => {
  const { stock, price_tiers, moq } = product;
  const unknown = stock.level === 'in_stock' ? null : -1;
  const tiers = price_tiers.flatMap(({ min_quantity, unit_price }) => [min_quantity, unit_price]);
  const price = price_tiers.findLast((tier) => tier.min_quantity <= moq) ?? price_tiers[0];
  return {
    codes: [
      product.category,
      product.brand ?? null,
      product.ship_from ?? null,
      product.origin_country ?? null,
      product.currency,
      stock.level,
    ],
    counts: [
      live ? 1 : 0,
      moq,
      stock.available_quantity ?? unknown,
      product.lead_time_days ?? null,
      product.updated_at,
      price?.unit_price ?? null,
      words,
    ],
    tiers,
  };
};
