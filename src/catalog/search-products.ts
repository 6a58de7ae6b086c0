/** The operation that searches products. */
import { z } from 'zod';
import { searchProducts as contract } from '#contracts/catalog/operations.ts';
import type { excluder } from '#contracts/catalog/records.ts';
import type { Handler } from '#src/calls/handlers.ts';
import type { Catalog, ProductHits, ProductMark, ProductSearch } from '#src/ports/catalog.ts';
import { nameKey } from '#src/ports/folded-text.ts';
import { bindingOf, readPlace, writeCursor } from '#src/reading/lists.ts';
import { readOwnerSettings } from '#src/reading/live-sources.ts';
import { closestName } from '#src/shared/closest-name.ts';
import { refuse, doneWithJson } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { epoch, renderAsOf } from '#src/shared/time.ts';
import { PRODUCT_TEXT, productJson, staleBefore } from './products.ts';

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

/** Filters by names, whose values can be misspelled. */
const NAMED = ['category', 'brand', 'certifications'] as const;

type Excluder = NonNullable<ProductHits['excluded_by']>[number];

/** More names take too long to compare. */
const COMPARED_MAX = 1_000;

/** Adds the most similar name that products have to a filter by a name that none has. */
const withClosest = (
  catalog: Catalog,
  { filter, total_without }: Excluder,
  filters: Pick<ProductSearch, (typeof NAMED)[number]>,
): z.output<typeof excluder> => {
  const field = NAMED.find((name) => name === filter);
  const known = field ? catalog.namesOf(field).slice(0, COMPARED_MAX) : [];
  const keys = new Set(known.map(nameKey));
  const unknown = [filters[field ?? 'category'] ?? []]
    .flat()
    .find((one) => !keys.has(nameKey(one)));
  const closest = unknown === undefined ? undefined : closestName(unknown, known);
  return { filter, total_without, ...present({ closest }) };
};

/** A product as JSON with only these members. */
const onlyFields = (json: string, fields: readonly string[]): string => {
  const product = JSON.parse(json) as Record<string, unknown>;
  return JSON.stringify(Object.fromEntries(fields.map((name) => [name, product[name]])));
};

export const searchProducts: Handler<'searchProducts'> = async (deps, input, { caller, at }) => {
  const { cursor, limit, facets = [], fields, updated_since, ...filters } = input;
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
  const settings = await readOwnerSettings(deps, caller.ownerId);
  const hits = deps.catalog.show(query, PRODUCT_TEXT);
  const { relaxed, excluded_by, last } = hits;
  const envelope = ENVELOPE.safeParse({
    page: {
      next_cursor: last ? writeCursor(deps, binding, last) : null,
      has_more: last !== undefined,
      total: hits.total,
    },
    ...present({ relaxed }),
    ...(excluded_by && {
      excluded_by: excluded_by.map((one) => withClosest(deps.catalog, one, query)),
    }),
    ...(facets.length > 0 && { facets: hits.facets }),
    as_of: renderAsOf(deps.following.asOf()),
  });
  if (!envelope.success)
    throw new Error(`a search is outside its contract: ${envelope.error.message}`);
  const showing = { atQuantity: input.at_quantity, staleBefore: staleBefore(settings, at) };
  const products = hits.products.map((text) => {
    const json = productJson(text, showing);
    return fields ? onlyFields(json, fields) : json;
  });
  return doneWithJson(`{"data":[${products.join(',')}],${JSON.stringify(envelope.data).slice(1)}`);
};
