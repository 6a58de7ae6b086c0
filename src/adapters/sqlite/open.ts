/** The one way a SQLite file of ours is opened: what it is and how durable it is are read back. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StartupError } from '#src/ports/startup-error.ts';
import { openOwn } from './own-file.ts';
import { inTransaction } from './transaction.ts';

export type StoreKind = {
  /** For messages: "event log". */
  what: string;
  /** Tells our files from others', and each kind from the next. */
  applicationId: number;
  version: number;
  /** FULL where an acknowledged write must survive a power cut, NORMAL where it can be rebuilt. */
  synchronous: 'FULL' | 'NORMAL';
  /** SQL of an empty store. */
  schema: string;
  /** Brings an older file to `version`, inside a transaction. */
  migrate?: (db: DatabaseSync, from: number) => void;
  cacheKiB?: number;
  /** No other process may even read it: saves the locking calls of each look-up. */
  exclusive?: boolean;
};

// Up to 3.51.2 two connections could corrupt a WAL file ("WAL-reset" race).
const SQLITE_MIN = [3, 51, 3];
// Another process may hold the file for a moment: a backup, a shell.
const BUSY_MS = 1_000;
const SYNCHRONOUS = { FULL: 2, NORMAL: 1 };

const one = (db: DatabaseSync, sql: string): unknown =>
  Object.values(db.prepare(sql).get() ?? {})[0];

/** Exported for its test: the build of SQLite cannot be swapped. */
export const requireSqlite = (version: string): void => {
  const parts = version.split('.').map(Number);
  const differs = SQLITE_MIN.findIndex((least, index) => parts[index] !== least);
  if (differs >= 0 && (parts[differs] ?? 0) < (SQLITE_MIN[differs] ?? 0)) {
    throw new StartupError(
      `SQLite ${version} can corrupt a write-ahead log; ${SQLITE_MIN.join('.')} is needed. ` +
        'It comes with Node: use the version that package.json names.',
    );
  }
};

/** The schema version of the file, 0 when it is empty. Writes nothing. */
const identify = (db: DatabaseSync, path: string, kind: StoreKind): number => {
  const applicationId = one(db, 'PRAGMA application_id');
  const version = Number(one(db, 'PRAGMA user_version'));
  const tables = one(db, 'SELECT count(*) FROM sqlite_schema');
  if (applicationId === 0 && version === 0 && tables === 0) return 0;
  if (applicationId !== kind.applicationId) {
    throw new StartupError(
      `${path} is a SQLite file, but not a Tributary ${kind.what}. Nothing was changed in it. ` +
        'Choose another data directory, or move the file away.',
    );
  }
  if (version > kind.version) {
    throw new StartupError(
      `${path} was written by a newer Tributary (${kind.what} format ${version}; this one knows ` +
        `${kind.version}). Start the newer version again, or restore the backup made before it.`,
    );
  }
  return version;
};

const prepare = (db: DatabaseSync, path: string, kind: StoreKind): void => {
  const from = identify(db, path, kind);
  if (kind.exclusive) db.exec('PRAGMA locking_mode = EXCLUSIVE');
  const mode = one(db, 'PRAGMA journal_mode = WAL');
  if (mode !== 'wal') {
    throw new StartupError(
      `${path} cannot use a write-ahead log (mode ${String(mode)}). ` +
        'Keep the data directory on a local disk.',
    );
  }
  // Some builds of SQLite come back with NORMAL on the second open: set each time, and believed
  // only when read back.
  db.exec(`PRAGMA synchronous = ${kind.synchronous}`);
  const synchronous = one(db, 'PRAGMA synchronous');
  if (synchronous !== SYNCHRONOUS[kind.synchronous]) {
    throw new StartupError(
      `${path} runs with synchronous=${String(synchronous)} instead of ${kind.synchronous}: ` +
        'acknowledged writes could be lost. This build of SQLite cannot be used.',
    );
  }
  if (kind.cacheKiB) db.exec(`PRAGMA cache_size = -${kind.cacheKiB}`);
  if (from === kind.version) return;
  if (from > 0 && !kind.migrate) {
    throw new StartupError(
      `${path} has ${kind.what} format ${from}, which this version cannot read.`,
    );
  }
  inTransaction(db, () => {
    if (from === 0) db.exec(kind.schema);
    else kind.migrate?.(db, from);
    db.exec(`PRAGMA application_id = ${kind.applicationId}; PRAGMA user_version = ${kind.version}`);
  });
};

const isWritable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * For whoever only reads. Beside a file of ours SQLite makes two more, also to read it. Where nothing
 * can be made nothing changes either, and a file that was closed in order is whole by itself.
 */
export const openToRead = (path: string): DatabaseSync => {
  const isWhole = !isWritable(dirname(path)) && !existsSync(`${path}-wal`);
  const at = pathToFileURL(path);
  if (isWhole) at.searchParams.set('immutable', '1');
  return new DatabaseSync(at, { readOnly: true, timeout: BUSY_MS });
};

const hintOf = (path: string): string =>
  isWritable(dirname(path))
    ? 'If the file is damaged, restore the data directory from a backup.'
    : 'The directory cannot be written, and the file was not closed in order: copy the directory ' +
      'to where it can be written, and look there.';

const opened = <T>(
  path: string,
  kind: StoreKind,
  open: () => DatabaseSync,
  use: (db: DatabaseSync) => T,
): T => {
  let db: DatabaseSync | undefined;
  try {
    db = open();
    requireSqlite(String(one(db, 'SELECT sqlite_version()')));
    return use(db);
  } catch (error) {
    db?.close();
    if (error instanceof StartupError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(
      `${path} cannot be opened as a Tributary ${kind.what}: ${reason}. ` + hintOf(path),
      { cause: error },
    );
  }
};

export const openStore = (path: string, kind: StoreKind): DatabaseSync =>
  opened(
    path,
    kind,
    () => openOwn(path, { timeout: BUSY_MS }),
    (db) => {
      prepare(db, path, kind);
      return db;
    },
  );

/**
 * Looks into a file without changing a byte of it: a writer that closes would fold a damaged
 * write-ahead log into the file and delete what an expert might still save. null when it is empty.
 */
export const inspectStore = <T>(
  path: string,
  kind: StoreKind,
  look: (db: DatabaseSync) => T,
): T | null =>
  opened(
    path,
    kind,
    () => openToRead(path),
    (db) => {
      const answer = identify(db, path, kind) === 0 ? null : look(db);
      db.close();
      return answer;
    },
  );
