/** Products of a shop, and the events that publish them. */
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

export type Content = Omit<CatalogProduct, 'stock' | 'revision' | 'published_at' | 'updated_at'>;
export type Stock = {
  level: 'in_stock' | 'low' | 'out_of_stock';
  available_quantity: number | null;
};

export const T0 = 1_700_000_000_000;
export const MUCH: Stock = { level: 'in_stock', available_quantity: 1_000 };

export const content = (key: string, over: Partial<Content> = {}): Content => ({
  product_id: `prd_${key}`,
  sku: `SKU-${key}`,
  title: `Product ${key}`,
  description: '',
  category: 'Gifts',
  currency: 'GBP',
  moq: 1,
  increment: 1,
  price_tiers: [{ min_quantity: 1, unit_price: 100 }],
  ...over,
});

/** Creates a log with rising positions and dense revisions per product. */
export const history = () => {
  const events: FoldEvent[] = [];
  const add = (type: string, product_id: string, data: object): FoldEvent => {
    const stream = `catalog-product_${product_id}`;
    const revision = events.filter((event) => event.stream === stream).length;
    const position = events.length + 1;
    const event = { stream, owner: 'catalog', revision, position, type, data, at: T0 + position };
    events.push(event);
    return event;
  };
  return {
    events,
    publish: (product: Content, stock = MUCH) =>
      add('ProductPublished', product.product_id, { product, stock }),
    revise: (product: Content, stock = MUCH) =>
      add('ProductRevised', product.product_id, { product, stock }),
    observe: (product_id: string, stock: Stock) =>
      add('ProductStockObserved', product_id, { product_id, stock }),
    withdraw: (product_id: string) =>
      add('ProductWithdrawn', product_id, { product_id, reason: 'sold out' }),
    other: () => add('LinkCreated', 'other', { link_id: 'lnk_1' }),
  };
};
