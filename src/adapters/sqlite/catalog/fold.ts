import { type EventData, PRODUCT_EVENTS } from '#contracts/events/index.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

/** A product's stream, folded. A withdrawn one keeps what it was, for the day it comes back. */
export type Kept = {
  product: CatalogProduct;
  live: boolean;
  /** Why, where it was withdrawn. */
  reason?: string;
};

const FOLDED: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

export const isFolded = (event: FoldEvent): boolean => FOLDED.has(event.type);

export const productIdOf = (event: FoldEvent): string => {
  const data = event.data as Partial<EventData<'ProductPublished'> & EventData<'ProductWithdrawn'>>;
  const id = data.product?.product_id ?? data.product_id;
  if (typeof id !== 'string')
    throw new Error(`${event.type} at ${event.position} names no product`);
  return id;
};

const described = (event: FoldEvent, published_at: number): CatalogProduct => {
  const { product, stock } = event.data as EventData<'ProductPublished'>;
  const { at, revision } = event;
  // A feed that was not sent for long tells of a day long ago; none knows the future.
  const said = Date.parse(product.source_updated_at ?? '');
  const folded = {
    ...product,
    stock: { ...stock, as_of: Number.isNaN(said) ? at : Math.min(said, at) },
    revision,
    published_at,
    updated_at: at,
  };
  // The schema's optional fields may say undefined, which JSON, where this ends, does not.
  return folded as CatalogProduct;
};

/** The log is believed: a product that was never published cannot change, so that is a bug. */
export const fold = (kept: Kept | undefined, event: FoldEvent): Kept => {
  if (event.type === 'ProductPublished') {
    return { product: described(event, kept?.product.published_at ?? event.at), live: true };
  }
  if (!kept) throw new Error(`${event.type} at ${event.position} on a product never published`);
  if (event.type === 'ProductRevised') {
    return { ...kept, product: described(event, kept.product.published_at) };
  }
  const { at, revision } = event;
  if (event.type === 'ProductWithdrawn') {
    const { reason } = event.data as EventData<'ProductWithdrawn'>;
    return { product: { ...kept.product, revision, updated_at: at }, live: false, reason };
  }
  const { stock } = event.data as EventData<'ProductStockObserved'>;
  const product = { ...kept.product, stock: { ...stock, as_of: at }, revision, updated_at: at };
  return { ...kept, product };
};

type EveryMember<T extends object> = { [K in keyof Required<T>]: T[K] | undefined };

/** Every member in one order, so that equal products are equal bytes. */
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

/** A JSON array of them: one parse for a page. */
export const decodeProducts = (bodies: string): CatalogProduct[] =>
  JSON.parse(bodies) as CatalogProduct[];
