/** Products at the desk: found as agents find them, and shown whole, also when they are withdrawn. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { productIdOfSku } from './import-products.ts';
import { pathOfTarget, renderProduct, staleBefore } from './products.ts';

export const listProducts: DeskHandler<'listProducts'> = async (deps, input, { at }) => {
  const { text = '', skip: offset, limit } = input;
  const isSearch = text.trim() !== '';
  const { products, total, relaxed } = deps.catalog.search({
    ...(isSearch && { q: text }),
    sort: isSearch ? 'relevance' : 'updated',
    limit,
    offset,
    facets: [],
  });
  const showing = { staleBefore: staleBefore(undefined, at) };
  return done({
    data: products.map((product) => renderProduct(product, showing)),
    total,
    ...present({ relaxed }),
    as_of: renderAsOf(deps.following.asOf()),
  });
};

/** A product by id, or by SKU, from which its id follows. */
const findProduct = (
  { catalog }: Pick<Deps, 'catalog'>,
  named: string,
): { product: CatalogProduct; reason?: string } | undefined => {
  for (const id of [named, productIdOfSku(named)]) {
    const product = catalog.byId([id]).get(id);
    const found = product ? { product } : catalog.withdrawn([id]).get(id);
    if (found) return found;
  }
  return undefined;
};

const NO_PRODUCT = refuse(
  'resource_not_found',
  'The catalog never had a product of this id or SKU. Search for its words.',
);

export const readProduct: DeskHandler<'readProduct'> = async (deps, input, { at }) => {
  const found = findProduct(deps, input.product);
  if (!found) return NO_PRODUCT;
  const { product, reason } = found;
  const { product_id: ref, source, source_updated_at, published_at } = product;
  return done({
    ...renderProduct(product, { staleBefore: staleBefore(undefined, at) }),
    ...present({ source, source_updated_at, reason }),
    status: reason === undefined ? 'published' : 'withdrawn',
    published_at: iso(published_at),
    page_url: deps.origin() + pathOfTarget({ kind: 'product', ref }),
  });
};
