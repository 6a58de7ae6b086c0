/** This side of the thread that writes log.db: one commit at a time, and never no answer. */
import { Worker } from 'node:worker_threads';
import { textOf } from './failure.ts';
import type { Asked, Place, Records, Told } from './log-thread.ts';

export type CommitResult = Exclude<Told, { kind: 'fault' }>;

export type LogCommits = {
  /** Resolves when the records are on the disk, or when it is known why they may not be. */
  commit(records: Records): Promise<CommitResult>;
  /** Resolves when the thread has let go of the file. */
  close(): Promise<void>;
};

/**
 * Starts the thread with the first commit: who only reads does not wait for it. `onFault` is told
 * that the file can take no more, also when no commit was there to say so.
 */
export const logCommits = (place: Place, onFault: (text: string) => void): LogCommits => {
  let thread: LogCommits | undefined;
  return {
    commit: (records) => (thread ??= startThread(place, onFault)).commit(records),
    close: async () => thread?.close(),
  };
};

const startThread = (place: Place, onFault: (text: string) => void): LogCommits => {
  const worker = new Worker(new URL('./log-thread.ts', import.meta.url), { workerData: place });
  const ask = (asked: Asked): void => worker.postMessage(asked);
  let settle: ((result: CommitResult) => void) | undefined;
  let ended: string | undefined;

  const answer = (result: CommitResult): void => {
    // It keeps the process alive for as long as somebody waits for a commit, and no longer.
    worker.unref();
    const resolve = settle;
    settle = undefined;
    resolve?.(result);
  };
  const lost = (text: string, committing: boolean): CommitResult => ({
    kind: 'failed',
    failure: 'fault',
    committing,
    text,
  });
  worker.on('message', (told: Told) => {
    if (told.kind === 'fault') onFault(told.text);
    else answer(told);
  });
  worker.on('error', (error) => {
    ended = textOf(error);
    onFault(ended);
  });
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      ended ??= 'its thread has ended';
      // Whether what it was at came to the disk before, nobody knows.
      answer(lost(ended, true));
      resolve();
    });
  });

  return {
    commit: (records) =>
      new Promise((resolve) => {
        if (ended !== undefined) {
          resolve(lost(ended, false));
          return;
        }
        settle = resolve;
        worker.ref();
        ask({ kind: 'commit', records });
      }),
    async close() {
      worker.ref();
      ask({ kind: 'close' });
      await exited;
    },
  };
};
