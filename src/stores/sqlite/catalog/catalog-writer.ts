import type { DatabaseSync } from 'node:sqlite';
import { type CatalogProduct, PoisonEvent } from '#src/ports/catalog.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { inTransaction } from '#src/stores/sqlite/open.ts';
import { messageOfError, sqliteCodeOf } from '#src/stores/sqlite/failure.ts';
import type { CatalogColumns } from './columns.ts';
import { type Facts, factsCrc, factsOf } from './product-facts.ts';
import {
  applyProductEvent,
  decodeProduct,
  encodeProduct,
  isProductEvent,
  PRODUCT_COLUMNS,
  type ProductColumns,
  productCrc,
  productIdOf,
  requireProduct,
  type CatalogEntry,
} from './product-state.ts';
import { splitWords, type Vocabulary } from './vocabulary.ts';
import { addWordChange, COLUMN_GROUPS, type WordChanges } from './word-postings.ts';

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
  product.sku,
  product.category,
  product.brand ?? '',
  product.description,
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
    `insert into product (product_id, sku, title_words, body, withdrawn, crc)
     values (?, ?, ?, ?, ?, ?)`,
  ),
  update: db.prepare(
    'update product set sku = ?, title_words = ?, body = ?, withdrawn = ?, crc = ? where row = ?',
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
    const { product_id, sku } = product;
    const body = encodeProduct(product);
    const withdrawn = reason ?? null;
    const values = [sku, title, body, withdrawn, productCrc(body, withdrawn)];
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
