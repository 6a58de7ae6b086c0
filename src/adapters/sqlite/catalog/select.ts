import type { ProductSearch } from '#src/ports/catalog.ts';
import { type Bits, countRows, keepCommon, rowsOfBits } from './bits.ts';
import { recentlyUsed } from '#src/adapters/recently-used.ts';
import type { Columns } from './columns.ts';
import { type Condition, filteredRows, isOfOneCurrency, roomFor } from './filter.ts';
import { firstOf, type Order, orderBy, rowsBetween } from './orders.ts';

/** Place of each row in an order that the file's indexes keep. */
export type Ranks = {
  byId(): Float64Array;
  byTitle(): Float64Array;
  /** What the orders compare of a row; of a title, its beginning. */
  nameOf(row: number): { id: string; title: string };
  /** The rank of this one, or of the last one before it; -1 when there is none. */
  rankOfId(id: string): number;
  rankOfTitle(title: string, id: string): number;
};

/** Orders kept: 800 kB each for 100,000 products. */
const ORDERS_MAX = 12;

/** Putting a column in order costs as much as thirty walks over it: not for one that keeps changing. */
const WALKS_BEFORE = 16;

type Asked = { key: string; column: Float64Array; changes: number };

/** Columns in order, made when they are asked for often enough between two changes. */
const columnOrders = (columns: Columns, ranks: Ranks) => {
  const kept = recentlyUsed<string, { order: Order; changes: number }>(ORDERS_MAX);
  const walks = new Map<string, { changes: number; count: number }>();

  const rowsById = (): Uint32Array => {
    const places = ranks.byId();
    const rowAt = new Int32Array(places.length).fill(-1);
    const live = columns.liveRows();
    for (let i = 0; i < live.length; i += 1) rowAt[places[live[i] ?? 0] ?? 0] = live[i] ?? 0;
    return Uint32Array.from(rowAt.filter((row) => row >= 0));
  };

  return ({ key, column, changes }: Asked): Order | undefined => {
    const known = kept.get(key);
    if (known?.changes === changes && known.order.column === column) return known.order;
    const walked = walks.get(key);
    const count = walked?.changes === changes ? walked.count + 1 : 1;
    if (count < WALKS_BEFORE) {
      if (walks.size > 8 * ORDERS_MAX) walks.clear();
      walks.set(key, { changes, count });
      return undefined;
    }
    walks.delete(key);
    const order = orderBy(column, rowsById(), columns.end());
    kept.set(key, { order, changes }, 1);
    return order;
  };
};

/** Products without a text to find them by: out of all there are. */
export type Selected = {
  total: number;
  /** Rising by row; good until the next search. */
  rows(): Uint32Array;
  /** The first `count` in the order of the query, where the columns' orders tell. */
  first(query: ProductSearch, count: number): Uint32Array | undefined;
};

export const selecting = (columns: Columns, ranks: Ranks) => {
  const orderFor = columnOrders(columns, ranks);

  const askedFor = ({ field, quantity }: Pick<Condition, 'field' | 'quantity'>): Asked =>
    field === 'price_at'
      ? {
          key: `price at ${quantity}`,
          column: columns.allPrices(quantity),
          changes: columns.changesOf('tiers'),
        }
      : { key: field, column: columns.columnOf(field), changes: columns.changesOf(field) };

  const orderOf = (query: ProductSearch): Order | undefined => {
    const { sort, at_quantity: quantity } = query;
    // The latest come first there, and of equals still the lower id.
    if (sort === 'updated') return undefined;
    if (sort === 'price' && !isOfOneCurrency(columns, query)) return undefined;
    if (sort === 'price')
      return orderFor(askedFor({ field: quantity === undefined ? 'price' : 'price_at', quantity }));
    if (sort !== 'relevance') return orderFor(askedFor({ field: sort }));
    return orderFor({ key: 'title', column: ranks.byTitle(), changes: columns.changesOf('live') });
  };

  return (conditions: readonly Condition[]): Selected => {
    let bits: Bits | undefined;
    const walked: Condition[] = [];
    for (const condition of conditions) {
      const order = orderFor(askedFor(condition));
      if (!order) {
        walked.push(condition);
        continue;
      }
      const passing = rowsBetween(order, condition.low, condition.high);
      if (bits) keepCommon(bits, passing);
      else bits = passing;
    }
    if (walked.length > 0) {
      const from = bits ? rowsOfBits(bits, roomFor(columns.liveCount())) : columns.liveRows();
      const rows = filteredRows(columns, walked, from);
      return { total: rows.length, rows: () => rows, first: () => undefined };
    }
    const total = bits ? countRows(bits) : columns.liveCount();
    return {
      total,
      rows: () => (bits ? rowsOfBits(bits, roomFor(total)) : columns.liveRows()),
      first(query, count) {
        // A walk along the order passes over all the others on its way: not for few among many.
        if (Math.min(count, total) * columns.liveCount() >= 2 * total * total) return undefined;
        const order = orderOf(query);
        if (!order) return undefined;
        return bits ? firstOf(bits, order, count) : order.rows.slice(0, count);
      },
    };
  };
};
