/** A connection that writes the records it is given and reports the result. It decides nothing. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { messageOfError, type SqliteFailure, sqliteFailureOf } from '#src/stores/sqlite/failure.ts';

/** The values of whole records in one flat array, which a message to a thread copies fastest. */
export type Records = SQLInputValue[];

/** How a record is written. */
export type Recording = { insert: string; columns: number };

export type CommitResult =
  | { kind: 'committed' }
  /** `committing`: the failure occurred in the COMMIT itself. */
  | { kind: 'failed'; failure: SqliteFailure; committing: boolean; text: string };

export class Committer {
  readonly #db: DatabaseSync;
  readonly #columns: number;
  readonly #onCommitted: (records: Records) => void;
  readonly #insert;
  readonly #truncate;

  /** `onCommitted` runs before the result of a commit is returned; if it throws, the outcome is unknown. */
  constructor(
    db: DatabaseSync,
    { insert, columns }: Recording,
    onCommitted: (records: Records) => void = () => {},
  ) {
    this.#db = db;
    this.#columns = columns;
    this.#onCommitted = onCommitted;
    this.#insert = db.prepare(insert);
    this.#truncate = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Writes all records in one transaction. */
  commit(records: Records): CommitResult {
    let committing = false;
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      for (let at = 0; at < records.length; at += this.#columns)
        this.#insert.run(...records.slice(at, at + this.#columns));
      committing = true;
      this.#db.exec('COMMIT');
      this.#onCommitted(records);
      return { kind: 'committed' };
    } catch (error) {
      return this.#failed(error, committing);
    }
  }

  /** Runs work that is a transaction of its own. */
  run(work: (db: DatabaseSync) => void): CommitResult {
    try {
      work(this.#db);
      return { kind: 'committed' };
    } catch (error) {
      return this.#failed(error, false);
    }
  }

  /** Merges and truncates the write-ahead log, so that nothing overwritten is left in it. */
  scrub(): CommitResult {
    try {
      if (this.#truncate.get()?.['busy'] === 0) return { kind: 'committed' };
      const text = 'another process has the file';
      return { kind: 'failed', failure: 'busy', committing: false, text };
    } catch (error) {
      return this.#failed(error, false);
    }
  }

  #failed(error: unknown, committing: boolean): CommitResult {
    let failure = sqliteFailureOf(error, this.#db.location());
    try {
      // SQLite rolls back by itself on some errors.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    } catch {
      // The state of the transaction is unknown, which is worse than a lack of space.
      failure = 'fault';
    }
    return { kind: 'failed', failure, committing, text: messageOfError(error) };
  }
}

const PAGES = 1_000;

/**
 * Merges the write-ahead log into log.db after a commit was answered. SQLite's own checkpoint runs inside the commit
 * and hides a failed fsync, after which the contents of the file are unknown.
 */
export class Checkpointer {
  readonly #db: DatabaseSync;
  readonly #onFault: (error: unknown) => void;
  readonly #measure;
  readonly #merge;
  #isScheduled = false;
  #isClosed = false;

  constructor(db: DatabaseSync, onFault: (error: unknown) => void) {
    this.#db = db;
    this.#onFault = onFault;
    db.exec('PRAGMA wal_autocheckpoint = 0');
    this.#measure = db.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#merge = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Checks in the next turn whether the write-ahead log is long enough to merge. */
  schedule(): void {
    if (!this.#isScheduled) setImmediate(() => this.#run());
    this.#isScheduled = true;
  }

  close(): void {
    this.#isClosed = true;
  }

  #run(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    try {
      const wal = this.#measure.get();
      if (Number(wal?.['log']) - Number(wal?.['checkpointed']) >= PAGES) this.#merge.get();
    } catch (error) {
      // Without space the write-ahead log keeps everything; the next commit tries again.
      const failure = sqliteFailureOf(error, this.#db.location());
      if (failure !== 'full' && failure !== 'busy') this.#onFault(error);
    }
  }
}
