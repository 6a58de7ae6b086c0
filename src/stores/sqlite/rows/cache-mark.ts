/**
 * A cache of the log is written without waiting for the disk, so after a power cut it can lack some of
 * its pages, and nothing in the file shows that. Therefore the file records on the disk the boot of the
 * machine in which it is open. Within that boot the kernel has every page, also those of a killed
 * process; in a later boot some can be missing. What a killed process left is checked before it is used.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import type { DatabaseSync } from 'node:sqlite';
import { RecordDamaged, sqliteFailureOf } from '#src/stores/sqlite/failure.ts';

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

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit of the first word says in which byte order the words are summed. */
const WAL_MAGIC = 0x377f0682;

type Sums = [number, number];

/** The checksum of SQLite's write-ahead logs, continued over `bytes`, whose length is a multiple of 8. */
const sumOf = ([one, other]: Sums, bytes: Buffer): Sums => {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  for (let n = 0; n < words.length; n += 2) {
    one = (one + (words[n] ?? 0) + other) >>> 0;
    other = (other + (words[n + 1] ?? 0) + one) >>> 0;
  }
  return [one, other];
};

const hasSums = (bytes: Buffer, at: number, [one, other]: Sums): boolean =>
  bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === other;

/**
 * Throws RecordDamaged unless the write-ahead log that a killed process left has every frame since SQLite last restarted it.
 * SQLite reads it up to the first damaged frame, as after a power cut. But frames are merged into the file before they are
 * overwritten, so that the file would have its newer pages beside older ones of the log, and nothing would show that.
 * Must be called before SQLite opens the cache. Reads the log once; a file that was closed properly has none.
 * Source: https://www.sqlite.org/fileformat.html#walformat
 */
export const requireWholeLog = (file: string): void => {
  const path = `${file}-wal`;
  if (!existsSync(path)) return;
  let log: number | undefined;
  try {
    log = openSync(path, 'r');
    const head = Buffer.alloc(WAL_HEADER_BYTES);
    if (readSync(log, head) < WAL_HEADER_BYTES) return;
    const isOfMachine = WAL_MAGIC + (endianness() === 'BE' ? 1 : 0) === head.readUInt32BE(0);
    let sums = sumOf([0, 0], head.subarray(0, 24));
    if (!isOfMachine || !hasSums(head, 24, sums)) throw new Error('its header');
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + head.readUInt32BE(8));
    const page = frame.subarray(FRAME_HEADER_BYTES);
    while (readSync(log, frame) === frame.length) {
      sums = sumOf(sumOf(sums, frame.subarray(0, 8)), page);
      // Frames from before the restart have other salts, and checksums that do not continue the current ones.
      const isCurrent = frame.compare(head, 16, 24, 8, 16) === 0;
      if (isCurrent !== hasSums(frame, 16, sums)) throw new Error('a frame');
    }
  } catch (cause) {
    // Also if it cannot be read: SQLite could not read it either.
    throw new RecordDamaged('its write-ahead log is damaged', { cause });
  } finally {
    if (log !== undefined) closeSync(log);
  }
};
