/** This side of a thread that writes a file: one commit at a time, and never no answer. */
import { Worker } from 'node:worker_threads';
import type { Asked, Place, Told } from './commit-thread.ts';
import type { CommitResult, Records } from './committer.ts';
import { textOf } from '../failure.ts';

export type Commits = {
  /** Resolves when the records are on the disk, or when it is known why they may not be. */
  commit(records: Records): Promise<CommitResult>;
  /** Resolves when nothing overwritten is left in the write-ahead log, or when it is known why not. */
  scrub(): Promise<CommitResult>;
  /** Resolves when the thread has let go of the file. */
  close(): Promise<void>;
};

/**
 * Starts the thread with the first commit: who only reads does not wait for it. `onFault` is told
 * that the file can take no more, also when no commit was there to say so.
 */
export const threadCommits = (place: Place, onFault: (text: string) => void): Commits => {
  let thread: Commits | undefined;
  const started = (): Commits => (thread ??= startThread(place, onFault));
  return {
    commit: (records) => started().commit(records),
    scrub: () => started().scrub(),
    close: async () => thread?.close(),
  };
};

const startThread = (place: Place, onFault: (text: string) => void): Commits => {
  const worker = new Worker(new URL('./commit-thread.ts', import.meta.url), { workerData: place });
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
    if (told.kind === 'checkpoint failed') onFault(told.text);
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
  const ask = (asked: Asked): Promise<CommitResult> =>
    new Promise((resolve) => {
      if (ended !== undefined) {
        resolve(lost(ended, false));
        return;
      }
      settle = resolve;
      worker.ref();
      worker.postMessage(asked);
    });

  return {
    commit: (records) => ask({ kind: 'commit', records }),
    scrub: () => ask({ kind: 'scrub' }),
    async close() {
      worker.ref();
      worker.postMessage({ kind: 'close' } satisfies Asked);
      await exited;
    },
  };
};
