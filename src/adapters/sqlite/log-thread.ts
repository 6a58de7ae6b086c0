/**
 * The thread that writes log.db: while it waits for the disk, reads and answers go on. It decides
 * nothing: what it is handed has been decided, and it says what became of it.
 */
import type { SQLInputValue } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Failure } from './failure.ts';
import { failureOf, textOf } from './failure.ts';
import { checkpointer } from './log-checkpoint.ts';
import { fileAt } from './log-file.ts';
import { COLUMN_COUNT, LOG_STORE } from './log-records.ts';
import { openStore } from './open.ts';

/** Values of whole records one after another: a message is copied, and flat it is copied sooner. */
export type Records = SQLInputValue[];

export type Asked = { kind: 'commit'; records: Records } | { kind: 'close' };

export type Told =
  | { kind: 'committed' }
  /** `committing`: the failure met the COMMIT itself. */
  | { kind: 'failed'; failure: Failure; committing: boolean; text: string }
  /** A checkpoint failed in a way that leaves what is stored unknown. */
  | { kind: 'fault'; text: string };

export type Place = { path: string; file: string | undefined };

const run = ({ path, file }: Place, tell: (told: Told) => void): ((asked: Asked) => void) => {
  /** Nobody is told of a record that nobody will find at the next start. */
  const requireInPlace = (): void => {
    if (fileAt(path) === file) return;
    throw new Error(`${path} was removed or replaced while the service had it open`);
  };
  requireInPlace();
  const db = openStore(path, LOG_STORE);
  const insert = db.prepare(`INSERT INTO events VALUES (${Array(COLUMN_COUNT).fill('?').join()})`);
  const checkpoint = checkpointer(db, (error) => tell({ kind: 'fault', text: textOf(error) }));

  const failed = (error: unknown, committing: boolean): Told => {
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
  const commit = (records: Records): Told => {
    let committing = false;
    try {
      db.exec('BEGIN IMMEDIATE');
      for (let at = 0; at < records.length; at += COLUMN_COUNT)
        insert.run(...records.slice(at, at + COLUMN_COUNT));
      committing = true;
      db.exec('COMMIT');
      requireInPlace();
      return { kind: 'committed' };
    } catch (error) {
      return failed(error, committing);
    }
  };
  return (asked) => {
    if (asked.kind === 'close') {
      checkpoint.close();
      db.close();
      parentPort?.close();
      return;
    }
    tell(commit(asked.records));
    checkpoint.touch();
  };
};

parentPort?.on(
  'message',
  run(workerData as Place, (told) => parentPort?.postMessage(told)),
);
