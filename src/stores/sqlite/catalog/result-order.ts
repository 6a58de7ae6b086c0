import type { ProductSearch } from '#src/ports/catalog.ts';
import type { CatalogColumns } from './columns.ts';
import { hasOneCurrency } from './filter.ts';
import type { Ranks } from './ranks.ts';
import type { Matches } from './text.ts';
import { sortAs, topRows } from './top-rows.ts';

/** Everything that a search needs to select and order rows. */
export type SearchIndex = { columns: CatalogColumns; ranks: Ranks };

/** Rows in order; with a text, whose best match is first, also their scores. */
export type OrderedRows = { rows: Uint32Array; scores?: Float64Array };

/** Returns the first `count` rows in the order of the query. `matches` has the scores of a text. */
export const orderRows = (
  index: SearchIndex,
  rows: Uint32Array,
  { query, count, matches }: { query: ProductSearch; count: number; matches: Matches | undefined },
): OrderedRows => {
  const { columns, ranks } = index;
  const byColumn = (column: Float64Array): OrderedRows => ({
    rows: topRows(rows, { column, ties: ranks.byId }, count),
  });
  if (query.sort === 'price') return { rows: orderByPrice(index, rows, { query, count }) };
  if (query.sort === 'updated') {
    const updated = columns.of('updated');
    return byColumn(deriveColumn(columns.end, rows, (row) => -(updated[row] ?? 0)));
  }
  if (query.sort !== 'relevance') return byColumn(columns.of(query.sort));
  if (!matches)
    return count === Infinity
      ? { rows: sortAs(ranks.rowsByTitle, rows, columns.end) }
      : byColumn(ranks.byTitle);
  const { scores } = matches;
  const column = deriveColumn(columns.end, matches.rows, (_, place) => -(scores[place] ?? 0));
  const { rows: first } = byColumn(column);
  const firstScores = new Float64Array(first.length);
  for (let i = 0; i < first.length; i += 1) firstScores[i] = -(column[first[i] ?? 0] ?? 0);
  return { rows: first, scores: firstScores };
};

/** Amounts of two currencies cannot be compared, so it orders by currency code first. */
const orderByPrice = (
  { columns, ranks }: SearchIndex,
  rows: Uint32Array,
  { query, count }: { query: ProductSearch; count: number },
): Uint32Array => {
  const by = { column: columns.prices(query.at_quantity, rows), ties: ranks.byId };
  if (hasOneCurrency(columns, query)) return topRows(rows, by, count);
  const currency = columns.values('currency');
  const codes = currency.rows;
  const ordered = new Uint32Array(Math.min(count, rows.length));
  let filled = 0;
  for (const value of currency.values.toSorted()) {
    if (filled === ordered.length) break;
    const code = currency.codeOf(value);
    const ofCurrency = rows.filter((row) => codes[row] === code);
    const first = topRows(ofCurrency, by, ordered.length - filled);
    ordered.set(first, filled);
    filled += first.length;
  }
  return ordered;
};

/** Shared by all calls, none of which retains it. */
let scratch = new Float64Array(0);

/** Returns a column below `end` with a value for each of `rows`, valid until the next call. */
const deriveColumn = (
  end: number,
  rows: Uint32Array,
  value: (row: number, place: number) => number,
): Float64Array => {
  if (scratch.length < end) scratch = new Float64Array(2 * end);
  for (let i = 0; i < rows.length; i += 1) scratch[rows[i] ?? 0] = value(rows[i] ?? 0, i);
  return scratch;
};
