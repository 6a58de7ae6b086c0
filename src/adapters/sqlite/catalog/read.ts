import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Catalog, CatalogProduct, ProductView } from '#src/ports/catalog.ts';
import { recentlyUsed } from '#src/adapters/recently-used.ts';
import { decodeProduct, decodeProducts } from './fold.ts';
import type { Ranks } from './select.ts';
import { keptRows, type KeptRows } from './shown.ts';

/** Decoded products kept: about 20 MB when full. Searches need none of them. */
const PRODUCTS_KEPT_MAX = 10_000;

/** For each view: as texts, 100,000 products of 700 bytes and more. */
const SHOWN_BYTES_MAX = 100_663_296;

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
  const named = db.prepare(
    'select product_id as id, title_words as title from product where row = ?',
  );
  const upToId = db.prepare(
    'select row from product where product_id <= ? order by product_id desc limit 1',
  );
  const upToTitle = db.prepare(
    `select row from product where (title_words, product_id) <= (?, ?)
     order by title_words desc, product_id desc limit 1`,
  );
  const rankOf = (ranks: Float64Array, found: { row?: unknown } | undefined): number =>
    found ? (ranks[Number(found.row)] ?? -1) : -1;
  return {
    byId: rank('byId'),
    byTitle: rank('byTitle'),
    nameOf(row) {
      const found = named.get(row);
      return { id: String(found?.['id']), title: String(found?.['title']) };
    },
    rankOfId: (id) => rankOf(rank('byId')(), upToId.get(id)),
    rankOfTitle: (title, id) => rankOf(rank('byTitle')(), upToTitle.get(title, id)),
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

export const withdrawnIn = (db: DatabaseSync): Catalog['withdrawn'] => {
  const select = db.prepare(
    `select product_id, withdrawn, body from product
     where withdrawn is not null and product_id in (select value from json_each(?))`,
  );
  return (ids) => {
    const found = ids.length === 0 ? [] : select.all(JSON.stringify(ids));
    return new Map(
      found.map(({ product_id, withdrawn, body }) => [
        String(product_id),
        { product: decodeProduct(String(body)), reason: String(withdrawn) },
      ]),
    );
  };
};

export const productsIn = (db: DatabaseSync) => {
  const select = db.prepare(
    `select json_group_array(row) as rows, '[' || group_concat(body) || ']' as bodies from
       (select row, body from product where row in (select value from json_each(?)))`,
  );
  const decoded = recentlyUsed<number, CatalogProduct>(PRODUCTS_KEPT_MAX);
  const shown = new Map<ProductView<unknown>, KeptRows<unknown>>();

  const read = (rows: number[], took: (row: number, product: CatalogProduct) => void): void => {
    if (rows.length === 0) return;
    const found = select.get(JSON.stringify(rows));
    const bodies = decodeProducts(String(found?.['bodies']));
    (JSON.parse(String(found?.['rows'])) as number[]).forEach((row, index) => {
      const product = bodies[index];
      if (product) took(row, product);
    });
  };

  /** In the order of `rows`: what is known of each, and the rest from the file. */
  const gathered = <Value>(
    rows: Uint32Array,
    known: (row: number) => Value | undefined,
    make: (row: number, product: CatalogProduct) => Value,
  ): Value[] => {
    const found: (Value | undefined)[] = [];
    const missing: number[] = [];
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] ?? 0;
      const value = known(row);
      if (value === undefined) missing.push(row);
      found.push(value);
    }
    if (missing.length === 0) return found as Value[];
    const made = new Map<number, Value>();
    read(missing, (row, product) => void made.set(row, make(row, product)));
    return found.map((value, index) => {
      const one = value ?? made.get(rows[index] ?? 0);
      if (one === undefined) throw new Error(`the catalog has no body for row ${rows[index]}`);
      return one;
    });
  };

  const keptFor = (view: ProductView<unknown>): KeptRows<unknown> => {
    let kept = shown.get(view);
    if (!kept) {
      kept = keptRows(SHOWN_BYTES_MAX);
      shown.set(view, kept);
    }
    return kept;
  };

  return {
    /** In the order of `rows`. Shared between readers, who must not write into them. */
    of: (rows: Uint32Array): CatalogProduct[] =>
      gathered(rows, decoded.get, (row, product) => {
        decoded.set(row, product, 1);
        return product;
      }),
    /** What a view makes of each of `rows`, in their order. */
    shownOf<Shown>(rows: Uint32Array, view: ProductView<Shown>): Shown[] {
      const kept = keptFor(view) as KeptRows<Shown>;
      return gathered(rows, kept.get, (row, product) => {
        const value = view.show(product);
        kept.set(row, value, view.bytes(value));
        return value;
      });
    },
    forget: (rows: Iterable<number>) => {
      for (const row of rows) {
        decoded.drop(row);
        for (const kept of shown.values()) kept.drop(row);
      }
    },
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
