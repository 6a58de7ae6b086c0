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
    /** When the feed was last sure of it, where it says so; else when it was another here. */
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
  /** Rows to pass over, where the page does not begin after a mark. */
  offset: number;
  /** The page begins behind this place, whatever has changed before it. */
  after?: ProductMark;
  facets: ('category' | 'ship_from' | 'brand' | 'origin' | 'stock')[];
};

/**
 * The place of a page's last row in the order of its query: JSON, and good for that query only, on
 * every node. A product that has not changed since is before it or behind it, as it was.
 */
export type ProductMark = {
  /** What the order compares: the beginning of a title, or a number; null is beyond all numbers. */
  value: string | number | null;
  /** Of an amount: currencies follow one another. */
  currency?: string;
  product_id: string;
  /** Rows up to the mark when it was made: the place where it is sought first. */
  shown: number;
  /** What words weighed: with others, every score would be another. */
  weights?: string;
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
  /** The most frequent values of each, and how many `more` there are. */
  facets: { field: string; values: { value: string; count: number }[]; more: number }[];
  /** Where the next page goes on; absent on the last one. */
  last?: ProductMark;
};

export type Catalog = {
  /** Rises when the shape of what is kept changes: all is folded afresh then. */
  readonly version: number;
  /** Published products by id; a missing one is absent from the map. */
  byId(ids: readonly string[]): Map<string, CatalogProduct>;
  bySku(skus: readonly string[]): Map<string, CatalogProduct>;
  /** Those of these products that are withdrawn, as they were last, by id; why, in staff's words. */
  withdrawn(ids: readonly string[]): Map<string, { product: CatalogProduct; reason: string }>;
  hasCategory(category: string): boolean;
  search(query: ProductSearch): ProductHits;
  /** The same, with what a view makes of each product; a view is a constant, and few are known. */
  show<Shown>(query: ProductSearch, view: ProductView<Shown>): ProductHits<Shown>;
  count(): number;
  /**
   * Folds product events and moves the checkpoint in one transaction; others are passed over. Throws
   * PoisonEvent for one that it can never take, and any other error for its store: then the same may
   * be taken later, from its checkpoint on.
   */
  apply(events: readonly FoldEvent[], upTo: Position): void;
  checkpoint(): Position;
  /** Rises when another build takes its place, or an empty one: from then on it stands elsewhere. */
  generation(): number;
  /** Rows and a digest of all of them, for verify. */
  digest(): { rows: number; digest: string };
  close(): void;
};

/** An event that cannot be folded, whatever the store: to try again is of no use. */
export class PoisonEvent extends Error {
  override readonly name = 'PoisonEvent';
}
