import type { DatabaseSync } from 'node:sqlite';
import type { Catalog, CatalogProduct } from '#src/ports/catalog.ts';
import { isDamage } from '../failure.ts';
import { closeMarked } from '../rows/cache-mark.ts';
import { CATALOG_VERSION, openCatalogFile, recreateCatalogFile } from './catalog-file.ts';
import { CatalogWriter } from './catalog-writer.ts';
import { CatalogColumns } from './columns.ts';
import type { Facts } from './product-facts.ts';
import {
  digestProducts,
  prepareRowsOf,
  prepareWithdrawn,
  ProductReader,
} from './product-reader.ts';
import { Ranks } from './ranks.ts';
import { CatalogSearch } from './search.ts';
import { CatalogText } from './text.ts';
import { Vocabulary } from './vocabulary.ts';

const ROWS_PER_READ = 5_000;

type LoadedFile = { db: DatabaseSync; columns: CatalogColumns; vocabulary: Vocabulary };

/** Reads chunks of JSON made by SQLite: a call per row would take three times as long. */
const load = (db: DatabaseSync): LoadedFile => {
  const columns = new CatalogColumns();
  const vocabulary = new Vocabulary();
  const chunk = db.prepare(
    `select json_group_array(row) as rows, '[' || group_concat(facts) || ']' as facts
     from (select row, facts from facts where row > ? order by row limit ${ROWS_PER_READ})`,
  );
  for (let last = 0; ; ) {
    const read = chunk.get(last);
    const rows = JSON.parse(String(read?.['rows'])) as number[];
    if (rows.length === 0) break;
    const facts = JSON.parse(String(read?.['facts'])) as Facts[];
    facts.forEach((ofRow, index) => columns.set(rows[index] ?? 0, ofRow));
    last = rows.at(-1) ?? last;
  }
  const words = db.prepare('select json_group_array(word) as words from word').get();
  for (const word of JSON.parse(String(words?.['words'])) as string[]) vocabulary.add(word);
  return { db, columns, vocabulary };
};

/** A damaged file is replaced by an empty one, which is filled from the log. */
const open = (file: string, onDiscarded: (reason: string) => void): LoadedFile => {
  const db = openCatalogFile(file, onDiscarded);
  try {
    return load(db);
  } catch (error) {
    db.close();
    if (!isDamage(error)) throw error;
    onDiscarded(error.message);
    return load(recreateCatalogFile(file));
  }
};

/** If several products have a SKU, returns the first by id, which is the same on every node. */
const indexProducts = (
  products: readonly CatalogProduct[],
  key: 'product_id' | 'sku',
): Map<string, CatalogProduct> => {
  const byKey = new Map<string, CatalogProduct>();
  for (const product of products) if (!byKey.has(product[key])) byKey.set(product[key], product);
  return byKey;
};

/**
 * The catalog in a file of this node, or in ':memory:'; a projection of the product streams.
 * `onDiscarded` gets the reason if an existing file was replaced by an empty one.
 */
export const sqliteCatalog = (
  file: string,
  onDiscarded: (reason: string) => void = () => {},
): Catalog => {
  const { db, columns, vocabulary } = open(file, onDiscarded);
  const isLive = (row: number): boolean => columns.isLive(row);
  const text = new CatalogText(db, columns, vocabulary);
  const ranks = new Ranks(db);
  const reader = new ProductReader(db);
  const rowsOfIds = prepareRowsOf(db, 'product_id', isLive);
  const rowsOfSkus = prepareRowsOf(db, 'sku', isLive);
  const searcher = new CatalogSearch({ columns, text, ranks, rowsOfIds, rowsOfSkus });
  const writer = new CatalogWriter(db, columns, vocabulary);
  return {
    byId: (ids) => indexProducts(reader.products(rowsOfIds(ids)), 'product_id'),
    bySku: (skus) => indexProducts(reader.products(rowsOfSkus(skus)), 'sku'),
    withdrawn: prepareWithdrawn(db),
    hasCategory: (category) => columns.values('category').liveOf(category) > 0,
    search(query) {
      const { rows, ...hits } = searcher.search(query);
      return { products: reader.products(rows), ...hits };
    },
    show(query, view) {
      const { rows, ...hits } = searcher.search(query);
      return { products: reader.shown(rows, view), ...hits };
    },
    count: () => columns.liveCount,
    apply(events, upTo) {
      const { rows, changedWords } = writer.apply(events, upTo);
      if (rows.length === 0) return;
      searcher.clear();
      reader.forget(rows);
      if (changedWords.size === 0) return;
      text.forget(changedWords);
      ranks.clear();
    },
    checkpoint: () => writer.checkpoint,
    version: CATALOG_VERSION,
    generation: () => 0,
    digest: () => digestProducts(db, isLive),
    close() {
      text.close();
      closeMarked(db);
    },
  };
};
