/** What an error of node:sqlite means for the file it came from. */
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { LogCorrupted, LogUnavailable } from '#src/ports/event-log.ts';

/** Returns SQLite's extended result code; undefined for an error that is not SQLite's. */
export const sqliteCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;

const SQL_ERROR = 1;
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;
// Errors of reads. SQLite reports EIO of a read as CORRUPT or as IOERR_CORRUPTFS.
const READ_ERRORS: readonly (number | undefined)[] = [266, 522, 8_458];
// A failed write: ENOSPC is the only file system error for which SQLite has a code of its own.
const IOERR_WRITE = 778;

export type SqliteFailure = 'full' | 'busy' | 'damaged' | 'fault';

/**
 * - full: a write found no space, or reached a quota or a limit of the file size. Nothing of the transaction can
 *   reappear, because its last frame, the one that commits, was not written whole. A failed fsync is not `full`.
 * - busy: another process holds the file.
 * - damaged: the file is not what SQLite wrote, or could not be read.
 * - fault: any other error; after a COMMIT it is unknown whether the transaction is stored.
 *
 * `file` is the path of the database. Without it, a quota or a limit of the file size is a fault.
 */
export const sqliteFailureOf = (error: unknown, file: string | null = null): SqliteFailure => {
  // An integer beyond 2^53 in one of our columns, which node:sqlite cannot return.
  if (error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE')
    return 'damaged';
  const code = sqliteCodeOf(error);
  if (code === undefined) return 'fault';
  const primary = code & 0xff;
  if (primary === FULL || (code === IOERR_WRITE && file !== null && isOutOfSpace(file)))
    return 'full';
  if (primary === BUSY || primary === LOCKED) return 'busy';
  return primary === CORRUPT || primary === NOTADB ? 'damaged' : 'fault';
};

/** Whether a statement of ours does not fit the file: a bit of its schema was flipped. */
export const isForeignSchema = (error: unknown): boolean => sqliteCodeOf(error) === SQL_ERROR;

/** At least a frame of a write-ahead log. */
const PROBE_BYTES = 8_192;
// By number, because Node has no name for EDQUOT.
const { ENOSPC, EDQUOT, EFBIG } = constants.errno;
const NO_SPACE: readonly unknown[] = [-ENOSPC, -EDQUOT, -EFBIG];

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Writes a file beside the database, at the offset where the database or its write-ahead log ends, and removes it:
 * node:sqlite does not report the errno of a failed write.
 */
export const isOutOfSpace = (file: string): boolean => {
  const path = `${file}-probe`;
  try {
    const end = Math.max(sizeOf(file), sizeOf(`${file}-wal`));
    writeProbe(path, end);
    return false;
  } catch (error) {
    return error instanceof Error && 'errno' in error && NO_SPACE.includes(error.errno);
  } finally {
    removeQuietly(path);
  }
};

const writeProbe = (path: string, from: number): void => {
  const probe = openSync(path, 'w', 0o600);
  try {
    const bytes = new Uint8Array(PROBE_BYTES);
    // A write across a limit is shortened; the next one fails.
    for (let written = 0; written < PROBE_BYTES; )
      written += writeSync(probe, bytes, written, PROBE_BYTES - written, from + written);
    fsyncSync(probe);
  } finally {
    closeSync(probe);
  }
};

const removeQuietly = (path: string): void => {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next probe overwrites it.
  }
};

/** A record of a file that is a cache is not what was written. */
export class RecordDamaged extends Error {
  override readonly name = 'RecordDamaged';
}

/** Whether a cache cannot be used any more: it is damaged or unreadable, or a row is not valid JSON. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof SyntaxError ||
  error instanceof RecordDamaged ||
  sqliteFailureOf(error) === 'damaged' ||
  READ_ERRORS.includes(sqliteCodeOf(error));

export const messageOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Runs a read of the log's file and converts SQLite's errors to those of the port. */
export const readLogFile = <T>(read: () => T): T => {
  try {
    return read();
  } catch (error) {
    const text = messageOfError(error);
    if (sqliteFailureOf(error) === 'damaged') {
      throw new LogCorrupted(
        `the log's file is damaged, or the disk cannot read it: ${text}. Check the disk; restore the file from a backup if it is damaged.`,
        {
          cause: error,
        },
      );
    }
    if (sqliteCodeOf(error) === undefined) throw error;
    throw new LogUnavailable('fault', 'no', `the log cannot be read: ${text}`);
  }
};
