/**
 * A cache of the log is written without waiting for the disk, so a power cut may keep some of its
 * pages and lose others, each right by itself, and nothing in the file shows it. So the file says, on
 * the disk, in which boot of the machine it is open. Within that boot the kernel has every page, also
 * those of a process that was killed; in another one some may be missing.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { failureOf } from '../failure.ts';

/** Part of the schema of every cache. */
export const MARK_TABLE = 'CREATE TABLE opened (boot TEXT NOT NULL);';

/** null where the machine does not tell. */
const bootOfMachine = (): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
};

/** Pages of the file may be missing. */
export class MachineStopped extends Error {
  override readonly name = 'MachineStopped';
}

/**
 * Comes before any other write to a file with MARK_TABLE, but for its schema. Where the file cannot be
 * marked, its writes wait for the disk (synchronous=NORMAL), else not (OFF). Throws MachineStopped.
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
    return synced(db);
  } catch (error) {
    if (failureOf(error) !== 'full') throw error;
    return false;
  }
};

/** Takes the mark away, once all else is on the disk, and closes the file. */
export const closeMarked = (db: DatabaseSync): void => {
  try {
    const file = db.location();
    if (file !== null && !existsSync(file)) return;
    // Anew, because SQLite syncs nothing when the write-ahead log has nothing for it to fold in.
    db.exec('INSERT INTO opened SELECT boot FROM opened');
    if (!synced(db)) return;
    db.exec('DELETE FROM opened');
    synced(db);
  } catch {
    // The mark stands. In this boot it does no harm, in another one the log fills the file again.
  } finally {
    db.close();
  }
};

/** Every page of the file is on the disk, and the write-ahead log empty. */
const synced = (db: DatabaseSync): boolean => {
  db.exec('PRAGMA synchronous = NORMAL');
  return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
};
