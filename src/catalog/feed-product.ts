import type { z } from 'zod';
import type { publishedProduct, stockLevel } from '#contracts/event-fields.ts';
import type { CellFault, CellReader, Cells, Tier } from '#src/shared/cells.ts';
import { cellReader, priceIn, tiersIn } from '#src/shared/cells.ts';
import { present } from '#src/shared/present.ts';

/** A product as a feed describes it; the catalog assigns its id. */
export type ProductInput = {
  product: Omit<z.infer<typeof publishedProduct>, 'product_id'>;
  stock: z.infer<typeof stockLevel>;
};

/** Named as in the feeds of Google Merchant Center, with more columns for wholesale. */
export const REQUIRED_COLUMNS = ['id', 'title', 'price'] as const;
const STOCK_COLUMNS = ['availability', 'available_quantity'] as const;
export const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  ...REQUIRED_COLUMNS,
  ...STOCK_COLUMNS,
  'description',
  'product_type',
  'google_product_category',
  'brand',
  'gtin',
  'mpn',
  'image_link',
  'min_order_quantity',
  'order_increment',
  'price_tiers',
  'origin_country',
  'ship_from',
  'lead_time_days',
  'certifications',
  'updated_at',
  // Ignored: links are made per promoter, and all stock is new.
  'link',
  'condition',
]);

const ID_CHARS_MAX = 64;
const TITLE_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MAX = 5_000;
const NAME_CHARS_MAX = 100;
const LEAD_DAYS_MAX = 3_650;
const STOCK_MAX = 999_999_999;

/** Stock for fewer minimum orders than this is low. */
const LOW_ORDERS = 2;

const NO_CATEGORY = 'Uncategorised';

/** Compared in lower case and with underscores for spaces. */
const AVAILABILITIES: ReadonlyMap<string, 'in' | 'out'> = new Map([
  ['in_stock', 'in'],
  ['out_of_stock', 'out'],
  // The catalog contains only ready stock.
  ['preorder', 'out'],
  ['backorder', 'out'],
]);

/** Availability out_of_stock means a quantity of 0, whatever available_quantity says. */
const stockOf = (cells: CellReader, moq: number): ProductInput['stock'] => {
  const text = cells.raw('availability');
  const quantity = cells.whole('available_quantity', 0, STOCK_MAX);
  const availability = AVAILABILITIES.get((text ?? 'in_stock').toLowerCase().replaceAll(' ', '_'));
  if (!availability) {
    cells.refuse('availability', 'must be in_stock, out_of_stock, preorder or backorder');
  }
  if (text === undefined && !cells.has('available_quantity')) {
    cells.refuse('availability', 'is missing, and so is available_quantity');
  }
  if (availability === 'out' || quantity === 0) {
    return { level: 'out_of_stock', available_quantity: 0 };
  }
  if (quantity === undefined) return { level: 'in_stock', available_quantity: null };
  return {
    level: quantity < moq * LOW_ORDERS ? 'low' : 'in_stock',
    available_quantity: quantity,
  };
};

const checkTiers = (
  cells: CellReader,
  tiers: readonly Tier[],
  { moq, price }: { moq: number; price: number },
): void => {
  const column = 'price_tiers';
  for (const [index, tier] of tiers.entries()) {
    const before = tiers[index - 1];
    if (!before) continue;
    if (tier.min_quantity <= before.min_quantity) {
      cells.refuse(
        column,
        `quantities must rise: ${tier.min_quantity} is not above ${before.min_quantity}`,
      );
    } else if (tier.unit_price > before.unit_price) {
      cells.refuse(column, `prices must not rise with quantity, and do at ${tier.min_quantity}`);
    }
  }
  const first = tiers[0]?.min_quantity ?? 0;
  if (first > moq) {
    cells.refuse(column, `begins at ${first}, so the minimum order of ${moq} has no price`);
    return;
  }
  const atMoq = tiers.findLast((tier) => tier.min_quantity <= moq);
  if (atMoq && atMoq.unit_price !== price) {
    cells.refuse(column, `differs from price for the minimum order of ${moq}`);
  }
};

const pricesOf = (cells: CellReader) => {
  const moq = cells.whole('min_order_quantity', 1) ?? 1;
  const increment = cells.whole('order_increment', 1) ?? 1;
  if (moq % increment !== 0 && cells.faults.length === 0) {
    cells.refuse(
      'min_order_quantity',
      `must be a multiple of order_increment: ${moq} of ${increment}`,
    );
  }
  const price = priceIn(cells, 'price');
  const single = [{ min_quantity: moq, unit_price: price?.amount ?? 0 }];
  const price_tiers = (price && tiersIn(cells, 'price_tiers', price.currency)) ?? single;
  if (price) checkTiers(cells, price_tiers, { moq, price: price.amount });
  return { moq, increment, currency: price?.currency ?? '', price_tiers };
};

const certificationsOf = (cells: CellReader): string[] | undefined => {
  const line = cells.line('certifications', DESCRIPTION_CHARS_MAX);
  const names = line?.split('|').map((name) => name.trim());
  return names?.filter((name) => name !== '');
};

const gtinOf = (cells: CellReader): string | undefined => {
  const gtin = cells.raw('gtin');
  if (gtin === undefined || /^(\d{8}|\d{12,14})$/.test(gtin)) return gtin;
  return cells.refuse('gtin', 'must be 8, 12, 13 or 14 digits');
};

/** Reads a product and its stock, or all faults of its row. */
export const productOf = (from: Cells): ProductInput | { faults: CellFault[] } => {
  const cells = cellReader(from);
  for (const column of REQUIRED_COLUMNS) if (!cells.has(column)) cells.refuse(column, 'is missing');
  const prices = pricesOf(cells);
  const stock = stockOf(cells, prices.moq);
  const category = cells.has('product_type') ? 'product_type' : 'google_product_category';
  const product = {
    sku: cells.line('id', ID_CHARS_MAX) ?? '',
    title: cells.line('title', TITLE_CHARS_MAX) ?? '',
    description: cells.text('description', DESCRIPTION_CHARS_MAX) ?? '',
    category: cells.line(category, NAME_CHARS_MAX) ?? NO_CATEGORY,
    ...prices,
    ...present({
      brand: cells.line('brand', NAME_CHARS_MAX),
      gtin: gtinOf(cells),
      mpn: cells.line('mpn', NAME_CHARS_MAX),
      image_url: cells.url('image_link'),
      origin_country: cells.country('origin_country'),
      ship_from: cells.country('ship_from'),
      lead_time_days: cells.whole('lead_time_days', 0, LEAD_DAYS_MAX),
      certifications: certificationsOf(cells),
      source_updated_at: cells.time('updated_at'),
    }),
  };
  return cells.faults.length > 0 ? { faults: cells.faults } : { product, stock };
};
