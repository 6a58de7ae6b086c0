import type { ProductSearch } from '#src/ports/catalog.ts';
import { recentlyUsed } from './cache.ts';
import type { Columns } from './columns.ts';
import type { Coded } from './facts.ts';
import { conditionsOf, countedValues, filteredRows } from './filter.ts';
import { firstRows, rankedRows } from './order.ts';
import type { Ranks, Selected } from './select.ts';
import { selecting } from './select.ts';
import type { CatalogText, Matches } from './text.ts';

type FacetField = ProductSearch['facets'][number];

type Facets = Map<FacetField, { value: string; count: number }[]>;

type Found = {
  total: number;
  /** The first rows in order, as many as have been asked for. */
  ordered: Uint32Array;
  facets: Facets;
};

type Sources = {
  columns: Columns;
  text: CatalogText;
  ranks: Ranks;
  rowsOfIds(ids: readonly string[]): Uint32Array;
  rowsOfSkus(skus: readonly string[]): Uint32Array;
};

/** Rows kept for the next page and the next asker: at most 32 MB. */
const ROWS_MAX = 8_000_000;

/** What an entry without any row costs, or searches for nothing would fill the memory. */
const ENTRY_ROWS = 256;
const FACET_VALUE_ROWS = 16;

/** A page up to here comes from one pass, the shorter the cheaper; a further one puts all in order. */
const ORDERED_AT_FIRST = [32, 128];

const orderedFor = ({ offset, limit }: ProductSearch): number =>
  ORDERED_AT_FIRST.find((count) => offset + limit <= count) ?? Infinity;

const FACETS: Record<FacetField, Coded> = {
  category: 'category',
  ship_from: 'ship_from',
  brand: 'brand',
  origin: 'origin',
  stock: 'stock',
};

const NO_ROWS = new Uint32Array(0);
const NOTHING: Selected = { total: 0, rows: () => NO_ROWS, first: () => NO_ROWS };

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
    const count = orderedFor(query);
    const ties = ranks.byId();
    if (query.sort !== 'relevance') {
      return firstRows(found, { column: columnOf(query, found), ties }, count);
    }
    if (matches) {
      const column = derived(matches.rows, (_, place) => -(matches.scores[place] ?? 0));
      return firstRows(found, { column, ties }, count);
    }
    const column = ranks.byTitle();
    if (count === Infinity) return rankedRows(found, column);
    return firstRows(found, { column, ties }, count);
  };
};

export const catalogSearch = (sources: Sources) => {
  const { columns, text } = sources;
  const inOrder = ordering(sources);
  const select = selecting(columns, sources.ranks);
  const cached = recentlyUsed<string, Found>(ROWS_MAX);

  /** Good until the next call. */
  const matching = (query: ProductSearch, matches: Matches | undefined): Selected => {
    const conditions = conditionsOf(columns, query);
    if (!conditions) return NOTHING;
    if (!matches && !query.ids && !query.skus) return select(conditions);
    let rows = matches ? matches.rows : columns.liveRows();
    if (query.ids) rows = common(rows, sources.rowsOfIds(query.ids));
    if (query.skus) rows = common(rows, sources.rowsOfSkus(query.skus));
    rows = filteredRows(columns, conditions, rows);
    return { total: rows.length, rows: () => rows, first: () => undefined };
  };

  const find = (query: ProductSearch, fields: Iterable<FacetField>): Found => {
    const matches = query.q === undefined ? undefined : text.match(query.q);
    const selected = matching(query, matches);
    const count = orderedFor(query);
    const first = count === Infinity ? undefined : selected.first(query, count);
    const facets: Facets = new Map();
    for (const field of fields)
      facets.set(field, countedValues(columns, FACETS[field], selected.rows()));
    const ordered = first ?? inOrder(query, selected.rows(), matches);
    return { total: selected.total, ordered, facets };
  };

  return {
    /** The rows of a page, in order, out of how many, and the facets of all. */
    search(query: ProductSearch) {
      const { limit, offset, facets, ...asked } = query;
      const key = JSON.stringify(asked);
      let found = cached.get(key);
      const wanted = Math.min(offset + limit, found?.total ?? 0);
      const isKnown = facets.every((field) => found?.facets.has(field));
      if (!found || found.ordered.length < wanted || !isKnown) {
        found = find(query, new Set([...facets, ...(found?.facets.keys() ?? [])]));
        cached.set(key, found, weightOf(key, found));
      }
      const { total, ordered, facets: counted } = found;
      return {
        rows: ordered.subarray(offset, offset + limit),
        total,
        facets: facets.map((field) => ({ field, values: counted.get(field) ?? [] })),
      };
    },
    /** After a change of any product. */
    forget: () => cached.clear(),
  };
};

const weightOf = (key: string, { ordered, facets }: Found): number => {
  let values = 0;
  for (const counted of facets.values()) values += counted.length;
  return ENTRY_ROWS + key.length + ordered.length + FACET_VALUE_ROWS * values;
};
