import type { Catalog, CatalogProduct, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { VisitorHandler } from './visitor-handler.ts';
import { findPromotion, type Promotion, type Source } from './promotion.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import type { Deps } from '#src/calls/call.ts';
import { priceLines, totalsOf } from '#src/catalog/price-lines.ts';

const PAGE_PRODUCTS = 24;

/** One step of a category's path; `category` is set if the catalog has a page for it. */
export type Crumb = { name: string; category: string | undefined };

/** A published or withdrawn product, and the path to its category. */
export type ShownProduct = {
  product: CatalogProduct;
  withdrawn: boolean;
  crumbs: readonly Crumb[];
  promotion?: Promotion;
};

/** One page of products; the last page when the request was for a later one. */
export type Listing = {
  hits: ProductHits;
  page: number;
  pages: number;
  crumbs: readonly Crumb[];
  promotion?: Promotion;
};

const NO_PRODUCT = refuse(
  'resource_not_found',
  'This product is not offered any more, or never was.',
);
const NO_CATEGORY = refuse(
  'resource_not_found',
  'There is no such category, or it has no products any more.',
);

/** Splits a path like `Stationery > Pens` into its steps. */
const crumbsOf = (catalog: Catalog, category: string): Crumb[] => {
  const names = category.split(' > ');
  return names.map((name, index) => {
    const path = names.slice(0, index + 1).join(' > ');
    return { name, category: catalog.hasCategory(path) ? path : undefined };
  });
};

export const viewProduct: VisitorHandler<'viewProduct'> = async (deps, input, { at }) => {
  const { catalog } = deps;
  const { product_id } = input;
  const published = catalog.byId([product_id]).get(product_id);
  const product = published ?? catalog.withdrawn([product_id]).get(product_id)?.product;
  if (!product) return NO_PRODUCT;
  const crumbs = crumbsOf(catalog, product.category);
  const promotion = await findPromotion(deps, input, at);
  return done({ product, withdrawn: published === undefined, crumbs, ...present({ promotion }) });
};

const listingOf = async (
  deps: Deps,
  query: Pick<ProductSearch, 'q' | 'category'>,
  { page: wanted, at, ...source }: Source & { page: number; at: number },
): Promise<Omit<Listing, 'crumbs'>> => {
  const find = (page: number) =>
    deps.catalog.search({
      ...query,
      sort: 'relevance',
      limit: PAGE_PRODUCTS,
      offset: (page - 1) * PAGE_PRODUCTS,
      facets: [],
    });
  const first = find(wanted);
  const pages = Math.max(1, Math.ceil(first.total / PAGE_PRODUCTS));
  // Products may have left the catalog since the link to a later page was made.
  const page = Math.min(wanted, pages);
  const promotion = await findPromotion(deps, source, at);
  return { hits: page === wanted ? first : find(page), page, pages, ...present({ promotion }) };
};

export const viewCategory: VisitorHandler<'viewCategory'> = async (
  deps,
  { category, ...input },
  { at },
) => {
  const { catalog } = deps;
  if (!catalog.hasCategory(category)) return NO_CATEGORY;
  const crumbs = crumbsOf(catalog, category).slice(0, -1);
  return done({ ...(await listingOf(deps, { category }, { ...input, at })), crumbs });
};

export const viewSearch: VisitorHandler<'viewSearch'> = async (
  deps,
  { words, ...input },
  { at },
) => {
  const query = words === '' ? {} : { q: words };
  return done({ ...(await listingOf(deps, query, { ...input, at })), crumbs: [] });
};

const ONCE_CHARS = 22;

/** A list that the address of a page has, priced now. */
export type ShownList = Pick<EventData<'BuyerListCreated'>, 'lines' | 'totals'> & {
  /** Ids of products that are not offered any more. */
  missing: readonly string[];
  promotion?: Promotion;
  /** Identifies the form that makes the list, so that a repeated form makes one list. */
  once: string;
};

export const viewList: VisitorHandler<'viewList'> = async (deps, { lines, ...source }, { at }) => {
  const products = deps.catalog.byId(lines.map(({ product_id }) => product_id));
  const offered = lines.filter(({ product_id }) => products.has(product_id));
  const priced = priceLines(deps.catalog, offered);
  if ('faults' in priced) throw new Error('a product left the catalog within a call');
  return done({
    lines: priced.lines,
    totals: totalsOf(priced.lines),
    missing: lines.flatMap(({ product_id }) => (products.has(product_id) ? [] : [product_id])),
    ...present({ promotion: await findPromotion(deps, source, at) }),
    once: deps.ids.base62(ONCE_CHARS),
  });
};
