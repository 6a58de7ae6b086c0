import { bindingOf, readCursor, writeCursor } from '../cursor.ts';
import type { Handler } from '../handler.ts';
import { done, refuse } from '../outcome.ts';
import { renderProduct } from '../render.ts';
import { epoch, renderAsOf } from '../time.ts';

export const searchProducts: Handler<'searchProducts'> = async (deps, input, { caller }) => {
  const { cursor, limit, facets = [], updated_since, ...filters } = input;
  if ((input.price_max ?? input.price_min) !== undefined && input.currency === undefined) {
    const detail = 'a price filter needs the currency of its minor units';
    return refuse('parameter_invalid', 'A price filter needs a currency.', {
      errors: [{ pointer: '/currency', code: 'required', detail }],
    });
  }
  const binding = bindingOf(caller.ownerId, 'searchProducts', input);
  let offset = 0;
  if (cursor !== undefined) {
    const read = readCursor(deps, binding, cursor);
    if (!read.ok) return read;
    offset = read.place;
  }
  const asked = Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined),
  );
  const hits = deps.catalog.search({
    ...asked,
    ...(updated_since !== undefined && { updated_since: epoch(updated_since) }),
    sort: input.sort,
    limit,
    offset,
    facets: [...facets],
  });
  const next = offset + hits.products.length;
  const more = next < hits.total && hits.products.length > 0;
  return done({
    data: hits.products.map((product) => renderProduct(product, input.at_quantity)),
    page: {
      next_cursor: more ? writeCursor(deps, binding, next) : null,
      has_more: more,
      total: hits.total,
    },
    ...(facets.length > 0 && { facets: hits.facets }),
    as_of: renderAsOf(deps.following.asOf()),
  });
};
