/**
 * Merges the write-ahead log into log.db after a commit was answered. SQLite's own checkpoint runs
 * inside the commit and hides a failed fsync, after which the contents of the file are unknown.
 */
import type { DatabaseSync } from 'node:sqlite';
import { sqliteFailureOf } from '#src/stores/sqlite/failure.ts';

const PAGES = 1_000;

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
