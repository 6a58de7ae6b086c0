import type { ProductSearch } from '#src/ports/catalog.ts';
import type { Columns } from './columns.ts';
import { isOfOneCurrency } from './filter.ts';
import { firstRows, rankedRows } from './order.ts';
import type { Ranks } from './select.ts';
import type { Matches } from './text.ts';

/** Rows in order, and with a text, where the best match comes first, their scores beside them. */
export type Ordered = { rows: Uint32Array; scores?: Float64Array };

/** Puts matches in the order of a query: all of them, or as many as a first page needs. */
export const ordering = ({ columns, ranks }: { columns: Columns; ranks: Ranks }) => {
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

  const byColumn = (rows: Uint32Array, column: Float64Array, count: number): Uint32Array =>
    firstRows(rows, { column, ties: ranks.byId() }, count);

  /** Amounts of two currencies do not compare: one currency after the other, by its code. */
  const byPrice = (query: ProductSearch, found: Uint32Array, count: number): Uint32Array => {
    const prices = columns.prices(query.at_quantity, found);
    if (isOfOneCurrency(columns, query)) return byColumn(found, prices, count);
    const currency = columns.values('currency');
    const codes = currency.rows();
    const ordered = new Uint32Array(Math.min(count, found.length));
    let filled = 0;
    for (const value of currency.values().toSorted()) {
      const code = currency.codeOf(value);
      if (filled === ordered.length) break;
      const first = byColumn(
        found.filter((row) => codes[row] === code),
        prices,
        ordered.length - filled,
      );
      ordered.set(first, filled);
      filled += first.length;
    }
    return ordered;
  };

  const byMatch = (found: Uint32Array, matches: Matches, count: number): Ordered => {
    const column = derived(matches.rows, (_, place) => -(matches.scores[place] ?? 0));
    const rows = byColumn(found, column, count);
    const scores = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i += 1) scores[i] = -(column[rows[i] ?? 0] ?? 0);
    return { rows, scores };
  };

  return (query: ProductSearch, found: Uint32Array, count: number, matches?: Matches): Ordered => {
    const { sort } = query;
    if (sort === 'price') return { rows: byPrice(query, found, count) };
    if (sort === 'updated') {
      const updated = columns.of('updated');
      const column = derived(found, (row) => -(updated[row] ?? 0));
      return { rows: byColumn(found, column, count) };
    }
    if (sort !== 'relevance') return { rows: byColumn(found, columns.of(sort), count) };
    if (matches) return byMatch(found, matches, count);
    const column = ranks.byTitle();
    return {
      rows: count === Infinity ? rankedRows(found, column) : byColumn(found, column, count),
    };
  };
};
