/**
 * The thread that writes log.db, and the one that writes keys.db: while it waits for the disk, reads
 * and answers go on. What it is handed has been decided.
 */
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type CommitResult, committer, type Recording, type Records } from './committer.ts';
import { textOf } from '../failure.ts';
import { KEY_RECORDING, openKeyFile } from '../keys/key-file.ts';
import { checkpointer } from './checkpoint.ts';
import { fileAt } from './log-file.ts';
import { LOG_RECORDING, LOG_STORE } from './log-records.ts';
import { openStore } from '../open.ts';

export type Asked = { kind: 'commit'; records: Records } | { kind: 'scrub' } | { kind: 'close' };

export type Told =
  | CommitResult
  /** A checkpoint failed in a way that leaves what is stored unknown. */
  | { kind: 'checkpoint failed'; text: string };

/** `file` is the one that stood at the path when it was opened first. */
export type Place = { store: keyof typeof STORES; path: string; file: string | undefined };

type Store = { open(path: string): DatabaseSync; recording: Recording };

const STORES = {
  log: { open: (path) => openStore(path, LOG_STORE), recording: LOG_RECORDING },
  keys: { open: openKeyFile, recording: KEY_RECORDING },
} satisfies Record<string, Store>;

const run = (
  { store, path, file }: Place,
  tell: (told: Told) => void,
): ((asked: Asked) => void) => {
  /** Nobody is told of a record that nobody will find at the next start. */
  const requireInPlace = (): void => {
    if (fileAt(path) === file) return;
    throw new Error(`${path} was removed or replaced while the service had it open`);
  };
  requireInPlace();
  const { open, recording } = STORES[store];
  const db = open(path);
  const { commit, scrub } = committer(db, recording, requireInPlace);
  const checkpoint = checkpointer(db, (error) =>
    tell({ kind: 'checkpoint failed', text: textOf(error) }),
  );
  return (asked) => {
    if (asked.kind === 'close') {
      checkpoint.close();
      db.close();
      parentPort?.close();
      return;
    }
    tell(asked.kind === 'scrub' ? scrub() : commit(asked.records));
    checkpoint.touch();
  };
};

parentPort?.on(
  'message',
  run(workerData as Place, (told) => parentPort?.postMessage(told)),
);
