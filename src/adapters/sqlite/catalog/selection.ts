import type { ProductSearch } from '#src/ports/catalog.ts';
import { LruCache } from '#src/adapters/lru-cache.ts';
import { type Condition, filterRows, hasOneCurrency, scratchRows } from './filter.ts';
import type { SearchIndex } from './result-order.ts';
import { countRows, firstInOrder, intersectRows, type RowSet, writeRows } from './row-set.ts';
import { rowsBetween, sortColumn, type SortedColumn } from './sorted-column.ts';

/** 800 kB each for 100,000 products. */
const SORTED_COLUMNS_MAX = 12;

/** Sorting a column costs as much as thirty passes over it, so columns that keep changing are not. */
const PASSES_BEFORE_SORT = 16;

/** A column, and how often it has changed. */
type ColumnVersion = { key: string; column: Float64Array; changes: number };

/** Products selected without a text, out of all live ones. */
export type Selection = {
  total: number;
  /** Rising by row; valid until the next search. */
  rows(): Uint32Array;
  /** Returns the first `count` in the order of the query, if a sorted column has it. */
  first(query: ProductSearch, count: number): Uint32Array | undefined;
};

/** Selects by sorted columns, which it creates for columns that are needed often between changes. */
export class ProductSelector {
  readonly #index: SearchIndex;
  readonly #sorted = new LruCache<string, { sorted: SortedColumn; changes: number }>(
    SORTED_COLUMNS_MAX,
  );
  readonly #passes = new Map<string, { changes: number; count: number }>();

  constructor(index: SearchIndex) {
    this.#index = index;
  }

  select(conditions: readonly Condition[]): Selection {
    let set: RowSet | undefined;
    const unsorted: Condition[] = [];
    for (const condition of conditions) {
      const sorted = this.#findSorted(this.#versionOf(condition));
      if (!sorted) {
        unsorted.push(condition);
        continue;
      }
      const passing = rowsBetween(sorted, condition.low, condition.high);
      if (set) intersectRows(set, passing);
      else set = passing;
    }
    const { liveCount } = this.#index.columns;
    if (unsorted.length === 0) return this.#selectionOf(set);
    const from = set ? writeRows(set, scratchRows(liveCount)) : this.#index.columns.liveRows;
    const rows = filterRows(this.#index.columns, unsorted, from);
    return { total: rows.length, rows: () => rows, first: () => undefined };
  }

  /** `set` undefined selects all live rows. */
  #selectionOf(set: RowSet | undefined): Selection {
    const { liveCount } = this.#index.columns;
    const total = set ? countRows(set) : liveCount;
    return {
      total,
      rows: () => (set ? writeRows(set, scratchRows(total)) : this.#index.columns.liveRows),
      first: (query, count) => {
        // A walk along the order passes all other rows, which is slow for few rows among many.
        if (Math.min(count, total) * liveCount >= 2 * total * total) return undefined;
        const sorted = this.#orderOf(query);
        if (!sorted) return undefined;
        return set ? firstInOrder(set, sorted.rows, count) : sorted.rows.slice(0, count);
      },
    };
  }

  #orderOf(query: ProductSearch): SortedColumn | undefined {
    const { sort, at_quantity: quantity } = query;
    const { columns, ranks } = this.#index;
    // Falling, but equal values rise by id.
    if (sort === 'updated') return undefined;
    if (sort === 'price' && !hasOneCurrency(columns, query)) return undefined;
    if (sort === 'relevance') {
      const changes = columns.changesOf('live') + ranks.titleChanges;
      return this.#findSorted({ key: 'title', column: ranks.byTitle, changes });
    }
    const field = sort === 'price' && quantity !== undefined ? 'price_at' : sort;
    return this.#findSorted(this.#versionOf({ field, quantity }));
  }

  #versionOf({ field, quantity }: Pick<Condition, 'field' | 'quantity'>): ColumnVersion {
    const columns = this.#index.columns;
    if (field !== 'price_at')
      return { key: field, column: columns.columnOf(field), changes: columns.changesOf(field) };
    const column = columns.allPrices(quantity);
    return { key: `price at ${quantity}`, column, changes: columns.changesOf('tiers') };
  }

  /** Returns undefined if a pass over the column is cheaper for now. */
  #findSorted({ key, column, changes }: ColumnVersion): SortedColumn | undefined {
    const cached = this.#sorted.get(key);
    if (cached?.changes === changes && cached.sorted.column === column) return cached.sorted;
    const passes = this.#passes.get(key);
    const count = passes?.changes === changes ? passes.count + 1 : 1;
    if (count < PASSES_BEFORE_SORT) {
      if (this.#passes.size > 8 * SORTED_COLUMNS_MAX) this.#passes.clear();
      this.#passes.set(key, { changes, count });
      return undefined;
    }
    this.#passes.delete(key);
    const sorted = sortColumn(column, this.#rowsById(), this.#index.columns.end);
    this.#sorted.set(key, { sorted, changes }, 1);
    return sorted;
  }

  /** Returns the live rows in the order of their ids. */
  #rowsById(): Uint32Array {
    const { columns, ranks } = this.#index;
    return ranks.rowsById.filter((row) => columns.isLive(row));
  }
}
