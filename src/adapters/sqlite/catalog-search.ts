import type { CatalogProduct, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import { recentlyUsed } from './catalog-cache.ts';
import type { Columns } from './catalog-columns.ts';
import type { Coded } from './catalog-facts.ts';
import { countedValues, filteredRows } from './catalog-filter.ts';
import { firstRows, rankedRows } from './catalog-order.ts';
import type { CatalogText, Matches } from './catalog-text.ts';

type FacetField = ProductSearch['facets'][number];

type Found = {
  rows: Uint32Array;
  /** The first rows in order, as many as have been asked for. */
  ordered: Uint32Array;
  facets: Map<string, { value: string; count: number }[]>;
};

/** Place of each row in an order that the file's indexes keep. */
export type Ranks = { byId(): Float64Array; byTitle(): Float64Array };

type Sources = {
  columns: Columns;
  text: CatalogText;
  ranks: Ranks;
  rowsOfIds(ids: readonly string[]): Uint32Array;
  rowsOfSkus(skus: readonly string[]): Uint32Array;
  products(rows: Uint32Array): CatalogProduct[];
};

/** Rows of matches kept for the next page and the next asker: at most 32 MB. */
const MATCHES_MAX = 8_000_000;

/** What an entry without any row costs, or searches for nothing would fill the memory. */
const ENTRY_ROWS = 256;

/** A page up to here comes from one pass; a further one puts all matches in order. */
const ORDERED_AT_FIRST = 128;

const FACETS: Record<FacetField, Coded> = {
  category: 'category',
  ship_from: 'ship_from',
  brand: 'brand',
  origin: 'origin',
  stock: 'stock',
};

const common = (one: Uint32Array, other: Uint32Array): Uint32Array => {
  const others = new Set(other);
  return one.filter((row) => others.has(row));
};

/** Puts matches in the order of a query: all of them, or as many as a first page needs. */
const ordering = ({ columns, ranks }: Sources) => {
  let scratch = new Float64Array(0);

  /** A column of `value` for each of `rows`, worth reading until the next call. */
  const derived = (
    rows: Uint32Array,
    value: (row: number, place: number) => number,
  ): Float64Array => {
    if (scratch.length < columns.end()) scratch = new Float64Array(2 * columns.end());
    for (let i = 0; i < rows.length; i += 1) scratch[rows[i] ?? 0] = value(rows[i] ?? 0, i);
    return scratch;
  };

  /** What `rows` rise by. Amounts are compared whatever their currency: who minds filters by it. */
  const columnOf = (query: ProductSearch, rows: Uint32Array): Float64Array => {
    if (query.sort === 'price') return columns.prices(query.at_quantity, rows);
    if (query.sort !== 'updated') return columns.of(query.sort === 'moq' ? 'moq' : 'lead_time');
    const updated = columns.of('updated');
    return derived(rows, (row) => -(updated[row] ?? 0));
  };

  return (query: ProductSearch, found: Uint32Array, matches?: Matches): Uint32Array => {
    const isFirst = query.offset + query.limit <= ORDERED_AT_FIRST;
    const count = isFirst ? ORDERED_AT_FIRST : Infinity;
    const ties = ranks.byId();
    if (query.sort !== 'relevance') {
      return firstRows(found, { column: columnOf(query, found), ties }, count);
    }
    if (matches) {
      const column = derived(matches.rows, (_, place) => -(matches.scores[place] ?? 0));
      return firstRows(found, { column, ties }, count);
    }
    const column = ranks.byTitle();
    return isFirst ? firstRows(found, { column, ties }, count) : rankedRows(found, column);
  };
};

export const catalogSearch = (sources: Sources) => {
  const { columns, text } = sources;
  const ordered = ordering(sources);
  const cached = recentlyUsed<string, Found>(MATCHES_MAX);

  const find = (query: ProductSearch): Found => {
    const matches = query.q === undefined ? undefined : text.match(query.q);
    let rows = matches ? matches.rows : columns.liveRows();
    if (query.ids) rows = common(rows, sources.rowsOfIds(query.ids));
    if (query.skus) rows = common(rows, sources.rowsOfSkus(query.skus));
    rows = filteredRows(columns, query, rows);
    return { rows, ordered: ordered(query, rows, matches), facets: new Map() };
  };

  const facet = (found: Found, field: FacetField) => {
    const known = found.facets.get(field);
    const values = known ?? countedValues(columns, FACETS[field], found.rows);
    found.facets.set(field, values);
    return { field, values };
  };

  return {
    search(query: ProductSearch): ProductHits {
      const { limit, offset, facets, ...asked } = query;
      const key = JSON.stringify(asked);
      let found = cached.get(key);
      const wanted = Math.min(offset + limit, found?.rows.length ?? 0);
      if (!found || found.ordered.length < wanted) {
        found = find(query);
        const rows = found.rows.length + found.ordered.length;
        cached.set(key, found, ENTRY_ROWS + key.length + rows);
      }
      const total = found.rows.length;
      const products = sources.products(found.ordered.subarray(offset, offset + limit));
      return { products, total, facets: facets.map((field) => facet(found, field)) };
    },
    /** After a change of any product. */
    forget: () => cached.clear(),
  };
};
