import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { MachineStopped, MARK_TABLE, markOpened } from '../rows/cache-mark.ts';
import { isDamage } from '../failure.ts';
import { openOwn } from '../own-file.ts';

/** Rises with every change of what the file holds; a file of another version is made anew. */
export const CATALOG_VERSION = 3;

/**
 * `body` is the whole product. `facts` is what a search computes with, kept apart from it so that
 * opening reads a tenth of the file. A withdrawn product stays as a row that is not live, with the
 * reason: published again, it keeps its first day.
 *
 * The tokenizer is the plainest there is, because words.ts has already folded and split the text:
 * one rule for the index, the query and the vocabulary. detail=column, because scores need the
 * column of a word and never its place.
 */
const TABLES = `
  ${MARK_TABLE}
  create table product (
    row integer primary key,
    product_id text not null unique,
    sku text not null,
    title_words text not null,
    body text not null,
    withdrawn text
  );
  create index product_sku on product (sku);
  create index product_title on product (title_words, product_id);
  create table facts (row integer primary key, facts text not null);
  create table word (word text primary key) without rowid;
  create table place (only integer primary key check (only = 1), checkpoint integer not null);
  insert into place values (1, 0);
  create virtual table product_text using fts5 (
    title, sku, category, brand, description,
    content = '', contentless_delete = 1, detail = column, tokenize = 'ascii'
  );
`;

/**
 * A cache of the log: what a power cut takes is folded again, and waiting for the disk would hold up
 * every request of the process.
 */
const connect = (file: string): DatabaseSync => {
  const db = openOwn(file);
  try {
    db.exec('pragma journal_mode = wal; pragma synchronous = off;');
    db.exec('pragma cache_size = -65536; pragma mmap_size = 1073741824;');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const versionOf = (db: DatabaseSync): unknown =>
  db.prepare('pragma user_version').get()?.['user_version'];

const create = (db: DatabaseSync): DatabaseSync => {
  try {
    db.exec(`begin; ${TABLES} pragma user_version = ${CATALOG_VERSION}; commit;`);
    markOpened(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

type OnDiscarded = (reason: string) => void;

const usable = (file: string, onDiscarded: OnDiscarded): DatabaseSync | undefined => {
  let db: DatabaseSync | undefined;
  try {
    db = connect(file);
    const version = versionOf(db);
    if (version === CATALOG_VERSION) {
      markOpened(db);
      return db;
    }
    if (version !== 0) onDiscarded('it has another version');
  } catch (error) {
    if (!isDamage(error) && !(error instanceof MachineStopped)) throw error;
    onDiscarded(error.message);
  }
  db?.close();
  return undefined;
};

/**
 * The database in `file`: as it was, or, when it cannot be used, empty and from 0. A full disk or a
 * missing folder is the operator's, and is thrown.
 */
export const openCatalogFile = (file: string, onDiscarded: OnDiscarded): DatabaseSync =>
  usable(file, onDiscarded) ?? remake(file);

export const remake = (file: string): DatabaseSync => {
  for (const part of ['', '-wal', '-shm']) rmSync(file + part, { force: true });
  return create(connect(file));
};
