/** Marks where a page ended, so that the next page continues there whatever has changed meanwhile. */
import type { ProductMark, ProductSearch } from '#src/ports/catalog.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import type { CatalogColumns } from './columns.ts';
import type { OrderedRows, SearchIndex } from './result-order.ts';

type OrderedResult = { query: ProductSearch; ordered: OrderedRows };

/** Returns the mark of the row at `position` of the result. */
export const markAt = (
  index: SearchIndex,
  result: OrderedResult,
  position: number,
): ProductMark => {
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
export const positionAfter = (
  index: SearchIndex,
  result: OrderedResult,
  mark: ProductMark,
): number => {
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
