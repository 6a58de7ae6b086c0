/**
 * Folds the write-ahead log into log.db, after the answers of a commit and not inside it: SQLite's
 * own checkpoint hides a failed fsync, and what such a file holds afterwards nobody knows.
 */
import type { DatabaseSync } from 'node:sqlite';
import { failureOf } from '../failure.ts';

const PAGES = 1_000;

export const checkpointer = (db: DatabaseSync, onFault: (error: unknown) => void) => {
  db.exec('PRAGMA wal_autocheckpoint = 0');
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const fold = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let scheduled = false;
  let closed = false;
  const run = (): void => {
    scheduled = false;
    if (closed) return;
    try {
      const wal = look.get();
      if (Number(wal?.['log']) - Number(wal?.['checkpointed']) >= PAGES) fold.get();
    } catch (error) {
      // Without room the write-ahead log keeps all; the next commit tries again.
      const failure = failureOf(error);
      if (failure !== 'full' && failure !== 'busy') onFault(error);
    }
  };
  return {
    touch(): void {
      if (!scheduled) setImmediate(run);
      scheduled = true;
    },
    close(): void {
      closed = true;
    },
  };
};
