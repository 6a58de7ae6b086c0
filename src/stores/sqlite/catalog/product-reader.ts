import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Catalog, CatalogProduct, ProductView } from '#src/ports/catalog.ts';
import { LruCache } from '#src/stores/caches.ts';
import { RecordDamaged } from '#src/stores/sqlite/failure.ts';
import {
  decodeProduct,
  PRODUCT_COLUMNS,
  type ProductColumns,
  requireProduct,
} from './product-state.ts';

/** Decoded products in memory: about 20 MB when full. Searches need none of them. */
const CACHED_PRODUCTS_MAX = 10_000;

/** For each view: as texts, 100,000 products of 700 bytes and more. */
const VIEW_BYTES_MAX = 100_663_296;

/** Prepares the look-up of live rows by their ids or SKUs, in the order of their ids. */
export const prepareRowsOf = (
  db: DatabaseSync,
  field: 'product_id' | 'sku',
  isLive: (row: number) => boolean,
) => {
  const select = db.prepare(
    `select json_group_array(row) as rows from
       (select row from product where ${field} in (select value from json_each(?))
        order by product_id)`,
  );
  const selectOne = db.prepare(`select row from product where ${field} = ? order by product_id`);
  const readRows = (values: readonly string[]): number[] => {
    if (values.length === 0) return [];
    if (values.length === 1) return selectOne.all(values[0] ?? '').map(({ row }) => Number(row));
    return JSON.parse(String(select.get(JSON.stringify(values))?.['rows'])) as number[];
  };
  return (values: readonly string[]): Uint32Array =>
    Uint32Array.from(readRows(values).filter(isLive));
};

export const prepareWithdrawn = (db: DatabaseSync): Catalog['withdrawn'] => {
  const select = db.prepare(
    `select product_id, ${PRODUCT_COLUMNS} from product
     where withdrawn is not null and product_id in (select value from json_each(?))`,
  );
  return (ids) => {
    const rows = ids.length === 0 ? [] : select.all(JSON.stringify(ids));
    return new Map(
      rows.map((columns) => {
        const { body, withdrawn } = requireProduct(columns as ProductColumns);
        const product = decodeProduct(body);
        return [String(columns['product_id']), { product, reason: String(withdrawn) }];
      }),
    );
  };
};

/** The products themselves. Readers share them and must not modify them. */
const WHOLE: ProductView<CatalogProduct> = { show: (product) => product, bytes: () => 1 };

export class ProductReader {
  readonly #select;
  /** What each view made of a row. */
  readonly #views = new Map<ProductView<unknown>, LruCache<number, unknown>>([
    [WHOLE, new LruCache(CACHED_PRODUCTS_MAX)],
  ]);

  constructor(db: DatabaseSync) {
    this.#select = db.prepare(
      `select row, ${PRODUCT_COLUMNS} from product where row in (select value from json_each(?))`,
    );
  }

  /** Returns the products in the order of `rows`. */
  products(rows: Uint32Array): CatalogProduct[] {
    return this.shown(rows, WHOLE);
  }

  /** Returns what the view makes of each of `rows`, in their order; cached values first. */
  shown<Shown>(rows: Uint32Array, view: ProductView<Shown>): Shown[] {
    const cache = this.#cacheOf(view) as LruCache<number, Shown>;
    const values: (Shown | undefined)[] = [];
    const missing: number[] = [];
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const value = cache.get(row);
      if (value === undefined) missing.push(row);
      values.push(value);
    }
    if (missing.length === 0) return values as Shown[];
    const made = new Map<number, Shown>();
    for (const [row, product] of this.#read(missing)) {
      const value = view.show(product);
      made.set(row, value);
      cache.set(row, value, view.bytes(value));
    }
    return values.map((cached, index) => {
      const value = cached ?? made.get(rows[index] ?? 0);
      if (value === undefined) throw new RecordDamaged(`there is no product in row ${rows[index]}`);
      return value;
    });
  }

  /** Call after these rows have changed. */
  forget(rows: Iterable<number>): void {
    for (const row of rows) for (const cache of this.#views.values()) cache.delete(row);
  }

  #cacheOf(view: ProductView<unknown>): LruCache<number, unknown> {
    const cache = this.#views.get(view) ?? new LruCache<number, unknown>(VIEW_BYTES_MAX);
    this.#views.set(view, cache);
    return cache;
  }

  #read(rows: number[]): [row: number, product: CatalogProduct][] {
    return this.#select.all(JSON.stringify(rows)).map((columns) => {
      const { body } = requireProduct(columns as ProductColumns);
      return [Number(columns['row']), decodeProduct(body)];
    });
  }
}

/** Hashes all live products in the order of their ids. */
export const digestProducts = (
  db: DatabaseSync,
  isLive: (row: number) => boolean,
): ReturnType<Catalog['digest']> => {
  const hash = createHash('sha256');
  let rows = 0;
  const all = db.prepare(`select row, ${PRODUCT_COLUMNS} from product order by product_id`);
  for (const columns of all.iterate()) {
    const { body } = requireProduct(columns as ProductColumns);
    if (!isLive(Number(columns['row']))) continue;
    rows += 1;
    hash.update(`${body}\n`);
  }
  return { rows, digest: hash.digest('hex') };
};
