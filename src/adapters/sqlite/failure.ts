/** What an error of node:sqlite means for the log. */
import { LogCorrupted, LogUnavailable } from '#src/ports/event-log.ts';

/** SQLite's extended result code; undefined when the error is not SQLite's. */
export const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;

const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;
// A write that failed: no space seen by the file system, a file size limit, a quota.
const IOERR_WRITE = 778;

export type Failure = 'full' | 'busy' | 'damaged' | 'fault';

/**
 * - full: a write found no room. Nothing of the transaction can come back: its last frame, the one
 *   that commits, was not written whole. A failed fsync is not among these.
 * - busy: another process held the file.
 * - damaged: the file is not what SQLite wrote.
 * - fault: anything else of SQLite; in a COMMIT, nobody knows.
 */
export const failureOf = (error: unknown): Failure => {
  // An integer beyond 2^53 in a column of ours: node:sqlite cannot hand it out.
  if (error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE')
    return 'damaged';
  const code = codeOf(error);
  if (code === undefined) return 'fault';
  if (code === IOERR_WRITE || (code & 0xff) === FULL) return 'full';
  if ((code & 0xff) === BUSY || (code & 0xff) === LOCKED) return 'busy';
  return (code & 0xff) === CORRUPT || (code & 0xff) === NOTADB ? 'damaged' : 'fault';
};

/** The contents of a cache cannot be used: not what SQLite wrote, or a row that is no JSON any more. */
export const isDamage = (error: unknown): error is Error =>
  error instanceof SyntaxError || failureOf(error) === 'damaged';

export const textOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Runs a read; errors of the file come out as the port's. */
export const reading = <T>(read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (failureOf(error) === 'damaged') {
      throw new LogCorrupted(
        `the log's file is damaged: ${textOf(error)}. Restore it from a backup.`,
        {
          cause: error,
        },
      );
    }
    if (codeOf(error) === undefined) throw error;
    throw new LogUnavailable('fault', 'no', `the log cannot be read: ${textOf(error)}`);
  }
};
