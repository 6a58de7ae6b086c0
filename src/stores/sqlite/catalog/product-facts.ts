import { crc32 } from 'node:zlib';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { RecordDamaged } from '#src/stores/sqlite/failure.ts';

// The facts of a product that a search computes with, in the order of the columns of columns.ts.

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

/** The facts of a row as the file stores them. */
export type Facts = {
  codes: (string | null)[];
  counts: (number | null)[];
  /** Quantity, price, quantity, price, ... */
  tiers: number[];
};

/**
 * An unknown quantity is infinite while the product is in stock, and below zero otherwise; an unknown
 * lead time is infinite. Infinity is null here, because JSON cannot represent it.
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

export const factsCrc = (row: number, facts: string): number => crc32(facts, row);

/** Throws RecordDamaged if a checksum does not fit. */
export const requireFacts = (
  rows: readonly number[],
  facts: readonly string[],
  crcs: readonly number[],
): void => {
  for (const [i, row] of rows.entries())
    if (factsCrc(row, facts[i] ?? '') !== crcs[i])
      throw new RecordDamaged('the checksum of the facts of a product does not fit');
};
