import type { ProductSearch } from '#src/ports/catalog.ts';
import { recentlyUsed } from '#src/adapters/recently-used.ts';
import type { Columns } from './columns.ts';
import type { Coded } from './facts.ts';
import { conditionsOf, countedValues, type Counts, filteredRows } from './filter.ts';
import { marking } from './marks.ts';
import { type Ordered, ordering } from './ordering.ts';
import { type Ranks, type Selected, selecting } from './select.ts';
import type { CatalogText, Matches } from './text.ts';

type FacetField = ProductSearch['facets'][number];

type Facets = Map<FacetField, Counts>;

type Found = {
  total: number;
  /** The first rows in order, as many as have been asked for. */
  ordered: Ordered;
  facets: Facets;
  /** What the words of a text weighed. */
  weights?: string;
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

/** Rows up to here come from one pass, the fewer the cheaper; for further ones all are put in order. */
const ORDERED_AT_FIRST = [32, 128];

const FACETS: Record<FacetField, Coded> = {
  category: 'category',
  ship_from: 'ship_from',
  brand: 'brand',
  origin: 'origin',
  stock: 'stock',
};

const NO_COUNTS: Counts = { values: [], more: 0 };
const NO_ROWS = new Uint32Array(0);
const NOTHING: Selected = { total: 0, rows: () => NO_ROWS, first: () => NO_ROWS };

const common = (one: Uint32Array, other: Uint32Array): Uint32Array => {
  const others = new Set(other);
  return one.filter((row) => others.has(row));
};

export const catalogSearch = (sources: Sources) => {
  const { columns, text } = sources;
  const inOrder = ordering(sources);
  const marks = marking(sources);
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

  const find = (query: ProductSearch, fields: Iterable<FacetField>, count: number): Found => {
    const matches = query.q === undefined ? undefined : text.match(query.q, query.after?.weights);
    const selected = matching(query, matches);
    const first = count === Infinity ? undefined : selected.first(query, count);
    const facets: Facets = new Map();
    for (const field of fields)
      facets.set(field, countedValues(columns, FACETS[field], selected.rows()));
    const ordered = first ? { rows: first } : inOrder(query, selected.rows(), count, matches);
    return {
      total: selected.total,
      ordered,
      facets,
      ...(matches && ordered.scores && { weights: matches.weights }),
    };
  };

  /** What is kept of this query, and under which key. */
  const keptFor = ({ limit, offset, after, facets, ...asked }: ProductSearch) => {
    const key = JSON.stringify(asked);
    const found = cached.get(key);
    const weights = after?.weights;
    if (weights === undefined || weights === found?.weights) return { key, found };
    const pinned = `${key} ${weights}`;
    return { key: pinned, found: cached.get(pinned) };
  };

  /** The first `count` rows at least, and the facets of all. */
  const foundFor = (query: ProductSearch, count: number): Found => {
    const { key, found } = keptFor(query);
    const { facets } = query;
    const wanted = Math.min(count, found?.total ?? 0);
    const isKnown = facets.every((field) => found?.facets.has(field));
    if (found && found.ordered.rows.length >= wanted && isKnown) return found;
    const made = find(
      query,
      new Set([...facets, ...(found?.facets.keys() ?? [])]),
      ORDERED_AT_FIRST.find((most) => count <= most) ?? Infinity,
    );
    cached.set(key, made, weightOf(key, made));
    return made;
  };

  return {
    /** The rows of a page, in order, out of how many, the facets of all, and where to go on. */
    search(query: ProductSearch) {
      const { limit, offset, after, facets } = query;
      const placeIn = ({ ordered }: Found): number =>
        after ? marks.placeBehind(query, ordered, after) : offset;
      let found = foundFor(query, (after?.shown ?? offset) + limit);
      let from = placeIn(found);
      const { total } = found;
      if (found.ordered.rows.length < Math.min(from + limit, total)) {
        // More has come before the mark than the first rows have room for.
        found = foundFor(query, Infinity);
        from = placeIn(found);
      }
      const { ordered, facets: counted, weights } = found;
      const rows = ordered.rows.subarray(from, from + limit);
      const end = from + rows.length;
      return {
        rows,
        total,
        facets: facets.map((field) => ({ field, ...(counted.get(field) ?? NO_COUNTS) })),
        ...(rows.length > 0 &&
          end < total && {
            last: {
              ...marks.markOf(query, ordered, end - 1),
              ...(weights !== undefined && { weights }),
            },
          }),
      };
    },
    /** After a change of any product. */
    forget: () => cached.clear(),
  };
};

const weightOf = (key: string, { ordered, facets }: Found): number => {
  let values = 0;
  for (const counted of facets.values()) values += counted.values.length;
  // A score is two rows long.
  const rows = ordered.rows.length * (ordered.scores ? 3 : 1);
  return ENTRY_ROWS + key.length + rows + FACET_VALUE_ROWS * values;
};
