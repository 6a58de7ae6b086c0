import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Catalog, CatalogProduct } from '#src/ports/catalog.ts';
import { recentlyUsed } from './catalog-cache.ts';
import { decodeProducts } from './catalog-fold.ts';
import type { Ranks } from './catalog-search.ts';

/** Decoded products kept: about 100 MB when full, and most of what is looked at again. */
const PRODUCTS_KEPT_MAX = 50_000;

export const ranksIn = (db: DatabaseSync) => {
  const order = (by: string) =>
    db.prepare(
      `select json_group_array(row) as rows from (select row from product order by ${by})`,
    );
  const statements = { byId: order('product_id'), byTitle: order('title_words, product_id') };
  const kept: { byId?: Float64Array; byTitle?: Float64Array } = {};
  const rank = (by: 'byId' | 'byTitle') => (): Float64Array => {
    const known = kept[by];
    if (known) return known;
    const rows = JSON.parse(String(statements[by].get()?.['rows'])) as number[];
    const ranks = new Float64Array(rows.reduce((most, row) => Math.max(most, row), 0) + 1);
    rows.forEach((row, place) => void (ranks[row] = place));
    kept[by] = ranks;
    return ranks;
  };
  return {
    byId: rank('byId'),
    byTitle: rank('byTitle'),
    forget() {
      delete kept.byId;
      delete kept.byTitle;
    },
  } satisfies Ranks & { forget(): void };
};

export const rowsIn = (
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
  return (values: readonly string[]): Uint32Array => {
    if (values.length === 0) return new Uint32Array(0);
    if (values.length === 1) {
      const rows = selectOne.all(values[0] ?? '').map(({ row }) => Number(row));
      return Uint32Array.from(rows.filter(isLive));
    }
    const rows = JSON.parse(String(select.get(JSON.stringify(values))?.['rows'])) as number[];
    return Uint32Array.from(rows.filter(isLive));
  };
};

export const productsIn = (db: DatabaseSync) => {
  const select = db.prepare(
    `select json_group_array(row) as rows, '[' || group_concat(body) || ']' as bodies from
       (select row, body from product where row in (select value from json_each(?)))`,
  );
  const cached = recentlyUsed<number, CatalogProduct>(PRODUCTS_KEPT_MAX);
  const read = (rows: number[], into: Map<number, CatalogProduct>): void => {
    if (rows.length === 0) return;
    const found = select.get(JSON.stringify(rows));
    const bodies = decodeProducts(String(found?.['bodies']));
    (JSON.parse(String(found?.['rows'])) as number[]).forEach((row, index) => {
      const product = bodies[index];
      if (!product) return;
      into.set(row, product);
      cached.set(row, product, 1);
    });
  };
  return {
    /** In the order of `rows`. Shared between readers, who must not write into them. */
    of(rows: Uint32Array): CatalogProduct[] {
      const found = new Map<number, CatalogProduct>();
      const missing: number[] = [];
      for (const row of rows) {
        const known = cached.get(row);
        if (known) found.set(row, known);
        else missing.push(row);
      }
      read(missing, found);
      return Array.from(rows, (row) => {
        const product = found.get(row);
        if (!product) throw new Error(`the catalog has no body for row ${row}`);
        return product;
      });
    },
    forget: (rows: Iterable<number>) => {
      for (const row of rows) cached.drop(row);
    },
    forgetAll: () => cached.clear(),
  };
};

export const digestIn =
  (db: DatabaseSync, isLive: (row: number) => boolean) => (): ReturnType<Catalog['digest']> => {
    const hash = createHash('sha256');
    let rows = 0;
    for (const { row, body } of db
      .prepare('select row, body from product order by product_id')
      .iterate()) {
      if (!isLive(Number(row))) continue;
      rows += 1;
      hash.update(`${String(body)}\n`);
    }
    return { rows, digest: hash.digest('hex') };
  };
