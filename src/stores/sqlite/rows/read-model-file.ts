/** The file views.db: opened, made anew when it is damaged or belongs to another log, and replaced when it cannot be read. */
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { inTransaction, openPrivate, queryValue, removeDatabase } from '#src/stores/sqlite/open.ts';
import { isDamage, messageOfError } from '#src/stores/sqlite/failure.ts';
import { PARTITIONS, ReadModelRebuilding } from '#src/ports/read-model.ts';
import { closeMarked, MARK_TABLE, markOpened } from './cache-mark.ts';
import { BLOCK_IDS } from './row-blocks.ts';
import { prepareStatements } from './row-statements.ts';

const APPLICATION_ID = 0x7472_726d;
/** Rises with any change below. A file of another version is deleted, because the log has everything. */
const SCHEMA_VERSION = 3;

// A part is a partition of a space, `space_id * 64 + partition`. A row is in `text`, or in the block of rows that were
// written with it. Ids of spaces are never reused, so that what an interrupted drop left belongs to no space.
const SCHEMA = `
  ${MARK_TABLE}
  CREATE TABLE origin (log TEXT NOT NULL);
  CREATE TABLE spaces (id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL UNIQUE);
  CREATE TABLE live (name TEXT PRIMARY KEY, space TEXT NOT NULL);
  CREATE TABLE checkpoints (
    part INTEGER PRIMARY KEY, position INTEGER NOT NULL,
    rows INTEGER NOT NULL, sum INTEGER NOT NULL, hash INTEGER NOT NULL
  );
  CREATE TABLE rows (
    part INTEGER, place TEXT, hash INTEGER NOT NULL, block INTEGER, text TEXT,
    PRIMARY KEY (part, place)
  ) WITHOUT ROWID;
  CREATE TABLE blocks (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
  CREATE TABLE entries (
    part INTEGER, scope TEXT, list TEXT, sort INTEGER, key TEXT,
    PRIMARY KEY (part, scope, list, sort, key)
  ) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
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

/**
 * Names the file so that SQLite locks it for this process, whose threads share it. Other processes are kept out, because the
 * rows in memory would miss their writes.
 */
export const urlOfCache = (file: string): URL => {
  const url = pathToFileURL(file);
  url.searchParams.set('vfs', 'unix-excl');
  return url;
};

const open = (file: string, log: string): DatabaseSync => {
  const db = openPrivate(urlOfCache(file));
  try {
    // The file is a cache of the log: after a power cut the engine rebuilds it, so no commit waits for
    // the disk. The write-ahead log can grow to 32 MiB, so that a fill writes a page back less often.
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -65536;
      PRAGMA wal_autocheckpoint = 8192;
    `);
    prepare(db, log);
    markOpened(db);
    removeUnowned(db);
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

/** Removes what an interrupted drop left. */
const removeUnowned = (db: DatabaseSync): void => {
  for (const table of ['rows', 'entries', 'checkpoints'])
    db.exec(`DELETE FROM ${table} WHERE part / ${PARTITIONS} NOT IN (SELECT id FROM spaces)`);
  db.exec(`DELETE FROM blocks WHERE id / ${PARTITIONS * BLOCK_IDS} NOT IN (SELECT id FROM spaces)`);
};

export type Statements = ReturnType<typeof prepareStatements>;

/** The file of the read models. It is only a cache, so when it cannot be read it is replaced by an empty one. */
export type GuardedFile = {
  /**
   * Runs `work`. Throws ReadModelRebuilding if the file cannot be read: the rows are lost, and the next call creates an
   * empty file, as soon as the disk allows it.
   */
  use<T>(work: (statements: Statements) => T): T;
  close(): void;
};

type OpenFile = { db: DatabaseSync; statements: Statements };

export const openGuarded = (options: {
  file: string;
  log: string;
  onDiscarded(reason: string): void;
  /** Everything that memory has of the file is invalid. */
  onEmptied(): void;
}): GuardedFile => {
  const { file, log, onDiscarded, onEmptied } = options;
  const prepare = (db: DatabaseSync): OpenFile => ({ db, statements: prepareStatements(db) });
  /** Undefined from the discovery that the file cannot be read until an empty one is created. */
  let current: OpenFile | undefined = prepare(openCache(file, log, onDiscarded));

  const openFile = (): OpenFile => {
    try {
      return (current ??= prepare(createCache(file, log)));
    } catch (error) {
      const reason = `the file of the read models cannot be created: ${messageOfError(error)}`;
      throw new ReadModelRebuilding(reason, { cause: error });
    }
  };

  const discard = ({ db }: OpenFile, reason: string): void => {
    current = undefined;
    onEmptied();
    onDiscarded(reason);
    db.close();
  };

  return {
    use(work) {
      const opened = openFile();
      try {
        return work(opened.statements);
      } catch (error) {
        if (!isDamage(error)) throw error;
        discard(opened, error.message);
        const reason = `the file of the read models cannot be read: ${error.message}`;
        throw new ReadModelRebuilding(reason, { cause: error });
      }
    },
    close() {
      if (current) closeMarked(current.db);
    },
  };
};
