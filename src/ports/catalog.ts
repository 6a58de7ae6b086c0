/**
 * The catalog of this process: a projection of the product streams into a searchable index. It is
 * local because most requests need it; the log is the record.
 */
import type { EventData } from '#contracts/registries/events.ts';
import type { FoldEvent, Position } from './event-log.ts';

type Published = EventData<'ProductPublished'>;

/** A published product. Amounts are in minor units, `price_tiers` in ascending order of `min_quantity`. */
export type CatalogProduct = Published['product'] & {
  /** `as_of`: when the feed last confirmed it; if the feed does not say so, when it last changed here. */
  stock: Published['stock'] & { as_of: number };
  /** The revision of the stream, which handoffs refer to. */
  revision: number;
  published_at: number;
  updated_at: number;
};

/** What a search counts the values of. */
export type FacetField =
  | 'category'
  | 'ship_from'
  | 'brand'
  | 'origin'
  | 'stock'
  | 'certifications'
  | 'lead_time'
  | 'price';

export type ProductSearch = {
  /**
   * Each word must match a word of a product, by prefix or with one typo. If no product has all words, some are left out
   * (`CatalogText.match`).
   */
  q?: string;
  ids?: string[];
  skus?: string[];
  /** A category and those below it, and a brand, in any spelling. */
  category?: string;
  brand?: string;
  /** All of them, in any spelling. */
  certifications?: string[];
  ship_from?: string;
  origin?: string;
  /** In minor units, compared with the unit price at `at_quantity`. */
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
  /** Rows to skip when `after` is not set. */
  offset: number;
  /** The page begins after this row, whatever has changed before it. */
  after?: ProductMark;
  facets: FacetField[];
};

/**
 * The place of the last row of a page in the order of its query. It is JSON and valid for that query
 * on every node. A product that has not changed stays on the same side of it.
 */
export type ProductMark = {
  /** The value that the order compares: a title prefix or a number; null sorts after all numbers. */
  value: string | number | null;
  /** Set for amounts, which are grouped by currency. */
  currency?: string;
  product_id: string;
  /** Number of rows up to the mark when it was made; the search for the mark starts there. */
  shown: number;
  /** Which words were left out, and the weights of the others; scores by other weights are not comparable. */
  weights?: string;
};

/** A pure rendering of a product, which the catalog may cache until the product changes. */
export type ProductView<Shown> = {
  show(product: CatalogProduct): Shown;
  /** Estimates the memory of a cached rendering, which the catalog limits. */
  bytes(shown: Shown): number;
};

export type ProductHits<Shown = CatalogProduct> = {
  products: Shown[];
  /** Number of matches on all pages. */
  total: number;
  /** The words that the search left out, because no product has them beside the others. */
  relaxed?: string[];
  /** If nothing matches: the filters that leave nothing, and how many products match without each. */
  excluded_by?: { filter: string; total_without: number }[];
  /** The values of each field, and the number of further values. */
  facets: { field: string; values: { value: string; count: number }[]; more: number }[];
  /** Where the next page continues; absent on the last page. */
  last?: ProductMark;
};

export type Catalog = {
  /** Increases when the stored shape changes; the catalog is then folded again. */
  readonly version: number;
  /** Returns published products by id; unknown ones are absent. */
  byId(ids: readonly string[]): Map<string, CatalogProduct>;
  bySku(skus: readonly string[]): Map<string, CatalogProduct>;
  /**
   * Returns the SKUs of the published products of a source, '' for those without one, rising by code point: those after
   * `after` and up to `until`.
   */
  skusOf(
    source: string,
    range: { after?: string | undefined; until?: string | undefined },
  ): string[];
  /** Returns the ids or the SKUs of published products that begin with `prefix`, rising by code point, at most `limit`. */
  startingWith(field: 'product_id' | 'sku', prefix: string, limit: number): string[];
  /** Returns the last state of withdrawn products by id, with the reason that staff gave. */
  withdrawn(ids: readonly string[]): Map<string, { product: CatalogProduct; reason: string }>;
  /** Returns a category, which may have only categories below it, as most products spell it; undefined if it has none. */
  categoryNamed(category: string): string | undefined;
  /** Returns every value that a filter on the field accepts. */
  namesOf(field: 'category' | 'brand' | 'certifications'): string[];
  search(query: ProductSearch): ProductHits;
  /** Searches, and renders each product. Renderings are cached by view, so views must be constants. */
  show<Shown>(query: ProductSearch, view: ProductView<Shown>): ProductHits<Shown>;
  count(): number;
  /**
   * Folds product events and moves the checkpoint in one transaction; skips all other events. Throws
   * PoisonEvent for an event that can never be folded. Any other error is a fault of the store: the
   * same events can be applied later, from the checkpoint on.
   */
  apply(events: readonly FoldEvent[], upTo: Position): void;
  checkpoint(): Position;
  /** Increases when another or an empty build replaces the current one, with another checkpoint. */
  generation(): number;
  /** Returns the number of rows and a digest of all of them, for `verify`. */
  digest(): { rows: number; digest: string };
  close(): void;
};

/** How many products have been read from the file. */
export type CatalogProgress = { done: number; of: number };

/** A catalog that opens beside other work: until then its checkpoint is 0, and all else throws ReadModelRebuilding. */
export type OpeningCatalog = Catalog & {
  /** Resolves once the catalog is open, or closed. Rejects with an error of the file that is no damage. */
  readonly opened: Promise<void>;
  /** Undefined once the catalog is open. */
  opening(): CatalogProgress | undefined;
};

/** An event that can never be folded, in any store; retries are useless. */
export class PoisonEvent extends Error {
  override readonly name = 'PoisonEvent';
}
