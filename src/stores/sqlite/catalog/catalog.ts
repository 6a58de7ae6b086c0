import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog, CatalogProduct, CatalogProgress } from '#src/ports/catalog.ts';
import type { Pause } from '#src/ports/system.ts';
import { queryValue } from '#src/stores/sqlite/open.ts';
import { isDamage } from '#src/stores/sqlite/failure.ts';
import { closeMarked } from '#src/stores/sqlite/rows/cache-mark.ts';
import { CATALOG_VERSION, openCatalogFile, recreateCatalogFile } from './catalog-file.ts';
import { CatalogWriter } from './catalog-writer.ts';
import { CatalogColumns } from './columns.ts';
import { type Facts, requireFacts } from './product-facts.ts';
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

/** Rows and words are read in parts of about a millisecond. */
const ROWS_PER_READ = 250;
const WORDS_PER_READ = 1_000;

type Index = { columns: CatalogColumns; vocabulary: Vocabulary; ranks: Ranks };

/** Yields after each part. Reads JSON made by SQLite: a call per row would take three times as long. */
function* load(
  db: DatabaseSync,
  { columns, vocabulary, ranks }: Index,
): Generator<CatalogProgress> {
  const of = Number(queryValue(db, 'select max(row) from facts') ?? 0);
  if (of === 0) return;
  for (const _ of ranks.read(of + 1)) yield { done: 0, of };
  for (const words of wordsIn(db)) {
    for (const word of words) vocabulary.add(word);
    yield { done: 0, of };
  }
  columns.reserve(of + 1);
  const chunk = db.prepare(
    `select json_group_array(row) as rows, json_group_array(facts) as facts, json_group_array(crc) as crcs
     from (select row, facts, crc from facts where row > ? order by row limit ${ROWS_PER_READ})`,
  );
  for (let done = 0; done < of; ) {
    const read = chunk.get(done);
    const rows = JSON.parse(String(read?.['rows'])) as number[];
    const texts = JSON.parse(String(read?.['facts'])) as string[];
    requireFacts(rows, texts, JSON.parse(String(read?.['crcs'])) as number[]);
    const facts = JSON.parse(`[${texts.join()}]`) as Facts[];
    facts.forEach((ofRow, index) => columns.set(rows[index] ?? 0, ofRow));
    done = rows.at(-1) ?? of;
    yield { done, of };
  }
}

function* wordsIn(db: DatabaseSync): Generator<string[]> {
  const chunk = db.prepare(
    `select json_group_array(word) as words
     from (select word from word where word > ? order by word limit ${WORDS_PER_READ})`,
  );
  for (let last: string | undefined = ''; last !== undefined; ) {
    const words = JSON.parse(String(chunk.get(last)?.['words'])) as string[];
    yield words;
    last = words.at(-1);
  }
}

/** If several products have a SKU, returns the first by id, which is the same on every node. */
const indexProducts = (
  products: readonly CatalogProduct[],
  key: 'product_id' | 'sku',
): Map<string, CatalogProduct> => {
  const byKey = new Map<string, CatalogProduct>();
  for (const product of products) if (!byKey.has(product[key])) byKey.set(product[key], product);
  return byKey;
};

const indexOf = (db: DatabaseSync): Index => ({
  columns: new CatalogColumns(),
  vocabulary: new Vocabulary(),
  ranks: new Ranks(db),
});

export type CatalogOptions = {
  /** Called with the reason if an existing file was replaced by an empty one. */
  onDiscarded?(reason: string): void;
  /** Called between the parts of long work; waits for the next turn of the event loop by default. */
  pause?: Pause;
};

/**
 * Opens the catalog in a file of this node, or in ':memory:'; a projection of the product streams. Yields while it
 * reads the products of the file. A damaged file is replaced by an empty one, which is filled from the log.
 */
export function* openCatalog(
  file: string,
  { onDiscarded = () => {}, pause = nextTurn }: CatalogOptions = {},
): Generator<CatalogProgress, Catalog> {
  const db = openCatalogFile(file, onDiscarded);
  let catalog: Catalog | undefined;
  try {
    const index = indexOf(db);
    yield* load(db, index);
    catalog = catalogOf(db, index, pause);
    return catalog;
  } catch (error) {
    if (!isDamage(error)) throw error;
    onDiscarded(error.message);
  } finally {
    // Also if the caller ends it early.
    if (!catalog) closeMarked(db);
  }
  const empty = recreateCatalogFile(file);
  return catalogOf(empty, indexOf(empty), pause);
}

/** Opens the catalog without a pause. */
export const inOneTurn = (parts: ReturnType<typeof openCatalog>): Catalog => {
  for (;;) {
    const part = parts.next();
    if (part.done) return part.value;
  }
};

/** Opens a catalog that is empty or small, without a pause. */
export const sqliteCatalog = (file: string, onDiscarded?: (reason: string) => void): Catalog =>
  inOneTurn(openCatalog(file, { ...(onDiscarded && { onDiscarded }) }));

const catalogOf = (db: DatabaseSync, index: Index, pause: Pause): Catalog => {
  const { columns, vocabulary, ranks } = index;
  const isLive = (row: number): boolean => columns.isLive(row);
  const text = new CatalogText(db, index, pause);
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
      const { rows, texts, words } = writer.apply(events, upTo);
      if (rows.length === 0) return;
      searcher.clear();
      reader.forget(rows);
      ranks.change(texts);
      if (words.size > 0) text.change(words);
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
