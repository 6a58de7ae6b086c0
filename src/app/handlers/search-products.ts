import { searchProducts as contract } from '#contracts/operations/search-products.ts';
import type { ProductSearch } from '#src/ports/catalog.ts';
import { bindingOf, readCursor, writeCursor } from '../cursor.ts';
import type { Handler } from '../handler.ts';
import { refuse, written } from '../outcome.ts';
import { PRODUCT_TEXT, productJson } from '../product-text.ts';
import { epoch, renderAsOf } from '../time.ts';

/** All but the products, which are checked as their texts are made. */
const ENVELOPE = contract.output.omit({ data: true });

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
  const query: ProductSearch = {
    ...asked,
    ...(updated_since !== undefined && { updated_since: epoch(updated_since) }),
    sort: input.sort,
    limit,
    offset,
    facets: [...facets],
  };
  const hits = deps.catalog.show(query, PRODUCT_TEXT);
  const next = offset + hits.products.length;
  const more = next < hits.total && hits.products.length > 0;
  const envelope = ENVELOPE.safeParse({
    page: {
      next_cursor: more ? writeCursor(deps, binding, next) : null,
      has_more: more,
      total: hits.total,
    },
    ...(facets.length > 0 && { facets: hits.facets }),
    as_of: renderAsOf(deps.following.asOf()),
  });
  if (!envelope.success)
    throw new Error(`a search is outside its contract: ${envelope.error.message}`);
  const products = hits.products.map((text) => productJson(text, input.at_quantity)).join(',');
  return written(`{"data":[${products}],${JSON.stringify(envelope.data).slice(1)}`);
};
