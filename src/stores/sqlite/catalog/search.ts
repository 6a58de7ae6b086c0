/** Searches the catalog: filters, words and pages. */
import type { FacetField, ProductMark, ProductSearch, ProductHits } from '#src/ports/catalog.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { LruCache } from '#src/stores/caches.ts';
import type { CatalogColumns } from './columns.ts';
import { conditionsOf, countValues, type FacetCounts, type Filter, filterRows } from './filter.ts';
import { type OrderedRows, type SearchIndex, orderRows } from './row-order.ts';
import type { CatalogText, Matches } from './text.ts';

type OrderedResult = { query: ProductSearch; ordered: OrderedRows };

/**
 * Marks where a page ended, by the row at `position` of the result, so that the next page continues there whatever has
 * changed meanwhile.
 */
const markAt = (index: SearchIndex, result: OrderedResult, position: number): ProductMark => {
  const { query, ordered } = result;
  const row = ordered.rows[position] ?? 0;
  const { id, title } = index.ranks.nameOf(row);
  const isByTitle = query.sort === 'relevance' && !ordered.scores;
  const value = isByTitle ? title : valueAt(index, result, position);
  return {
    value: value === Infinity ? null : value,
    ...(query.sort === 'price' && { currency: currencyOf(index.columns, row) }),
    product_id: id,
    shown: position + 1,
  };
};

/** Returns the position of the first row after the mark, or the number of rows. */
const positionAfter = (index: SearchIndex, result: OrderedResult, mark: ProductMark): number => {
  const { value: marked, product_id, currency = '', shown } = mark;
  const { columns, ranks } = index;
  const isTitle = typeof marked === 'string';
  const value = isTitle ? ranks.rankOfTitle(marked, product_id) : (marked ?? Infinity);
  const id = isTitle ? Infinity : ranks.rankOfId(product_id);
  const isAfter = (position: number): boolean => {
    const row = result.ordered.rows[position] ?? 0;
    const other = result.query.sort === 'price' ? currencyOf(columns, row) : '';
    if (other !== currency) return other > currency;
    const rowValue = valueAt(index, result, position);
    return rowValue === value ? (ranks.byId[row] ?? 0) > id : rowValue > value;
  };
  const { length } = result.ordered.rows;
  // Usually no row was added or removed before the mark.
  if (shown <= length && !isAfter(shown - 1) && (shown === length || isAfter(shown))) return shown;
  return lowerBound(length, (position) => !isAfter(position));
};

/** Returns what the order of the query compares first; rising in that order. */
const valueAt = (
  { columns, ranks }: SearchIndex,
  { query, ordered: { rows, scores } }: OrderedResult,
  position: number,
): number => {
  const row = rows[position] ?? 0;
  if (scores) return -(scores[position] ?? 0);
  if (query.sort === 'relevance') return ranks.byTitle[row] ?? 0;
  if (query.sort === 'updated') return -(columns.of('updated')[row] ?? 0);
  if (query.sort === 'price')
    return columns.prices(query.at_quantity, Uint32Array.of(row))[row] ?? 0;
  return columns.of(query.sort)[row] ?? 0;
};

const currencyOf = (columns: CatalogColumns, row: number): string => {
  const { rows, values } = columns.values('currency');
  return values[rows[row] ?? 0] ?? '';
};

type SearchResult = {
  total: number;
  /** The first rows in order, as many as were needed so far. */
  ordered: OrderedRows;
  facets: Map<FacetField, FacetCounts>;
  /** The weights of a text's words, and those that were left out. */
  weights?: string;
  relaxed?: readonly string[];
  excludedBy?: NonNullable<ProductHits['excluded_by']>;
};

type Sources = SearchIndex & {
  text: CatalogText;
  rowsOfIds(ids: readonly string[]): Uint32Array;
  rowsOfSkus(skus: readonly string[]): Uint32Array;
};

/** Rows in the cache, for next pages and repeated queries: at most 32 MB. */
const ROWS_MAX = 8_000_000;

/** Weight of an entry without rows; otherwise searches without matches would fill the memory. */
const ENTRY_ROWS = 256;
const FACET_VALUE_ROWS = 16;

/** Up to here, rows come from one pass, cheaper for fewer; for later rows all are put in order. */
const FIRST_ROWS = [32, 128];

const NO_COUNTS: FacetCounts = { values: [], more: 0 };

/** In the order in which they are named. A record, so that none can be forgotten. */
const FILTERS = Object.keys({
  q: 0,
  ids: 0,
  skus: 0,
  category: 0,
  brand: 0,
  certifications: 0,
  origin: 0,
  ship_from: 0,
  currency: 0,
  price_min: 0,
  price_max: 0,
  moq_max: 0,
  min_available: 0,
  lead_time_max_days: 0,
  updated_since: 0,
} satisfies Record<Filter, 0>) as Filter[];

const intersection = (one: Uint32Array, other: Uint32Array): Uint32Array => {
  const others = new Set(other);
  return one.filter((row) => others.has(row));
};

export class CatalogSearch {
  readonly #sources: Sources;
  readonly #cache = new LruCache<string, SearchResult>(ROWS_MAX);

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Returns the rows of a page in order, and the totals, facets and mark of its answer. */
  search(query: ProductSearch): { rows: Uint32Array } & Omit<ProductHits, 'products'> {
    const { limit, offset, after, facets } = query;
    const startIn = ({ ordered }: SearchResult): number =>
      after ? positionAfter(this.#sources, { query, ordered }, after) : offset;
    let result = this.#resultFor(query, (after?.shown ?? offset) + limit);
    let from = startIn(result);
    const { total } = result;
    if (result.ordered.rows.length < Math.min(from + limit, total)) {
      // More rows were added before the mark than the first rows can have.
      result = this.#resultFor(query, Infinity);
      from = startIn(result);
    }
    const { ordered, facets: counts, weights, relaxed = [], excludedBy = [] } = result;
    const rows = ordered.rows.subarray(from, from + limit);
    const end = from + rows.length;
    const hasNext = rows.length > 0 && end < total;
    return {
      rows,
      total,
      ...(relaxed.length > 0 && { relaxed: [...relaxed] }),
      ...(excludedBy.length > 0 && { excluded_by: excludedBy }),
      facets: facets.map((field) => ({ field, ...(counts.get(field) ?? NO_COUNTS) })),
      ...(hasNext && {
        last: {
          ...markAt(this.#sources, { query, ordered }, end - 1),
          ...(weights !== undefined && { weights }),
        },
      }),
    };
  }

  /** Call after any change of products. */
  clear(): void {
    this.#cache.clear();
  }

  /** Returns a result with at least the first `count` rows, from the cache if it has that many. */
  #resultFor(query: ProductSearch, count: number): SearchResult {
    const { key, cached } = this.#findCached(query);
    const { facets } = query;
    const wanted = Math.min(count, cached?.total ?? 0);
    const hasFacets = facets.every((field) => cached?.facets.has(field));
    if (cached && cached.ordered.rows.length >= wanted && hasFacets) return cached;
    const fields = new Set([...facets, ...(cached?.facets.keys() ?? [])]);
    const rows = FIRST_ROWS.find((most) => count <= most) ?? Infinity;
    const result = this.#run(query, fields, rows);
    this.#cache.set(key, result, weightOf(key, result));
    return result;
  }

  #findCached({ limit, offset, after, facets, ...filters }: ProductSearch) {
    const key = JSON.stringify(filters);
    const cached = this.#cache.get(key);
    const weights = after?.weights;
    if (weights === undefined || weights === cached?.weights) return { key, cached };
    const keyOfWeights = `${key} ${weights}`;
    return { key: keyOfWeights, cached: this.#cache.get(keyOfWeights) };
  }

  #run(query: ProductSearch, fields: Iterable<FacetField>, count: number): SearchResult {
    const { columns, text } = this.#sources;
    const matches = query.q === undefined ? undefined : text.match(query.q, query.after?.weights);
    const rows = this.#select(query, matches);
    const facets = new Map<FacetField, FacetCounts>();
    for (const field of fields)
      facets.set(field, countValues(columns, field, rows, query.at_quantity));
    const ordered = orderRows(this.#sources, rows, { query, count, matches });
    return {
      total: rows.length,
      ordered,
      facets,
      ...(matches && { weights: matches.weights, relaxed: matches.relaxed }),
      ...(rows.length === 0 && { excludedBy: this.#excluders(query) }),
    };
  }

  /** Returns the rows that pass, rising; valid until the next call. */
  #select(query: ProductSearch, matches: Matches | undefined): Uint32Array {
    const { columns, rowsOfIds, rowsOfSkus } = this.#sources;
    let rows = matches ? matches.rows : columns.liveRows;
    if (query.ids) rows = intersection(rows, rowsOfIds(query.ids));
    if (query.skus) rows = intersection(rows, rowsOfSkus(query.skus));
    return filterRows(columns, conditionsOf(columns, query), rows);
  }

  /**
   * Names the filters that leave nothing: those without which something matches; if there is none, those that match nothing
   * alone; otherwise all, which match nothing only together.
   */
  #excluders(query: ProductSearch): NonNullable<ProductHits['excluded_by']> {
    const { columns, text } = this.#sources;
    if (columns.liveCount === 0) return [];
    const set = FILTERS.filter((name) => query[name] !== undefined);
    const totalOf = (names: readonly Filter[]): number => {
      const only = Object.fromEntries(names.map((name) => [name, query[name]]));
      const { at_quantity, sort, limit, offset } = query;
      const matches = only['q'] === undefined ? undefined : text.match(query.q ?? '');
      const asked = { ...only, ...(at_quantity !== undefined && { at_quantity }) };
      return this.#select({ ...asked, sort, limit, offset, facets: [] }, matches).length;
    };
    const named = set.map((filter) => ({
      filter,
      total_without: totalOf(set.filter((other) => other !== filter)),
    }));
    const decisive = named.filter(({ total_without }) => total_without > 0);
    if (decisive.length > 0) return decisive;
    const alone = named.filter(({ filter }) => totalOf([filter]) === 0);
    return alone.length > 0 ? alone : named;
  }
}

const weightOf = (key: string, { ordered, facets }: SearchResult): number => {
  let values = 0;
  for (const counts of facets.values()) values += counts.values.length;
  // A score has the size of two rows.
  const rows = ordered.rows.length * (ordered.scores ? 3 : 1);
  return ENTRY_ROWS + key.length + rows + FACET_VALUE_ROWS * values;
};
