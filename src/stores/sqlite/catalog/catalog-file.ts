import type { DatabaseSync } from 'node:sqlite';
import { openPrivate, queryValue, removeDatabase } from '#src/stores/sqlite/open.ts';
import { isDamage } from '#src/stores/sqlite/failure.ts';
import { MachineStopped, MARK_TABLE, markOpened } from '#src/stores/sqlite/rows/cache-mark.ts';

/** Rises with every change of the file's contents; a file of another version is rebuilt. */
export const CATALOG_VERSION = 4;

/**
 * `body` is the whole product. `facts` is what a search computes with, in a table of its own so that
 * opening reads a tenth of the file. A withdrawn product remains as a row that is not live, with the
 * reason, so that it keeps its first publication date when it is published again.
 *
 * The tokenizer is the simplest one, because vocabulary.ts has already folded and split the text: one
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
    body text not null,
    withdrawn text,
    crc integer not null
  );
  create index product_sku on product (sku);
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

export const recreateCatalogFile = (file: string): DatabaseSync => {
  removeDatabase(file);
  return connect(file, (db) => {
    db.exec(`begin; ${TABLES} pragma user_version = ${CATALOG_VERSION}; commit;`);
    markOpened(db);
    return db;
  });
};
