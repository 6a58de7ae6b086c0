/** The catalog in one SQLite file, which the log can rebuild: its writer, its reader, and what both share. */
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type CatalogProduct,
  PoisonEvent,
  type Catalog,
  type ProductView,
  type CatalogProgress,
  type OpeningCatalog,
} from '#src/ports/catalog.ts';
import type { FoldEvent, Position, EventLog } from '#src/ports/event-log.ts';
import { splitWords } from '#src/ports/folded-text.ts';
import type { Pause } from '#src/ports/system.ts';
import { LruCache } from '#src/stores/caches.ts';
import {
  isDamage,
  isForeignSchema,
  messageOfError,
  sqliteCodeOf,
  RecordDamaged,
} from '#src/stores/sqlite/failure.ts';
import { openPrivate, queryValue, removeDatabase, inTransaction } from '#src/stores/sqlite/open.ts';
import {
  MachineStopped,
  MARK_TABLE,
  markOpened,
  closeMarked,
  requireWholeLog,
} from '#src/stores/sqlite/rows/cache-mark.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { CatalogColumns, type Facts, factsCrc, factsOf, requireFacts } from './columns.ts';
import { Ranks } from './row-order.ts';
import { CatalogSearch } from './search.ts';
import { Vocabulary, addWordChange, COLUMN_GROUPS, type WordChanges, CatalogText } from './text.ts';
import { type EventData, PRODUCT_EVENTS } from '#contracts/registries/events.ts';

/** Rises with every change of the file's contents; a file of another version is rebuilt. */
export const CATALOG_VERSION = 6;

/**
 * `body` is the whole product. `facts` is what a search computes with, in a table of its own so that
 * opening reads a tenth of the file. A withdrawn product remains as a row that is not live, with the
 * reason, so that it keeps its first publication date when it is published again.
 *
 * The tokenizer is the simplest one, because folded-text.ts has already folded and split the text: one
 * rule for the index, the query and the vocabulary. detail=column, because scores need the column of a
 * word and never its offset.
 */
const TABLES = `
  ${MARK_TABLE}
  create table product (
    row integer primary key,
    product_id text not null unique,
    sku text not null,
    title_words text not null,
    source text not null,
    body text not null,
    withdrawn text,
    crc integer not null
  );
  create index product_sku on product (sku);
  create index product_source on product (source, sku) where withdrawn is null;
  create index product_title on product (title_words, product_id);
  create table facts (row integer primary key, facts text not null, crc integer not null);
  create table word (word text primary key) without rowid;
  create table place (only integer primary key check (only = 1), checkpoint integer not null);
  insert into place values (1, 0);
  create virtual table product_text using fts5 (
    title, sku, category, brand, description,
    content = '', contentless_delete = 1, detail = column, tokenize = 'ascii'
  );
`;

/**
 * Opens a file and prepares it by `use`; closes it if that fails. The file is a cache of the log: what a
 * power cut destroys is rebuilt, and waiting for the disk would delay every request of the process.
 */
const connect = <Result>(file: string, use: (db: DatabaseSync) => Result): Result => {
  const db = openPrivate(file);
  try {
    db.exec('pragma journal_mode = wal; pragma synchronous = off;');
    db.exec('pragma cache_size = -65536; pragma mmap_size = 1073741824;');
    return use(db);
  } catch (error) {
    db.close();
    throw error;
  }
};

type OnDiscarded = (reason: string) => void;

const openUsable = (file: string, onDiscarded: OnDiscarded): DatabaseSync | undefined => {
  try {
    requireWholeLog(file);
    return connect(file, (db) => {
      const version = queryValue(db, 'pragma user_version');
      if (version === CATALOG_VERSION) {
        markOpened(db);
        return db;
      }
      db.close();
      if (version !== 0) onDiscarded('it has another version');
      return undefined;
    });
  } catch (error) {
    if (!isDamage(error) && !(error instanceof MachineStopped)) throw error;
    onDiscarded(error.message);
    return undefined;
  }
};

/**
 * Opens the database in `file`; if it cannot be used, replaces it by an empty one at position 0. Throws
 * what an operator has to fix: a full disk, a missing folder.
 */
export const openCatalogFile = (file: string, onDiscarded: OnDiscarded): DatabaseSync =>
  openUsable(file, onDiscarded) ?? recreateCatalogFile(file);

const recreateCatalogFile = (file: string): DatabaseSync => {
  removeDatabase(file);
  return connect(file, (db) => {
    db.exec(`begin; ${TABLES} pragma user_version = ${CATALOG_VERSION}; commit;`);
    markOpened(db);
    return db;
  });
};

type StoredProduct = CatalogEntry & { row: number };

/** Applied to memory once the file has committed. */
type Changes = {
  facts: Map<number, Facts>;
  newWords: Set<string>;
  /** Rows whose texts were removed or added. */
  texts: number[];
  /** The words of these texts. */
  words: WordChanges;
};

/** Titles are ordered by this prefix, which fits into the mark of a page. */
const TITLE_CHARS_MAX = 64;

const textsOf = (product: CatalogProduct): string[] => [
  product.title,
  // What identifies a product, on its shelf or in another catalog.
  [product.sku, product.gtin, product.mpn].filter((code) => code !== undefined).join(' '),
  product.category,
  product.brand ?? '',
  [product.description, ...(product.certifications ?? [])].join(' '),
];

const hasSameText = (one: CatalogEntry | undefined, other: CatalogEntry): boolean =>
  one?.live === other.live && textsOf(one.product).join('\0') === textsOf(other.product).join('\0');

/** Throws PoisonEvent if the event is at fault; rethrows an error of the file. */
const detectPoison = <Result>(work: () => Result): Result => {
  try {
    return work();
  } catch (error) {
    if (sqliteCodeOf(error) === undefined)
      throw new PoisonEvent(messageOfError(error), { cause: error });
    throw error;
  }
};

const prepareAll = (db: DatabaseSync) => ({
  select: db.prepare(`select row, ${PRODUCT_COLUMNS} from product where product_id = ?`),
  insert: db.prepare(
    `insert into product (product_id, sku, title_words, source, body, withdrawn, crc)
     values (?, ?, ?, ?, ?, ?, ?)`,
  ),
  update: db.prepare(
    `update product set sku = ?, title_words = ?, source = ?, body = ?, withdrawn = ?, crc = ?
     where row = ?`,
  ),
  putFacts: db.prepare('insert or replace into facts (row, facts, crc) values (?, ?, ?)'),
  removeText: db.prepare('delete from product_text where rowid = ?'),
  addText: db.prepare(
    `insert into product_text (rowid, title, sku, category, brand, description)
     values (?, ?, ?, ?, ?, ?)`,
  ),
  addWord: db.prepare('insert or ignore into word (word) values (?)'),
  moveCheckpoint: db.prepare('update place set checkpoint = ?'),
});

/** Folds events into the file and, once it has committed, into memory: both or neither. */
export class CatalogWriter {
  readonly #db: DatabaseSync;
  readonly #columns: CatalogColumns;
  readonly #vocabulary: Vocabulary;
  readonly #prepared: ReturnType<typeof prepareAll>;
  #checkpoint: Position;

  constructor(db: DatabaseSync, columns: CatalogColumns, vocabulary: Vocabulary) {
    this.#db = db;
    this.#columns = columns;
    this.#vocabulary = vocabulary;
    this.#prepared = prepareAll(db);
    this.#checkpoint = Number(
      db.prepare('select checkpoint from place').get()?.['checkpoint'] ?? 0,
    );
  }

  get checkpoint(): Position {
    return this.#checkpoint;
  }

  /** Returns the changed rows, those whose texts were removed or added, and their words. */
  apply(
    events: readonly FoldEvent[],
    upTo: Position,
  ): { rows: number[] } & Pick<Changes, 'texts' | 'words'> {
    if (upTo <= this.#checkpoint) return { rows: [], texts: [], words: new Map() };
    const { facts, newWords, texts, words } = inTransaction(this.#db, () => {
      this.#prepared.moveCheckpoint.run(upTo);
      return this.#writeAll(events);
    });
    this.#checkpoint = upTo;
    for (const [row, rowFacts] of facts) this.#columns.set(row, rowFacts);
    for (const word of newWords) this.#vocabulary.add(word);
    return { rows: [...facts.keys()], texts, words };
  }

  #writeAll(events: readonly FoldEvent[]): Changes {
    const changes: Changes = {
      facts: new Map(),
      newWords: new Set(),
      texts: [],
      words: new Map(),
    };
    type Change = { before: StoredProduct | undefined; after: CatalogEntry | undefined };
    const products = new Map<string, Change>();
    for (const event of events) {
      if (event.position <= this.#checkpoint || !isProductEvent(event)) continue;
      const id = detectPoison(() => productIdOf(event));
      let product = products.get(id);
      if (!product) {
        const before = this.#read(id);
        products.set(id, (product = { before, after: before }));
      }
      const { after } = product;
      product.after = detectPoison(() => applyProductEvent(after, event));
    }
    for (const { before, after } of products.values())
      if (after) detectPoison(() => this.#write(before, after, changes));
    return changes;
  }

  #read(id: string): StoredProduct | undefined {
    const found = this.#prepared.select.get(id);
    if (!found) return undefined;
    const row = Number(found['row']);
    const { body, withdrawn } = requireProduct(found as ProductColumns);
    return {
      row,
      product: decodeProduct(body),
      live: this.#columns.isLive(row),
      ...(withdrawn !== null && { reason: withdrawn }),
    };
  }

  #write(before: StoredProduct | undefined, state: CatalogEntry, changes: Changes): void {
    const { product, live } = state;
    const words = textsOf(product).map(splitWords);
    const title = words[0]?.join(' ').slice(0, TITLE_CHARS_MAX).toWellFormed() ?? '';
    const row = this.#writeProduct(before?.row, state, title);
    const facts = factsOf(product, live, words.flat().length);
    const factsText = JSON.stringify(facts);
    this.#prepared.putFacts.run(row, factsText, factsCrc(row, factsText));
    changes.facts.set(row, facts);
    if (hasSameText(before, state)) return;
    changes.texts.push(row);
    if (before?.live) {
      this.#prepared.removeText.run(row);
      for (const word of textsOf(before.product).flatMap(splitWords))
        addWordChange(changes.words, { word, row, groups: 0 });
    }
    if (live) this.#addText(row, words, changes);
  }

  /** Returns the row, which is a new one if it was undefined. */
  #writeProduct(row: number | undefined, { product, reason }: CatalogEntry, title: string): number {
    const { product_id, sku, source = '' } = product;
    const body = encodeProduct(product);
    const withdrawn = reason ?? null;
    const values = [sku, title, source, body, withdrawn, productCrc(body, withdrawn)];
    if (row === undefined)
      return Number(this.#prepared.insert.run(product_id, ...values).lastInsertRowid);
    this.#prepared.update.run(...values, row);
    return row;
  }

  #addText(row: number, words: readonly string[][], changes: Changes): void {
    const texts = words.map((ofColumn) => ofColumn.join(' '));
    this.#prepared.addText.run(row, ...texts);
    for (const [column, ofColumn] of words.entries())
      for (const word of ofColumn) {
        addWordChange(changes.words, { word, row, groups: COLUMN_GROUPS[column] ?? 0 });
        if (this.#vocabulary.has(word) || changes.newWords.has(word)) continue;
        this.#prepared.addWord.run(word);
        changes.newWords.add(word);
      }
  }
}

/** Decoded products in memory: about 20 MB when full. Searches need none of them. */
const CACHED_PRODUCTS_MAX = 10_000;

/** For each view: as texts, 100,000 products of 700 bytes and more. */
const VIEW_BYTES_MAX = 100_663_296;

/** Prepares the look-up of live rows by their ids or SKUs, in the order of their ids. */
const prepareRowsOf = (
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

/** No text sorts after it. */
const LAST_TEXT = '\u{10ffff}';

const prepareSkusOf = (db: DatabaseSync): Catalog['skusOf'] => {
  const select = db.prepare(
    `select json_group_array(sku) as skus from
       (select sku from product
        where withdrawn is null and source = ? and sku > ? and sku <= ? order by sku)`,
  );
  return (source, { after = '', until = LAST_TEXT }) =>
    JSON.parse(String(select.get(source, after, until)?.['skus'])) as string[];
};

const prepareStartingWith = (db: DatabaseSync): Catalog['startingWith'] => {
  const prepareField = (field: 'product_id' | 'sku') =>
    db.prepare(
      `select distinct ${field} as value from product
       where withdrawn is null and ${field} >= ? and ${field} <= ? order by ${field} limit ?`,
    );
  const selects = { product_id: prepareField('product_id'), sku: prepareField('sku') };
  return (field, prefix, limit) =>
    selects[field].all(prefix, prefix + LAST_TEXT, limit).map(({ value }) => String(value));
};

const prepareWithdrawn = (db: DatabaseSync): Catalog['withdrawn'] => {
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

class ProductReader {
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
const digestProducts = (
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
  /** Called before products are written. */
  beforeWrite?(): void;
  /** Returns the events that are folded: the others are skipped. */
  foldedOf?(events: readonly FoldEvent[]): readonly FoldEvent[];
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
    if (!isDamage(error) && !isForeignSchema(error)) throw error;
    onDiscarded(messageOfError(error));
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
    skusOf: prepareSkusOf(db),
    startingWith: prepareStartingWith(db),
    withdrawn: prepareWithdrawn(db),
    categoryNamed: (category) => columns.values('category').spellingOf(category),
    namesOf: (field) => columns.values(field).liveNames,
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

const BATCH_EVENTS = 500;

/** Folds the next events up to a position; those that are folded already change nothing. */
type FoldBatch = (events: readonly FoldEvent[], upTo: Position) => Promise<void>;

/**
 * A catalog that can be rebuilt while the current build answers. Files are named after their log,
 * because a checkpoint is meaningless in another, and after the number of their build.
 */
export type CatalogBuilds = {
  /**
   * Always the live build. If it is found damaged it is emptied, and reads throw ReadModelRebuilding
   * until the log has filled it up to its previous checkpoint.
   */
  catalog: OpeningCatalog;
  /**
   * Fills the next build from the log while this one serves and follows, then switches in one step. `read` may give it
   * the events of a reading that others share, from the first one on; only what is left is read again.
   */
  rebuild(
    log: Pick<EventLog, 'readFold'>,
    read?: (fold: FoldBatch) => Promise<void>,
  ): Promise<void>;
};

/** The build files of one log in a directory. */
class BuildFiles {
  readonly #directory: string;
  readonly #prefix: string;

  constructor(directory: string, logId: string) {
    this.#directory = directory;
    this.#prefix = `catalog-${logId.slice(0, 8)}.`;
  }

  path(build: number): string {
    return join(this.#directory, `${this.#prefix}${build}.db`);
  }

  remove(build: number): void {
    removeDatabase(this.path(build));
  }

  /** Lists the numbers of the builds, rising. */
  list(): number[] {
    const { length } = this.#prefix;
    return readdirSync(this.#directory)
      .filter((name) => name.startsWith(this.#prefix) && name.endsWith('.db'))
      .map((name) => Number(name.slice(length, -'.db'.length)))
      .filter(Number.isInteger)
      .toSorted((a, b) => a - b);
  }
}

type Opening = ReturnType<typeof openCatalog>;

class LiveBuild {
  readonly #files: BuildFiles;
  readonly #options: CatalogOptions & { pause: Pause };
  readonly opened: Promise<void>;
  opening: CatalogProgress | undefined;
  readonly #parts: Opening;
  #isClosed = false;
  #build: number;
  /** Undefined until it is open, and while the disk has no space for an empty build. */
  #live: Catalog | undefined;
  /** The checkpoint of a build that was damaged; reads wait until it is reached again. */
  #requiredCheckpoint: Position = 0;
  generation = 0;

  constructor(files: BuildFiles, options: CatalogOptions) {
    this.#files = files;
    this.#options = { pause: nextTurn, ...options };
    // The newest build: older ones were about to be removed, or the newest catches up as it serves.
    const builds = files.list();
    this.#build = builds.pop() ?? 1;
    for (const old of builds) files.remove(old);
    this.#parts = this.#open(this.#build);
    this.opened = this.#finishOpening(this.#parts.next());
    // Also when nobody waits for it.
    this.opened.catch(() => {});
  }

  get checkpoint(): Position {
    return this.#live?.checkpoint() ?? 0;
  }

  /** Throws ReadModelRebuilding if the build is damaged, after replacing it by an empty one. */
  use<Result>(work: (catalog: Catalog) => Result): Result {
    if (this.opening) throw new ReadModelRebuilding('the catalog is being opened');
    // The build is empty: it was removed.
    const catalog = (this.#live ??= inOneTurn(this.#open(this.#build)));
    try {
      return work(catalog);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#discard(catalog, error.message);
      throw new ReadModelRebuilding('the catalog was damaged', { cause: error });
    }
  }

  read<Result>(work: (catalog: Catalog) => Result): Result {
    if (this.checkpoint < this.#requiredCheckpoint)
      throw new ReadModelRebuilding('the catalog is being filled');
    return this.use(work);
  }

  async rebuild(...[log, read]: Parameters<CatalogBuilds['rebuild']>): Promise<void> {
    await this.opened;
    const number = this.#build + 1;
    this.#files.remove(number);
    const next = inOneTurn(this.#open(number));
    try {
      await read?.((events, upTo) => this.#fold(next, events, upTo));
      await this.#fill(next, log);
    } catch (error) {
      this.#files.remove(number);
      next.close();
      throw error;
    }
    // No turn since the last comparison of checkpoints, so the live build has no newer event.
    const old = this.#live;
    this.#live = next;
    this.generation += 1;
    // Removed before it is closed, so that closing does not write it to the disk.
    this.#files.remove(this.#build);
    old?.close();
    this.#build = number;
  }

  close(): void {
    this.#isClosed = true;
    // Closes the file if it is not open yet.
    this.#parts.return(undefined as never);
    this.#live?.close();
  }

  async #finishOpening(first: ReturnType<Opening['next']>): Promise<void> {
    let part = first;
    for (; !part.done; part = this.#parts.next()) {
      this.opening = part.value;
      await this.#options.pause();
      if (this.#isClosed) return;
    }
    this.opening = undefined;
    this.#live = part.value;
  }

  async #fill(next: Catalog, log: Pick<EventLog, 'readFold'>): Promise<void> {
    const due = (): Position => Math.max(this.#requiredCheckpoint, this.checkpoint);
    while (next.checkpoint() < due()) {
      const events = await log.readFold({ after: next.checkpoint(), limit: BATCH_EVENTS });
      const upTo = Math.min(events.at(-1)?.position ?? Infinity, due());
      await this.#fold(
        next,
        events.filter(({ position }) => position <= upTo),
        upTo,
      );
    }
  }

  async #fold(next: Catalog, events: readonly FoldEvent[], upTo: Position): Promise<void> {
    for (let from = 0; from === 0 || from < events.length; from += BATCH_EVENTS) {
      const batch = events.slice(from, from + BATCH_EVENTS);
      const isLast = from + BATCH_EVENTS >= events.length;
      this.#options.beforeWrite?.();
      const { foldedOf } = this.#options;
      next.apply(foldedOf?.(batch) ?? batch, isLast ? upTo : (batch.at(-1)?.position ?? upTo));
      await nextTurn();
    }
  }

  #open(build: number): Opening {
    return openCatalog(this.#files.path(build), this.#options);
  }

  #discard(damaged: Catalog, reason: string): void {
    this.#requiredCheckpoint = Math.max(this.#requiredCheckpoint, damaged.checkpoint());
    this.generation += 1;
    this.#live = undefined;
    damaged.close();
    this.#files.remove(this.#build);
    this.#options.onDiscarded?.(reason);
  }
}

/** Opens the newest build of the catalog of a log. */
export const catalogBuilds = (
  directory: string,
  logId: string,
  options: CatalogOptions = {},
): CatalogBuilds => {
  const live = new LiveBuild(new BuildFiles(directory, logId), options);
  return {
    catalog: {
      byId: (ids) => live.read((catalog) => catalog.byId(ids)),
      bySku: (skus) => live.read((catalog) => catalog.bySku(skus)),
      startingWith: (...query) => live.read((catalog) => catalog.startingWith(...query)),
      skusOf: (source, range) => live.read((catalog) => catalog.skusOf(source, range)),
      withdrawn: (ids) => live.read((catalog) => catalog.withdrawn(ids)),
      categoryNamed: (category) => live.read((catalog) => catalog.categoryNamed(category)),
      namesOf: (field) => live.read((catalog) => catalog.namesOf(field)),
      search: (query) => live.read((catalog) => catalog.search(query)),
      show: (query, view) => live.read((catalog) => catalog.show(query, view)),
      count: () => live.read((catalog) => catalog.count()),
      apply(events, upTo) {
        options.beforeWrite?.();
        const folded = options.foldedOf?.(events) ?? events;
        live.use((catalog) => catalog.apply(folded, upTo));
      },
      checkpoint: () => live.checkpoint,
      version: CATALOG_VERSION,
      generation: () => live.generation,
      digest: () => live.read((catalog) => catalog.digest()),
      close: () => live.close(),
      opened: live.opened,
      opening: () => live.opening,
    },
    rebuild: (...from) => live.rebuild(...from),
  };
};

/** The state of a product's stream. A withdrawn product keeps its contents, because it can return. */
export type CatalogEntry = {
  product: CatalogProduct;
  live: boolean;
  /** The reason, if it was withdrawn. */
  reason?: string;
};

const TYPES: ReadonlySet<string> = new Set(PRODUCT_EVENTS);

export const isProductEvent = (event: FoldEvent): boolean => TYPES.has(event.type);

export const productIdOf = (event: FoldEvent): string => {
  const data = event.data as Partial<EventData<'ProductPublished'> & EventData<'ProductWithdrawn'>>;
  const id = data.product?.product_id ?? data.product_id;
  if (typeof id !== 'string')
    throw new Error(`${event.type} at ${event.position} names no product`);
  return id;
};

const productOf = (event: FoldEvent, published_at: number): CatalogProduct => {
  const { product, stock } = event.data as EventData<'ProductPublished'>;
  const { at, revision } = event;
  // A feed can state a time long ago, if it was not sent for long, but never one in the future.
  const statedAt = Date.parse(product.source_updated_at ?? '');
  return {
    ...product,
    stock: { ...stock, as_of: Number.isNaN(statedAt) ? at : Math.min(statedAt, at) },
    revision,
    published_at,
    updated_at: at,
  };
};

/** Applies an event. Throws if it changes a product that was never published, which is a bug. */
export const applyProductEvent = (
  state: CatalogEntry | undefined,
  event: FoldEvent,
): CatalogEntry => {
  if (event.type === 'ProductPublished') {
    return { product: productOf(event, state?.product.published_at ?? event.at), live: true };
  }
  if (!state) throw new Error(`${event.type} at ${event.position} on a product never published`);
  if (event.type === 'ProductRevised') {
    return { ...state, product: productOf(event, state.product.published_at) };
  }
  const { at, revision } = event;
  if (event.type === 'ProductWithdrawn') {
    const { reason } = event.data as EventData<'ProductWithdrawn'>;
    return { product: { ...state.product, revision, updated_at: at }, live: false, reason };
  }
  const { stock } = event.data as EventData<'ProductStockObserved'>;
  const product = { ...state.product, stock: { ...stock, as_of: at }, revision, updated_at: at };
  return { ...state, product };
};

type EveryMember<T extends object> = { [K in keyof Required<T>]: T[K] | undefined };

/** Puts every member in a fixed order, so that equal products are equal bytes. */
const ordered = (product: CatalogProduct): EveryMember<CatalogProduct> => ({
  product_id: product.product_id,
  sku: product.sku,
  title: product.title,
  description: product.description,
  brand: product.brand,
  gtin: product.gtin,
  mpn: product.mpn,
  category: product.category,
  image_url: product.image_url,
  origin_country: product.origin_country,
  ship_from: product.ship_from,
  lead_time_days: product.lead_time_days,
  currency: product.currency,
  moq: product.moq,
  increment: product.increment,
  price_tiers: product.price_tiers.map((tier) => ({
    min_quantity: tier.min_quantity,
    unit_price: tier.unit_price,
  })),
  certifications: product.certifications,
  source_updated_at: product.source_updated_at,
  source: product.source,
  stock: {
    level: product.stock.level,
    available_quantity: product.stock.available_quantity,
    as_of: product.stock.as_of,
  },
  revision: product.revision,
  published_at: product.published_at,
  updated_at: product.updated_at,
});

export const encodeProduct = (product: CatalogProduct): string => JSON.stringify(ordered(product));
export const decodeProduct = (body: string): CatalogProduct => JSON.parse(body) as CatalogProduct;

// SQLite does not notice a flipped bit. A record that does not fit damages the whole file, which is filled again.

/** Columns of a product that a checksum covers, and the checksum. */
export const PRODUCT_COLUMNS = 'body, withdrawn, crc';
export type ProductColumns = { body: unknown; withdrawn: unknown; crc: unknown };

export const productCrc = (body: string, withdrawn: string | null): number =>
  crc32(body, withdrawn === null ? 0 : crc32(withdrawn, 1));

/** Throws RecordDamaged if the checksum does not fit; otherwise returns the columns. */
export const requireProduct = ({ body, withdrawn, crc }: ProductColumns) => {
  const isText = typeof body === 'string' && (withdrawn === null || typeof withdrawn === 'string');
  if (!isText || productCrc(body, withdrawn) !== crc)
    throw new RecordDamaged('the checksum of a product does not fit');
  return { body, withdrawn };
};
