/** Folds the events of products into what the catalog stores. */
import { crc32 } from 'node:zlib';
import { type EventData, PRODUCT_EVENTS } from '#contracts/registries/events.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { RecordDamaged } from '#src/stores/sqlite/failure.ts';

/** The state of a product's stream. A withdrawn product keeps its contents, because it can return. */
export type CatalogEntry = {
  product: CatalogProduct;
  live: boolean;
  /** The reason, if it was withdrawn. */
  reason?: string;
};

const TYPES: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

export const isProductEvent = (event: FoldEvent): boolean => TYPES.has(event.type);

export const productIdOf = (event: FoldEvent): string => {
  const data = event.data as Partial<EventData<'ProductPublished'> & EventData<'ProductWithdrawn'>>;
  const id = data.product?.product_id ?? data.product_id;
  if (typeof id !== 'string')
    throw new Error(`${event.type} at ${event.position} names no product`);
  return id;
};

const productOf = (event: FoldEvent, published_at: number): CatalogProduct => {
  const { product, stock } = event.data as EventData<'ProductPublished'>;
  const { at, revision } = event;
  // A feed can state a time long ago, if it was not sent for long, but never one in the future.
  const statedAt = Date.parse(product.source_updated_at ?? '');
  return {
    ...product,
    stock: { ...stock, as_of: Number.isNaN(statedAt) ? at : Math.min(statedAt, at) },
    revision,
    published_at,
    updated_at: at,
  };
};

/** Applies an event. Throws if it changes a product that was never published, which is a bug. */
export const applyProductEvent = (
  state: CatalogEntry | undefined,
  event: FoldEvent,
): CatalogEntry => {
  if (event.type === 'ProductPublished') {
    return { product: productOf(event, state?.product.published_at ?? event.at), live: true };
  }
  if (!state) throw new Error(`${event.type} at ${event.position} on a product never published`);
  if (event.type === 'ProductRevised') {
    return { ...state, product: productOf(event, state.product.published_at) };
  }
  const { at, revision } = event;
  if (event.type === 'ProductWithdrawn') {
    const { reason } = event.data as EventData<'ProductWithdrawn'>;
    return { product: { ...state.product, revision, updated_at: at }, live: false, reason };
  }
  const { stock } = event.data as EventData<'ProductStockObserved'>;
  const product = { ...state.product, stock: { ...stock, as_of: at }, revision, updated_at: at };
  return { ...state, product };
};

type EveryMember<T extends object> = { [K in keyof Required<T>]: T[K] | undefined };

/** Puts every member in a fixed order, so that equal products are equal bytes. */
const ordered = (product: CatalogProduct): EveryMember<CatalogProduct> => ({
  product_id: product.product_id,
  sku: product.sku,
  title: product.title,
  description: product.description,
  brand: product.brand,
  gtin: product.gtin,
  mpn: product.mpn,
  category: product.category,
  image_url: product.image_url,
  origin_country: product.origin_country,
  ship_from: product.ship_from,
  lead_time_days: product.lead_time_days,
  currency: product.currency,
  moq: product.moq,
  increment: product.increment,
  price_tiers: product.price_tiers.map((tier) => ({
    min_quantity: tier.min_quantity,
    unit_price: tier.unit_price,
  })),
  certifications: product.certifications,
  source_updated_at: product.source_updated_at,
  source: product.source,
  stock: {
    level: product.stock.level,
    available_quantity: product.stock.available_quantity,
    as_of: product.stock.as_of,
  },
  revision: product.revision,
  published_at: product.published_at,
  updated_at: product.updated_at,
});

export const encodeProduct = (product: CatalogProduct): string => JSON.stringify(ordered(product));
export const decodeProduct = (body: string): CatalogProduct => JSON.parse(body) as CatalogProduct;

// SQLite does not notice a flipped bit. A record that does not fit damages the whole file, which is filled again.

/** Columns of a product that a checksum covers, and the checksum. */
export const PRODUCT_COLUMNS = 'body, withdrawn, crc';
export type ProductColumns = { body: unknown; withdrawn: unknown; crc: unknown };

export const productCrc = (body: string, withdrawn: string | null): number =>
  crc32(body, withdrawn === null ? 0 : crc32(withdrawn, 1));

/** Throws RecordDamaged if the checksum does not fit; otherwise returns the columns. */
export const requireProduct = ({ body, withdrawn, crc }: ProductColumns) => {
  const isText = typeof body === 'string' && (withdrawn === null || typeof withdrawn === 'string');
  if (!isText || productCrc(body, withdrawn) !== crc)
    throw new RecordDamaged('the checksum of a product does not fit');
  return { body, withdrawn };
};
