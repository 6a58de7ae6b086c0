/** The operation that searches products. */
import { z } from 'zod';
import { searchProducts as contract } from '#contracts/catalog/operations.ts';
import type { ProductMark, ProductSearch } from '#src/ports/catalog.ts';
import { bindingOf, readPlace, writeCursor } from '#src/reading/lists.ts';
import { refuse, doneWithJson } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { PRODUCT_TEXT, productJson } from './products.ts';
import { epoch, renderAsOf } from '#src/shared/time.ts';
import type { Handler } from '#src/calls/handlers.ts';

/** The output without the products, which are checked when their texts are made. */
const ENVELOPE = contract.output.omit({ data: true });

/** A `ProductMark` in a cursor. */
const MARK = z.object({
  value: z.union([z.string(), z.number(), z.null()]),
  currency: z.string().optional(),
  product_id: z.string(),
  shown: z.int(),
  weights: z.string().optional(),
});

export const searchProducts: Handler<'searchProducts'> = async (deps, input, { caller }) => {
  const { cursor, limit, facets = [], updated_since, ...filters } = input;
  if ((input.price_max ?? input.price_min) !== undefined && input.currency === undefined) {
    const detail = 'a price filter needs the currency of its minor units';
    return refuse('parameter_invalid', 'A price filter needs a currency.', {
      errors: [{ pointer: '/currency', code: 'required', detail }],
    });
  }
  const binding = bindingOf(caller.ownerId, 'searchProducts', input);
  let after: ProductMark | undefined;
  if (cursor !== undefined) {
    const read = readPlace(deps, binding, { cursor, shape: MARK });
    if (!read.ok) return read;
    after = read.place as ProductMark;
  }
  const query: ProductSearch = {
    ...present(filters),
    ...(updated_since !== undefined && { updated_since: epoch(updated_since) }),
    sort: input.sort,
    limit,
    offset: 0,
    ...(after && { after }),
    facets: [...facets],
  };
  const hits = deps.catalog.show(query, PRODUCT_TEXT);
  const envelope = ENVELOPE.safeParse({
    page: {
      next_cursor: hits.last ? writeCursor(deps, binding, hits.last) : null,
      has_more: hits.last !== undefined,
      total: hits.total,
    },
    ...(facets.length > 0 && { facets: hits.facets }),
    as_of: renderAsOf(deps.following.asOf()),
  });
  if (!envelope.success)
    throw new Error(`a search is outside its contract: ${envelope.error.message}`);
  const products = hits.products.map((text) => productJson(text, input.at_quantity)).join(',');
  return doneWithJson(`{"data":[${products}],${JSON.stringify(envelope.data).slice(1)}`);
};
