import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, openPrivate, queryValue, removeDatabase } from '../database.ts';
import { messageOfError } from '../failure.ts';
import { MARK_TABLE, markOpened } from './cache-mark.ts';

const APPLICATION_ID = 0x7472_726d;
/** Rises with any change below. A file of another version is deleted, because the log has everything. */
const SCHEMA_VERSION = 2;

// Rows are ordered by partition first, so that a digest reads one range. Ids of spaces are never
// reused, so that rows left by an interrupted drop belong to no space.
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

/** Also added to files of earlier processes, which do not read it: a new version would discard their rows. */
const ENTRIES = `
  CREATE TABLE IF NOT EXISTS entries (
    space_id INTEGER, partition INTEGER, scope TEXT, list TEXT, sort INTEGER, key TEXT,
    PRIMARY KEY (space_id, partition, scope, list, sort, key)
  ) WITHOUT ROWID;
`;

/**
 * Opens the file. Replaces it by an empty one if it is damaged, has another version or log, or was open
 * when the machine stopped; `onDiscarded` gets the reason.
 */
export const openCache = (
  file: string,
  log: string,
  onDiscarded: (reason: string) => void,
): DatabaseSync => {
  try {
    return open(file, log);
  } catch (error) {
    onDiscarded(messageOfError(error));
    return createCache(file, log);
  }
};

/** Replaces the file by an empty one. */
export const createCache = (file: string, log: string): DatabaseSync => {
  removeDatabase(file);
  return open(file, log);
};

const open = (file: string, log: string): DatabaseSync => {
  const db = openPrivate(file);
  try {
    // The file is a cache of the log: after a power cut the engine rebuilds it, so no commit waits for
    // the disk. Only one process has the file, because its rows in memory would miss the writes of
    // another. The write-ahead log can grow to 32 MiB, so that a fill writes a page back less often.
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -65536;
      PRAGMA wal_autocheckpoint = 8192;
    `);
    prepare(db, log);
    markOpened(db);
    db.exec(ENTRIES);
    for (const table of ['rows', 'entries'])
      db.exec(`DELETE FROM ${table} WHERE space_id NOT IN (SELECT id FROM spaces)`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const prepare = (db: DatabaseSync, log: string): void => {
  if (queryValue(db, 'SELECT count(*) FROM sqlite_schema') === 0) {
    inTransaction(db, () => {
      db.exec(SCHEMA);
      db.prepare('INSERT INTO origin (log) VALUES (?)').run(log);
    });
    return;
  }
  if (queryValue(db, 'PRAGMA application_id') !== APPLICATION_ID)
    throw new Error('it is not a read model of Tributary');
  if (queryValue(db, 'PRAGMA user_version') !== SCHEMA_VERSION)
    throw new Error('it has another version');
  if (queryValue(db, 'SELECT log FROM origin') !== log)
    throw new Error('it belongs to another log');
};
