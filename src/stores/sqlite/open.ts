/** Opens the SQLite files that are no caches; reads back what each is and how durable it is. */
import { closeSync, openSync, rmSync, accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StartupError } from '#src/ports/startup-error.ts';
import { runtimeFault } from '#src/system/runtime.mjs';
import { messageOfError } from './failure.ts';

type Options = NonNullable<ConstructorParameters<typeof DatabaseSync>[1]>;

/**
 * Opens a file that only this user can read, whatever the directory's permissions and the umask are.
 * SQLite gives the files beside it the same mode. `path` can be ':memory:'.
 */
export const openPrivate = (path: string | URL, options: Options = {}): DatabaseSync => {
  if (path !== ':memory:') createPrivate(path);
  return new DatabaseSync(path, options);
};

const createPrivate = (path: string | URL): void => {
  try {
    // Only a new file: closing one that this process has open would release its locks.
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // The file exists, or SQLite reports why it cannot be created.
  }
};

/** Whether the file exists and is not empty; what it holds can be in its write-ahead log. */
export const hasContent = (path: string): boolean => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.size > 0 || existsSync(`${path}-wal`));
};

/** Removes the file, its write-ahead log and its shared memory, whichever exist. */
export const removeDatabase = (path: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
};

/** Returns the first column of the first row; undefined if there is no row. */
export const queryValue = (db: DatabaseSync, sql: string): unknown =>
  Object.values(db.prepare(sql).get() ?? {})[0];

/** Commits all of `work`, or rolls back and rethrows its error. */
export const inTransaction = <Result>(db: DatabaseSync, work: () => Result): Result => {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite rolls back by itself on some errors.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
};

/** The format with which the files of version 1.0.0 begin; unreleased versions wrote lower ones. */
export const FIRST_FORMAT = 10;

export type StoreKind = {
  /** The name in messages, such as "event log". */
  what: string;
  /** SQLite's application_id, different for each kind of file. */
  applicationId: number;
  version: number;
  /** FULL where an acknowledged write must survive a power cut, NORMAL where it can be rebuilt. */
  synchronous: 'FULL' | 'NORMAL';
  /** SQL that creates an empty store. */
  schema: string;
  cacheKiB?: number;
  /** Keeps other processes from reading the file, which saves the locking calls of each look-up. */
  exclusive?: boolean;
};

// Another process may hold the file for a moment: a backup, a shell.
const BUSY_MS = 1_000;
const SYNCHRONOUS = { FULL: 2, NORMAL: 1 };

/** Returns the schema version of the file, 0 if it is empty. Writes nothing. */
const identify = (db: DatabaseSync, path: string, kind: StoreKind): number => {
  const applicationId = queryValue(db, 'PRAGMA application_id');
  const version = Number(queryValue(db, 'PRAGMA user_version'));
  const tables = queryValue(db, 'SELECT count(*) FROM sqlite_schema');
  if (applicationId === 0 && version === 0 && tables === 0) return 0;
  if (applicationId !== kind.applicationId) {
    throw new StartupError(
      `${path} is a SQLite file, but not a Tributary ${kind.what}. Nothing was changed in it. ` +
        'Choose another data directory, or move the file away.',
    );
  }
  if (version > kind.version) {
    throw new StartupError(
      `${path} was written by a newer Tributary (${kind.what} format ${version}; this one supports ` +
        `${kind.version}). Start the newer version again, or restore the backup made before it.`,
    );
  }
  if (version < kind.version) {
    throw new StartupError(
      `${path} was written by an unreleased Tributary (${kind.what} format ${version}; this one reads ${kind.version}). ` +
        'Start with a new data directory.',
    );
  }
  return version;
};

const prepare = (db: DatabaseSync, path: string, kind: StoreKind): void => {
  const from = identify(db, path, kind);
  if (kind.exclusive) db.exec('PRAGMA locking_mode = EXCLUSIVE');
  const mode = queryValue(db, 'PRAGMA journal_mode = WAL');
  if (mode !== 'wal') {
    throw new StartupError(
      `${path} cannot use a write-ahead log (mode ${String(mode)}). ` +
        'Keep the data directory on a local disk.',
    );
  }
  // Some builds of SQLite have NORMAL again on the second open, so set it each time and read it back.
  db.exec(`PRAGMA synchronous = ${kind.synchronous}`);
  const synchronous = queryValue(db, 'PRAGMA synchronous');
  if (synchronous !== SYNCHRONOUS[kind.synchronous]) {
    throw new StartupError(
      `${path} runs with synchronous=${String(synchronous)} instead of ${kind.synchronous}: ` +
        'acknowledged writes could be lost. This build of SQLite cannot be used.',
    );
  }
  if (kind.cacheKiB) db.exec(`PRAGMA cache_size = -${kind.cacheKiB}`);
  if (from === kind.version) return;
  inTransaction(db, () => {
    db.exec(kind.schema);
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
 * Opens a file only for reading. SQLite creates two files beside it even then. In a directory that
 * cannot be written nothing changes, and a file that was closed properly is complete by itself.
 */
export const openToRead = (path: string): DatabaseSync => {
  const isComplete = !isWritable(dirname(path)) && !existsSync(`${path}-wal`);
  const url = pathToFileURL(path);
  if (isComplete) url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true, timeout: BUSY_MS });
};

const hintOf = (path: string): string =>
  isWritable(dirname(path))
    ? 'If the file is damaged, restore the data directory from a backup.'
    : 'The directory is read-only, and the file was not closed properly: copy the directory to a ' +
      'writable place and use the copy.';

/** Runs `use` on the opened file; if it throws, closes the file and throws StartupError. */
const usingDatabase = <T>(
  { path, kind }: { path: string; kind: StoreKind },
  open: () => DatabaseSync,
  use: (db: DatabaseSync) => T,
): T => {
  let db: DatabaseSync | undefined;
  try {
    const fault = runtimeFault();
    if (fault !== undefined) throw new StartupError(fault);
    db = open();
    return use(db);
  } catch (error) {
    db?.close();
    if (error instanceof StartupError) throw error;
    throw new StartupError(
      `${path} cannot be opened as a Tributary ${kind.what}: ${messageOfError(error)}. ` +
        hintOf(path),
      { cause: error },
    );
  }
};

/** Opens a file of ours, or creates it. Throws StartupError. */
export const openStore = (path: string, kind: StoreKind): DatabaseSync =>
  usingDatabase(
    { path, kind },
    () => openPrivate(path, { timeout: BUSY_MS }),
    (db) => {
      prepare(db, path, kind);
      return db;
    },
  );

/**
 * Reads a file without changing a byte of it: a writer would, when it closes, merge a damaged
 * write-ahead log into the file and delete what an expert might still recover. Returns null if the
 * file is empty. Throws StartupError.
 */
export const inspectStore = <T>(
  path: string,
  kind: StoreKind,
  inspect: (db: DatabaseSync) => T,
): T | null =>
  usingDatabase(
    { path, kind },
    () => openToRead(path),
    (db) => {
      const answer = identify(db, path, kind) === 0 ? null : inspect(db);
      db.close();
      return answer;
    },
  );
