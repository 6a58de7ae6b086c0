/** What an error of node:sqlite means for the file it came from. */
import { LogCorrupted, LogUnavailable } from '#src/ports/event-log.ts';

/** Returns SQLite's extended result code; undefined for an error that is not SQLite's. */
export const sqliteCodeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;

const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;
// A failed write: the file system is full, or a file size limit or a quota was reached.
const IOERR_WRITE = 778;

export type SqliteFailure = 'full' | 'busy' | 'damaged' | 'fault';

/**
 * - full: a write found no space. Nothing of the transaction can reappear, because its last frame, the
 *   one that commits, was not written whole. A failed fsync is not `full`.
 * - busy: another process holds the file.
 * - damaged: the file is not what SQLite wrote.
 * - fault: any other error; after a COMMIT it is unknown whether the transaction is stored.
 */
export const sqliteFailureOf = (error: unknown): SqliteFailure => {
  // An integer beyond 2^53 in one of our columns, which node:sqlite cannot return.
  if (error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE')
    return 'damaged';
  const code = sqliteCodeOf(error);
  if (code === undefined) return 'fault';
  const primary = code & 0xff;
  if (code === IOERR_WRITE || primary === FULL) return 'full';
  if (primary === BUSY || primary === LOCKED) return 'busy';
  return primary === CORRUPT || primary === NOTADB ? 'damaged' : 'fault';
};

/** Whether a cache cannot be used any more: SQLite found damage, or a row is not valid JSON. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof SyntaxError || sqliteFailureOf(error) === 'damaged';

export const messageOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Runs a read of the log's file and converts SQLite's errors to those of the port. */
export const readLogFile = <T>(read: () => T): T => {
  try {
    return read();
  } catch (error) {
    const text = messageOfError(error);
    if (sqliteFailureOf(error) === 'damaged') {
      throw new LogCorrupted(`the log's file is damaged: ${text}. Restore it from a backup.`, {
        cause: error,
      });
    }
    if (sqliteCodeOf(error) === undefined) throw error;
    throw new LogUnavailable('fault', 'no', `the log cannot be read: ${text}`);
  }
};
