/** Opens log.db, after a look that it is the log it was when it was last acknowledged. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { readMark, requireMark } from './log-mark.ts';
import { logReader } from './log-reader.ts';
import { LOG_STORE } from './log-records.ts';
import type { LogHead } from './log-transaction.ts';
import { inspectStore, openStore } from './open.ts';

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

const filled = (path: string): boolean =>
  existsSync(path) && (statSync(path).size > 0 || existsSync(`${path}-wal`));

export type OpenedLog = { db: DatabaseSync; id: string; head: LogHead };

/** A damaged record met on the way is told as what it means for the operator. */
export const orRefuse = <T>(open: () => T): T => {
  try {
    return open();
  } catch (error) {
    if (error instanceof LogCorrupted) throw new StartupError(error.message, { cause: error });
    throw error;
  }
};

export const openLog = (directory: string, checked = CHECKED_AT_OPEN): OpenedLog => {
  const path = join(directory, 'log.db');
  const mark = readMark(join(directory, 'log.mark'));
  const empty = { path, id: 'none', position: 0, sealAt: () => undefined };
  const look = (db: DatabaseSync): true => {
    const { position } = headOf(db);
    const reader = logReader(db, () => position);
    requireMark(mark, { path, id: identityOf(db), position, sealAt: reader.sealAt });
    orRefuse(() => reader.fullRows(Math.max(0, position - checked), checked));
    return true;
  };
  if (!filled(path) || inspectStore(path, LOG_STORE, look) === null) requireMark(mark, empty);
  const db = openStore(path, LOG_STORE);
  return { db, id: identityOf(db), head: headOf(db) };
};
