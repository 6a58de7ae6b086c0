/** A connection that writes what it is handed, and says what became of it. It decides nothing. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type Failure, failureOf, textOf } from '../failure.ts';

/** Values of whole records one after another: a message is copied, and flat it is copied sooner. */
export type Records = SQLInputValue[];

/** How a record is written. */
export type Recording = { insert: string; columns: number };

export type CommitResult =
  | { kind: 'committed' }
  /** `committing`: the failure met the COMMIT itself. */
  | { kind: 'failed'; failure: Failure; committing: boolean; text: string };

export type Committer = {
  commit(records: Records): CommitResult;
  /** Folds the write-ahead log in and cuts it off, so that nothing overwritten is left in it. */
  scrub(): CommitResult;
};

/** `requireInPlace` throws when nobody will find at the next start what is written now. */
export const committer = (
  db: DatabaseSync,
  { insert: sql, columns }: Recording,
  requireInPlace: () => void = () => {},
): Committer => {
  const insert = db.prepare(sql);
  const fold = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)');

  const failed = (error: unknown, committing: boolean): CommitResult => {
    let failure = failureOf(error);
    try {
      // SQLite rolls back by itself on some errors.
      if (db.isTransaction) db.exec('ROLLBACK');
    } catch {
      // Where the transaction stands is not known any more: no longer a mere lack of room.
      failure = 'fault';
    }
    return { kind: 'failed', failure, committing, text: textOf(error) };
  };

  return {
    commit(records) {
      let committing = false;
      try {
        db.exec('BEGIN IMMEDIATE');
        for (let at = 0; at < records.length; at += columns)
          insert.run(...records.slice(at, at + columns));
        committing = true;
        db.exec('COMMIT');
        requireInPlace();
        return { kind: 'committed' };
      } catch (error) {
        return failed(error, committing);
      }
    },
    scrub() {
      try {
        if (fold.get()?.['busy'] === 0) return { kind: 'committed' };
        const text = 'another process has the file';
        return { kind: 'failed', failure: 'busy', committing: false, text };
      } catch (error) {
        return failed(error, false);
      }
    },
  };
};
