/** What every SQLite file of ours needs, whatever it holds. */
import { closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

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
