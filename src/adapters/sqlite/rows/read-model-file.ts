import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { MARK_TABLE, markOpened } from './cache-mark.ts';
import { openOwn } from '../own-file.ts';
import { inTransaction } from '../transaction.ts';

const APPLICATION_ID = 0x7472_726d;
/** Rises with any change below; an older file is thrown away, because the log has it all. */
const SCHEMA_VERSION = 2;

// Rows lie by partition first: a digest reads one range. Ids of spaces are never used again, so
// that rows left by a drop that did not come to its end belong to nobody.
const SCHEMA = `
  ${MARK_TABLE}
  CREATE TABLE origin (log TEXT NOT NULL);
  CREATE TABLE spaces (id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL UNIQUE);
  CREATE TABLE live (name TEXT PRIMARY KEY, space TEXT NOT NULL);
  CREATE TABLE checkpoints (
    space_id INTEGER, partition INTEGER, position INTEGER NOT NULL,
    PRIMARY KEY (space_id, partition)
  ) WITHOUT ROWID;
  CREATE TABLE rows (
    space_id INTEGER, partition INTEGER, scope TEXT, key TEXT, sort INTEGER, row TEXT NOT NULL,
    PRIMARY KEY (space_id, partition, scope, key)
  ) WITHOUT ROWID;
  CREATE INDEX rows_in_order ON rows (space_id, scope, sort) WHERE sort IS NOT NULL;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the file, or makes an empty one in its place if it is damaged, of another version or another
 * log, or was open when the machine stopped. `onDiscarded` hears why.
 */
export const openCache = (
  file: string,
  log: string,
  onDiscarded: (reason: string) => void,
): DatabaseSync => {
  try {
    return open(file, log);
  } catch (error) {
    onDiscarded(error instanceof Error ? error.message : String(error));
    discard(file);
    return open(file, log);
  }
};

export const discard = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
};

const open = (file: string, log: string): DatabaseSync => {
  const db = openOwn(file);
  try {
    // The log is the record and this a cache of it: a power cut costs the file, and the engine folds
    // it again. So no commit here waits for the disk. One process has the file to itself; its rows in
    // memory would not see another's writes. The write-ahead log may grow to 32 MiB, so that a fill
    // writes the same pages back less often.
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -65536;
      PRAGMA wal_autocheckpoint = 8192;
    `);
    prepare(db, log);
    markOpened(db);
    db.exec('DELETE FROM rows WHERE space_id NOT IN (SELECT id FROM spaces)');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const prepare = (db: DatabaseSync, log: string): void => {
  const number = (sql: string): unknown => Object.values(db.prepare(sql).get() ?? {})[0];
  if (number('SELECT count(*) FROM sqlite_schema') === 0) {
    inTransaction(db, () => {
      db.exec(SCHEMA);
      db.prepare('INSERT INTO origin (log) VALUES (?)').run(log);
    });
    return;
  }
  if (number('PRAGMA application_id') !== APPLICATION_ID)
    throw new Error('it is no read model of ours');
  if (number('PRAGMA user_version') !== SCHEMA_VERSION) throw new Error('it has another version');
  if (number('SELECT log FROM origin') !== log) throw new Error('it belongs to another log');
};
