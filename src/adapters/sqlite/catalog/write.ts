import type { DatabaseSync } from 'node:sqlite';
import { type CatalogProduct, PoisonEvent } from '#src/ports/catalog.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { codeOf, textOf } from '../failure.ts';
import type { Columns } from './columns.ts';
import { type Facts, factsOf } from './facts.ts';
import { decodeProduct, encodeProduct, fold, isFolded, type Kept, productIdOf } from './fold.ts';
import { inTransaction } from '../transaction.ts';
import { type Vocabulary, wordsOf } from './words.ts';

type Before = Kept & { row: number };

/** What memory takes over once the file has committed. */
type Changes = {
  facts: Map<number, Facts>;
  /** Not known before. */
  words: Set<string>;
  /** Of texts that are gone or new. */
  touched: Set<string>;
};

/** Titles are put in order by so much of them: what the mark of a page has room for. */
const TITLE_CHARS_MAX = 64;

const textsOf = (product: CatalogProduct): string[] => [
  product.title,
  product.sku,
  product.category,
  product.brand ?? '',
  product.description,
];

const isSameText = (one: Kept | undefined, other: Kept): boolean =>
  one?.live === other.live && textsOf(one.product).join('\0') === textsOf(other.product).join('\0');

/** Tells what no store could take from the trouble that this one is in. */
const taking = <Taken>(take: () => Taken): Taken => {
  try {
    return take();
  } catch (error) {
    if (codeOf(error) === undefined) throw new PoisonEvent(textOf(error), { cause: error });
    throw error;
  }
};

const catalogRows = (db: DatabaseSync, columns: Columns, vocabulary: Vocabulary) => {
  const select = db.prepare('select row, body, withdrawn from product where product_id = ?');
  const insert = db.prepare(
    'insert into product (product_id, sku, title_words, body, withdrawn) values (?, ?, ?, ?, ?)',
  );
  const update = db.prepare(
    'update product set sku = ?, title_words = ?, body = ?, withdrawn = ? where row = ?',
  );
  const putFacts = db.prepare('insert or replace into facts (row, facts) values (?, ?)');
  const removeText = db.prepare('delete from product_text where rowid = ?');
  const addText = db.prepare(
    `insert into product_text (rowid, title, sku, category, brand, description)
     values (?, ?, ?, ?, ?, ?)`,
  );
  const addWord = db.prepare('insert or ignore into word (word) values (?)');

  return {
    read(id: string): Before | undefined {
      const found = select.get(id);
      if (!found) return undefined;
      const row = Number(found['row']);
      const { body, withdrawn } = found;
      return {
        row,
        product: decodeProduct(String(body)),
        live: columns.isLive(row),
        ...(withdrawn !== null && { reason: String(withdrawn) }),
      };
    },
    write(before: Before | undefined, { product, live, reason }: Kept, changes: Changes) {
      const words = textsOf(product).map(wordsOf);
      const title = words[0]?.join(' ').slice(0, TITLE_CHARS_MAX).toWellFormed() ?? '';
      const body = encodeProduct(product);
      const withdrawn = reason ?? null;
      const row =
        before?.row ??
        Number(insert.run(product.product_id, product.sku, title, body, withdrawn).lastInsertRowid);
      if (before) update.run(product.sku, title, body, withdrawn, row);
      const facts = factsOf(product, live, words.flat().length);
      putFacts.run(row, JSON.stringify(facts));
      changes.facts.set(row, facts);
      if (isSameText(before, { product, live })) return;
      if (before?.live) {
        removeText.run(row);
        for (const word of textsOf(before.product).flatMap(wordsOf)) changes.touched.add(word);
      }
      if (!live) return;
      const [titles = '', skus = '', categories = '', brands = '', description = ''] = words.map(
        (of) => of.join(' '),
      );
      addText.run(row, titles, skus, categories, brands, description);
      for (const word of words.flat()) {
        changes.touched.add(word);
        if (vocabulary.has(word) || changes.words.has(word)) continue;
        addWord.run(word);
        changes.words.add(word);
      }
    },
  };
};

/** Folds events into the file and, once it has committed, into memory: both or neither. */
export const catalogWriter = (db: DatabaseSync, columns: Columns, vocabulary: Vocabulary) => {
  const rows = catalogRows(db, columns, vocabulary);
  const selectPlace = db.prepare('select checkpoint from place');
  const movePlace = db.prepare('update place set checkpoint = ?');
  let checkpoint: Position = Number(selectPlace.get()?.['checkpoint'] ?? 0);

  const write = (events: readonly FoldEvent[]): Changes => {
    const changes: Changes = { facts: new Map(), words: new Set(), touched: new Set() };
    const touched = new Map<string, { before: Before | undefined; after: Kept | undefined }>();
    for (const event of events) {
      if (event.position <= checkpoint || !isFolded(event)) continue;
      const id = taking(() => productIdOf(event));
      let product = touched.get(id);
      if (!product) {
        const before = rows.read(id);
        product = { before, after: before };
        touched.set(id, product);
      }
      const { after } = product;
      product.after = taking(() => fold(after, event));
    }
    for (const { before, after } of touched.values()) {
      if (after) taking(() => rows.write(before, after, changes));
    }
    return changes;
  };

  return {
    checkpoint: () => checkpoint,
    /** The rows that changed, and the words of texts that are gone or new. */
    apply(
      events: readonly FoldEvent[],
      upTo: Position,
    ): { rows: number[]; touched: ReadonlySet<string> } {
      if (upTo <= checkpoint) return { rows: [], touched: new Set() };
      const changes = inTransaction(db, () => {
        movePlace.run(upTo);
        return write(events);
      });
      checkpoint = upTo;
      for (const [row, facts] of changes.facts) columns.set(row, facts);
      for (const word of changes.words) vocabulary.add(word);
      return { rows: [...changes.facts.keys()], touched: changes.touched };
    },
  };
};
