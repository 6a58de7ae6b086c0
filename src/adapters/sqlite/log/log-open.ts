/** Opens log.db, after a look that it is the log it was when it was last acknowledged. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { fileAt } from './log-file.ts';
import { readMark, requireMark } from './log-mark.ts';
import { logReader } from './log-reader.ts';
import { LOG_STORE } from './log-records.ts';
import type { LogHead } from './log-transaction.ts';
import { inspectStore, openStore } from '../open.ts';

// The newest records are the likeliest to be hurt by a crash; all others are for the scrub.
const CHECKED_AT_OPEN = 1_000;

const identityOf = (db: DatabaseSync): string => {
  const id = db.prepare('SELECT id FROM about').get()?.['id'];
  return typeof id === 'string' ? id : '';
};

const headOf = (db: DatabaseSync): LogHead => {
  const row = db
    .prepare('SELECT position, at, seal FROM events ORDER BY position DESC LIMIT 1')
    .get();
  if (!row) return { position: 0, at: null, seal: 0 };
  return { position: Number(row['position']), at: Number(row['at']), seal: Number(row['seal']) };
};

const filled = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.size > 0 || existsSync(`${path}-wal`));
};

export type OpenedLog = {
  db: DatabaseSync;
  id: string;
  head: LogHead;
  /** Which file it is: another one may stand at its path later, or none. */
  file: string | undefined;
};

/** A damaged record met on the way is told as what it means for the operator. */
export const orRefuse = <T>(open: () => T): T => {
  try {
    return open();
  } catch (error) {
    if (error instanceof LogCorrupted) throw new StartupError(error.message, { cause: error });
    throw error;
  }
};

/** Where SQLite keeps the id of the application in the header of a file. */
const ID_AT = 68;

/**
 * Throws StartupError where somebody else's file stands in the place of the log. By its header alone,
 * which leaves nothing beside it, and is not the last word where a write-ahead log is.
 */
export const requireLogFile = (directory: string): void => {
  const path = join(directory, 'log.db');
  if (!filled(path) || existsSync(`${path}-wal`)) return;
  const file = openSync(path, 'r');
  const id = Buffer.alloc(4);
  readSync(file, id, 0, id.length, ID_AT);
  closeSync(file);
  if (id.readUInt32BE() === LOG_STORE.applicationId) return;
  throw new StartupError(
    `${path} is not a Tributary event log. Nothing was changed in it. Choose another data directory, ` +
      'or move the file away.',
  );
};

/**
 * What a start looks at, without changing a byte: that the log is the marked one and as long, and
 * the newest `checked` records. The last position; null where there is no log yet, and none is missed.
 * Throws StartupError.
 */
export const inspectLog = (directory: string, checked = CHECKED_AT_OPEN): number | null => {
  const path = join(directory, 'log.db');
  const mark = readMark(join(directory, 'log.mark'));
  const look = (db: DatabaseSync): number => {
    const { position } = headOf(db);
    const reader = logReader(db, () => position);
    requireMark(mark, { path, id: identityOf(db), position, sealAt: reader.sealAt });
    orRefuse(() => reader.fullRows(Math.max(0, position - checked), checked));
    return position;
  };
  const found = filled(path) ? inspectStore(path, LOG_STORE, look) : null;
  if (found === null) requireMark(mark, { path, id: 'none', position: 0, sealAt: () => undefined });
  return found;
};

export const openLog = (directory: string, checked = CHECKED_AT_OPEN): OpenedLog => {
  inspectLog(directory, checked);
  const path = join(directory, 'log.db');
  const db = openStore(path, LOG_STORE);
  return { db, id: identityOf(db), head: headOf(db), file: fileAt(path) };
};
