/** Opens log.db after checking that it is the log that it was when it was last acknowledged. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type EventLog, LogCorrupted } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { Upcasts } from '#src/stores/event-codec.ts';
import { inspectStore, openStore, openToRead } from '#src/stores/sqlite/open.ts';
import { fileAt } from './log-file.ts';
import { readMark, requireMark } from './log-mark.ts';
import { LogReader } from './log-reader.ts';
import { LOG_STORE } from './log-records.ts';
import type { LogHead } from './log-transaction.ts';

// A crash most likely damages the newest records; `log verify` checks the others.
const RECORDS_CHECKED = 1_000;

export const logIdIn = (db: DatabaseSync): string => {
  const id = db.prepare('SELECT id FROM about').get()?.['id'];
  return typeof id === 'string' ? id : '';
};

export const logHeadIn = (db: DatabaseSync): LogHead => {
  const row = db
    .prepare('SELECT position, at, seal FROM events ORDER BY position DESC LIMIT 1')
    .get();
  if (!row) return { position: 0, at: null, seal: 0 };
  return { position: Number(row['position']), at: Number(row['at']), seal: Number(row['seal']) };
};

const hasContent = (path: string): boolean => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.size > 0 || existsSync(`${path}-wal`));
};

export type LogFile = {
  db: DatabaseSync;
  id: string;
  head: LogHead;
  /** Identity of the file. Later its path can lead to another file or none. */
  file: string | undefined;
};

/** Converts LogCorrupted to StartupError. */
export const refuseDamage = <T>(open: () => T): T => {
  try {
    return open();
  } catch (error) {
    if (error instanceof LogCorrupted) throw new StartupError(error.message, { cause: error });
    throw error;
  }
};

/** Offset of the application_id in the header of a SQLite file. */
const APPLICATION_ID_OFFSET = 68;

/**
 * Throws StartupError if log.db is another application's file. Reads its header only, which creates no
 * file beside it; with a write-ahead log the header proves nothing, and is not checked.
 */
export const requireLogFile = (directory: string): void => {
  const path = join(directory, 'log.db');
  if (!hasContent(path) || existsSync(`${path}-wal`)) return;
  const file = openSync(path, 'r');
  const id = Buffer.alloc(4);
  readSync(file, id, 0, id.length, APPLICATION_ID_OFFSET);
  closeSync(file);
  if (id.readUInt32BE() === LOG_STORE.applicationId) return;
  throw new StartupError(
    `${path} is not a Tributary event log. Nothing was changed in it. Choose another data directory, ` +
      'or move the file away.',
  );
};

/**
 * Checks, without changing a byte, that the log is the marked one and as long, and that its newest
 * `checked` records have no accidental damage. Returns the last position; null if there is no log and no mark of one.
 * Throws StartupError.
 */
export const inspectLog = (directory: string, checked = RECORDS_CHECKED): number | null => {
  const path = join(directory, 'log.db');
  const mark = readMark(join(directory, 'log.mark'));
  const inspect = (db: DatabaseSync): number => {
    const { position } = logHeadIn(db);
    const reader = new LogReader(db, () => position);
    const sealAt = (at: number): number | undefined => reader.sealAt(at);
    requireMark(mark, { path, id: logIdIn(db), position, sealAt });
    refuseDamage(() => reader.fullRows(Math.max(0, position - checked), checked));
    return position;
  };
  const head = hasContent(path) ? inspectStore(path, LOG_STORE, inspect) : null;
  if (head === null) requireMark(mark, { path, id: 'none', position: 0, sealAt: () => undefined });
  return head;
};

/** Opens the log of a data directory, or creates it. Throws StartupError. */
export const openLogFile = (directory: string, checked = RECORDS_CHECKED): LogFile => {
  inspectLog(directory, checked);
  const path = join(directory, 'log.db');
  const db = openStore(path, LOG_STORE);
  return { db, id: logIdIn(db), head: logHeadIn(db), file: fileAt(path) };
};

export type LogSource = Pick<
  EventLog,
  'id' | 'readAll' | 'readFold' | 'readOwnerFold' | 'head' | 'close'
>;

/**
 * Opens the log of a directory; without `upcasts` its events are read as they were written. Throws StartupError if the
 * directory has no log, or not the marked one.
 */
export const sqliteLogSource = (directory: string, upcasts: Upcasts = {}): LogSource => {
  const path = join(directory, 'log.db');
  if (!existsSync(path)) throw new StartupError(`${directory} holds no log`);
  if (inspectStore(path, LOG_STORE, () => true) === null)
    throw new StartupError(`${path} is empty`);
  const db = openToRead(path);
  const id = logIdIn(db);
  // The service may append while a page is read; the page must have all events up to this position.
  let head = 0;
  const reader = new LogReader(db, () => head, upcasts);
  try {
    // The mark is read first: a running service may append, and is then ahead of its mark.
    const mark = readMark(join(directory, 'log.mark'));
    const { position } = logHeadIn(db);
    requireMark(mark, { path, id, position, sealAt: (at) => reader.sealAt(at) });
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    id,
    async head() {
      const { position, at } = logHeadIn(db);
      return { position, at };
    },
    async readAll({ after, limit, types }) {
      head = logHeadIn(db).position;
      return reader.readAll(after, limit, types);
    },
    async readFold({ after, limit }) {
      head = logHeadIn(db).position;
      return reader.page(after, limit);
    },
    async readOwnerFold(owner, { after, limit, upTo = Infinity }) {
      const upToHead = Math.min(upTo, logHeadIn(db).position);
      return reader.foldOwner(owner, { after, upTo: upToHead, limit });
    },
    close: async () => db.close(),
  };
};
