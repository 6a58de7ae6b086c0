/**
 * The catalog on this node: a projection of the product streams into a searchable index. Every
 * request needs it, so it is local to the process; the log is the record.
 */
import type { FoldEvent, Position } from './event-log.ts';

/** A published product as its stream's events leave it. Amounts in minor units. */
export type CatalogProduct = {
  product_id: string;
  sku: string;
  title: string;
  description: string;
  brand?: string;
  gtin?: string;
  mpn?: string;
  category: string;
  image_url?: string;
  origin_country?: string;
  ship_from?: string;
  lead_time_days?: number;
  currency: string;
  moq: number;
  increment: number;
  /** Ascending by min_quantity. */
  price_tiers: { min_quantity: number; unit_price: number }[];
  certifications?: string[];
  source_updated_at?: string;
  stock: {
    level: 'in_stock' | 'low' | 'out_of_stock';
    available_quantity: number | null;
    as_of: number;
  };
  /** The stream's revision: pinned into handoffs. */
  revision: number;
  published_at: number;
  updated_at: number;
};

export type ProductSearch = {
  /** Words; each must match a word of title, sku, category or brand: by prefix, or with one typo. */
  q?: string;
  ids?: string[];
  skus?: string[];
  category?: string;
  ship_from?: string;
  origin?: string;
  brand?: string;
  /** Minor units, compared with the unit price at `at_quantity`. */
  price_min?: number;
  price_max?: number;
  currency?: string;
  at_quantity?: number;
  moq_max?: number;
  min_available?: number;
  lead_time_max_days?: number;
  updated_since?: number;
  sort: 'relevance' | 'price' | 'moq' | 'lead_time' | 'updated';
  limit: number;
  /** Rows to pass over; the cursor of the next page carries it. */
  offset: number;
  facets: ('category' | 'ship_from' | 'brand' | 'origin' | 'stock')[];
};

/** What a reader makes of a product: the same each time, until the product changes. */
export type ProductView<Shown> = {
  show(product: CatalogProduct): Shown;
  /** Of memory, about: the catalog keeps what was shown, within bounds. */
  bytes(shown: Shown): number;
};

export type ProductHits<Shown = CatalogProduct> = {
  products: Shown[];
  /** Matches in all, not only on this page. */
  total: number;
  facets: { field: string; values: { value: string; count: number }[] }[];
};

export type Catalog = {
  /** Published products by id; a missing one is absent from the map. */
  byId(ids: readonly string[]): Map<string, CatalogProduct>;
  bySku(skus: readonly string[]): Map<string, CatalogProduct>;
  hasCategory(category: string): boolean;
  search(query: ProductSearch): ProductHits;
  /** The same, with what a view makes of each product; a view is a constant, and few are known. */
  show<Shown>(query: ProductSearch, view: ProductView<Shown>): ProductHits<Shown>;
  count(): number;
  /** Folds product events and moves the checkpoint in one transaction; others are passed over. */
  apply(events: readonly FoldEvent[], upTo: Position): void;
  checkpoint(): Position;
  /** Rows and a digest of all of them, for verify. */
  digest(): { rows: number; digest: string };
  /** Empties the index and sets the checkpoint to 0, for rebuild. */
  clear(): void;
  close(): void;
};
