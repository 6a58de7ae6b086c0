import type { DatabaseSync } from 'node:sqlite';
import type { Catalog, CatalogProduct } from '#src/ports/catalog.ts';
import { closeMarked } from '../rows/cache-mark.ts';
import { isDamage } from '../failure.ts';
import { catalogColumns } from './columns.ts';
import type { Facts } from './facts.ts';
import { CATALOG_VERSION, openCatalogFile, remake } from './schema.ts';
import { digestIn, productsIn, ranksIn, rowsIn, withdrawnIn } from './read.ts';
import { catalogSearch } from './search.ts';
import { catalogText } from './text.ts';
import { vocabulary } from './words.ts';
import { catalogWriter } from './write.ts';

const ROWS_PER_READ = 5_000;

type Memory = { columns: ReturnType<typeof catalogColumns>; words: ReturnType<typeof vocabulary> };

/** In chunks of JSON made by SQLite: a call per row would take three times as long. */
const load = (db: DatabaseSync): Memory => {
  const columns = catalogColumns();
  const words = vocabulary();
  const chunk = db.prepare(
    `select json_group_array(row) as rows, '[' || group_concat(facts) || ']' as facts
     from (select row, facts from facts where row > ? order by row limit ${ROWS_PER_READ})`,
  );
  let last = 0;
  for (;;) {
    const read = chunk.get(last);
    const rows = JSON.parse(String(read?.['rows'])) as number[];
    if (rows.length === 0) break;
    const facts = JSON.parse(String(read?.['facts'])) as Facts[];
    facts.forEach((of, index) => columns.set(rows[index] ?? 0, of));
    last = rows.at(-1) ?? last;
  }
  const known = db.prepare('select json_group_array(word) as words from word').get();
  for (const word of JSON.parse(String(known?.['words'])) as string[]) words.add(word);
  return { columns, words };
};

/** A file that a power cut has damaged is a cache that is gone: the log fills the next one. */
const open = (
  file: string,
  onDiscarded: (reason: string) => void,
): { db: DatabaseSync } & Memory => {
  const db = openCatalogFile(file, onDiscarded);
  try {
    return { db, ...load(db) };
  } catch (error) {
    db.close();
    if (!isDamage(error)) throw error;
    onDiscarded(error.message);
    const empty = remake(file);
    return { db: empty, ...load(empty) };
  }
};

/**
 * The catalog in a file of this node, or in ':memory:'; a projection of the product streams.
 * `onDiscarded` hears why a file that was there is empty now.
 */
export const sqliteCatalog = (
  file: string,
  onDiscarded: (reason: string) => void = () => {},
): Catalog => {
  const { db, columns, words } = open(file, onDiscarded);
  const { isLive } = columns;
  const text = catalogText(db, columns, words);
  const ranks = ranksIn(db);
  const products = productsIn(db);
  const rowsOfIds = rowsIn(db, 'product_id', isLive);
  const rowsOfSkus = rowsIn(db, 'sku', isLive);
  const withdrawn = withdrawnIn(db);
  const searching = catalogSearch({
    columns,
    text,
    ranks,
    rowsOfIds,
    rowsOfSkus,
  });
  const writer = catalogWriter(db, columns, words);

  const mapped = (rows: Uint32Array, key: 'product_id' | 'sku'): Map<string, CatalogProduct> => {
    const found = new Map<string, CatalogProduct>();
    for (const product of products.of(rows)) {
      // Two products of one sku: the first by id, on every node.
      if (!found.has(product[key])) found.set(product[key], product);
    }
    return found;
  };

  return {
    byId: (ids) => mapped(rowsOfIds(ids), 'product_id'),
    bySku: (skus) => mapped(rowsOfSkus(skus), 'sku'),
    withdrawn,
    hasCategory: (category) => columns.values('category').liveOf(category) > 0,
    search(query) {
      const { rows, ...hits } = searching.search(query);
      return { products: products.of(rows), ...hits };
    },
    show(query, view) {
      const { rows, ...hits } = searching.search(query);
      return { products: products.shownOf(rows, view), ...hits };
    },
    count: () => columns.liveCount(),
    apply(events, upTo) {
      const changed = writer.apply(events, upTo);
      if (changed.rows.length === 0) return;
      searching.forget();
      products.forget(changed.rows);
      if (changed.touched.size === 0) return;
      text.forget(changed.touched);
      ranks.forget();
    },
    checkpoint: () => writer.checkpoint(),
    version: CATALOG_VERSION,
    generation: () => 0,
    digest: digestIn(db, isLive),
    close() {
      text.close();
      closeMarked(db);
    },
  };
};
