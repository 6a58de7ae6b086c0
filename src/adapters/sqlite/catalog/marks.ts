import type { ProductMark, ProductSearch } from '#src/ports/catalog.ts';
import { lowerBound } from '#src/adapters/lower-bound.ts';
import type { Columns } from './columns.ts';
import type { Ordered } from './ordering.ts';
import type { Ranks } from './select.ts';

/** Where a page ended, as the next one finds it again, whatever has changed in between. */
export const marking = ({ columns, ranks }: { columns: Columns; ranks: Ranks }) => {
  /** What the order of the query compares first, rising. */
  const valueAt = (query: ProductSearch, { rows, scores }: Ordered, place: number): number => {
    const row = rows[place] ?? 0;
    if (scores) return -(scores[place] ?? 0);
    if (query.sort === 'relevance') return ranks.byTitle()[row] ?? 0;
    if (query.sort === 'updated') return -(columns.of('updated')[row] ?? 0);
    if (query.sort === 'price')
      return columns.prices(query.at_quantity, Uint32Array.of(row))[row] ?? 0;
    return columns.of(query.sort)[row] ?? 0;
  };

  const currencyOf = (row: number): string => {
    const { rows, values } = columns.values('currency');
    return values()[rows()[row] ?? 0] ?? '';
  };

  return {
    /** The mark of the row at `place`. */
    markOf(query: ProductSearch, ordered: Ordered, place: number): ProductMark {
      const row = ordered.rows[place] ?? 0;
      const { id, title } = ranks.nameOf(row);
      const byTitle = query.sort === 'relevance' && !ordered.scores;
      const value = byTitle ? title : valueAt(query, ordered, place);
      return {
        value: value === Infinity ? null : value,
        ...(query.sort === 'price' && { currency: currencyOf(row) }),
        product_id: id,
        shown: place + 1,
      };
    },
    /** The place of the first row behind the mark; the end when none of these is. */
    placeBehind(query: ProductSearch, ordered: Ordered, mark: ProductMark): number {
      const { value: marked, product_id, currency = '', shown } = mark;
      const value =
        typeof marked === 'string' ? ranks.rankOfTitle(marked, product_id) : (marked ?? Infinity);
      const id = typeof marked === 'string' ? Infinity : ranks.rankOfId(product_id);
      const isBehind = (place: number): boolean => {
        const row = ordered.rows[place] ?? 0;
        const other = query.sort === 'price' ? currencyOf(row) : '';
        if (other !== currency) return other > currency;
        const at = valueAt(query, ordered, place);
        return at === value ? (ranks.byId()[row] ?? 0) > id : at > value;
      };
      const { length } = ordered.rows;
      // Mostly nothing has come or gone before it.
      if (shown <= length && !isBehind(shown - 1) && (shown === length || isBehind(shown)))
        return shown;
      return lowerBound(length, (place) => !isBehind(place));
    },
  };
};
