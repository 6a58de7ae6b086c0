/**
 * A cache of the log is written without waiting for the disk, so after a power cut it can lack some of
 * its pages, and nothing in the file shows that. Therefore the file records on the disk the boot of the
 * machine in which it is open. Within that boot the kernel has every page, also those of a killed
 * process; in a later boot some can be missing.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { sqliteFailureOf } from '#src/stores/sqlite/failure.ts';

/** Part of every cache's schema. */
export const MARK_TABLE = 'CREATE TABLE opened (boot TEXT NOT NULL);';

/** Returns null if the machine does not report its boot. */
const bootOfMachine = (): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
};

/** Pages of the file can be missing. */
export class MachineStopped extends Error {
  override readonly name = 'MachineStopped';
}

/**
 * Marks a file with MARK_TABLE as open; required before any write except that of its schema. Sets
 * synchronous=OFF if the file was marked, otherwise NORMAL, so that writes wait for the disk. Throws
 * MachineStopped.
 */
export const markOpened = (db: DatabaseSync, boot: string | null = bootOfMachine()): void => {
  const marked = db.prepare('SELECT boot FROM opened').get()?.['boot'];
  if (marked !== undefined && marked !== boot)
    throw new MachineStopped('the machine stopped while it was open');
  const isMarked = boot !== null && (marked === boot || mark(db, boot));
  db.exec(`PRAGMA synchronous = ${isMarked ? 'OFF' : 'NORMAL'}`);
};

const mark = (db: DatabaseSync, boot: string): boolean => {
  try {
    db.prepare('INSERT INTO opened VALUES (?)').run(boot);
    return sync(db);
  } catch (error) {
    if (sqliteFailureOf(error, db.location()) !== 'full') throw error;
    return false;
  }
};

/** Removes the mark once everything else is on the disk, and closes the file. */
export const closeMarked = (db: DatabaseSync): void => {
  try {
    const file = db.location();
    if (file !== null && !existsSync(file)) return;
    // Written again, because SQLite syncs nothing if the write-ahead log is empty.
    db.exec('INSERT INTO opened SELECT boot FROM opened');
    if (!sync(db)) return;
    db.exec('DELETE FROM opened');
    sync(db);
  } catch {
    // The mark remains: harmless in this boot; in a later one the file is rebuilt from the log.
  } finally {
    db.close();
  }
};

/** Writes every page to the disk and empties the write-ahead log; returns whether it succeeded. */
const sync = (db: DatabaseSync): boolean => {
  db.exec('PRAGMA synchronous = NORMAL');
  return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
};
