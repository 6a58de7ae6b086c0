/**
 * The thread that writes log.db or keys.db, so that reads and answers continue while it waits for the
 * disk. The main thread has decided about everything that it receives.
 */
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import { KEY_RECORDING, keyEndReader, openKeyFile } from '#src/stores/sqlite/keys/key-file.ts';
import { openStore } from '#src/stores/sqlite/open.ts';
import {
  Checkpointer,
  type CommitResult,
  Committer,
  type Recording,
  type Records,
} from './committer.ts';
import { fileAt, type LogEnd, type MarkOptions, MarkWriter } from './log-mark.ts';
import { endOf, LOG_RECORDING, LOG_STORE, rebuildIndexes } from './log-file.ts';

export type ThreadRequest =
  | { kind: 'commit'; records: Records }
  | { kind: 'scrub' }
  /** Builds the indexes of the log again. */
  | { kind: 'rebuild' }
  | { kind: 'close' };

export type ThreadReply =
  | CommitResult
  /** A checkpoint failed, and it is unknown what is stored. */
  | { kind: 'checkpoint failed'; text: string };

/** `file` identifies the file that was at the path when it was first opened. Commits move the mark. */
export type StoreFile = {
  store: keyof typeof STORES;
  path: string;
  file: string | undefined;
  mark: MarkOptions;
};

type ThreadStore = {
  open(path: string): DatabaseSync;
  recording: Recording;
  /** Makes the function that returns the end of the file after a commit of these records. */
  endReader(db: DatabaseSync): (records: Records) => LogEnd;
};

const STORES = {
  log: {
    open: (path) => openStore(path, LOG_STORE),
    recording: LOG_RECORDING,
    endReader: () => endOf,
  },
  keys: { open: openKeyFile, recording: KEY_RECORDING, endReader: keyEndReader },
} satisfies Record<string, ThreadStore>;

const serve = (
  { store, path, file, mark }: StoreFile,
  reply: (message: ThreadReply) => void,
): ((request: ThreadRequest) => void) => {
  /** A commit to a replaced file must not be acknowledged. */
  const requireInPlace = (): void => {
    if (fileAt(path) === file) return;
    throw new Error(`${path} was removed or replaced while the service had it open`);
  };
  requireInPlace();
  const { open, recording, endReader } = STORES[store];
  const db = open(path);
  const marks = new MarkWriter(mark);
  const endAfter = endReader(db);
  const committer = new Committer(db, recording, (records) => {
    requireInPlace();
    marks.write(endAfter(records));
  });
  const checkpointer = new Checkpointer(db, (error) =>
    reply({ kind: 'checkpoint failed', text: messageOfError(error) }),
  );
  return (request) => {
    if (request.kind === 'close') {
      checkpointer.close();
      marks.close();
      db.close();
      parentPort?.close();
      return;
    }
    if (request.kind === 'commit') reply(committer.commit(request.records));
    else reply(request.kind === 'scrub' ? committer.scrub() : committer.run(rebuildIndexes));
    checkpointer.schedule();
  };
};

parentPort?.on(
  'message',
  serve(workerData as StoreFile, (message) => parentPort?.postMessage(message)),
);
