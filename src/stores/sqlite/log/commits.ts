/** The main thread's side of a thread that writes a file: one request at a time, each answered. */
import { Worker } from 'node:worker_threads';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import type { StoreFile, ThreadReply, ThreadRequest } from './commit-thread.ts';
import type { CommitResult, Records } from './committer.ts';

export type Commits = {
  /** Resolves when the records are on the disk, or with the reason why they may not be. */
  commit(records: Records): Promise<CommitResult>;
  /** Resolves when nothing overwritten is left in the write-ahead log, or with the reason. */
  scrub(): Promise<CommitResult>;
  /** Resolves when the indexes of the log are built again, or with the reason. Commits wait meanwhile. */
  rebuild(): Promise<CommitResult>;
  /** Resolves when the thread has closed the file. */
  close(): Promise<void>;
};

/**
 * Starts the thread with the first commit, so that a process that only reads does not wait for it.
 * Calls `onFault` when the file can accept nothing more, also without a commit under way.
 */
export const threadCommits = (file: StoreFile, onFault: (text: string) => void): Commits => {
  let thread: CommitThread | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const request = (what: ThreadRequest): Promise<CommitResult> => {
    const result = turn.then(() => (thread ??= new CommitThread(file, onFault)).request(what));
    turn = result;
    return result;
  };
  return {
    commit: (records) => request({ kind: 'commit', records }),
    scrub: () => request({ kind: 'scrub' }),
    rebuild: () => request({ kind: 'rebuild' }),
    close: async () => thread?.close(),
  };
};

const faultResult = (text: string, committing: boolean): CommitResult => ({
  kind: 'failed',
  failure: 'fault',
  committing,
  text,
});

class CommitThread {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #settle: ((result: CommitResult) => void) | undefined;
  #fault: string | undefined;

  constructor(file: StoreFile, onFault: (text: string) => void) {
    this.#worker = new Worker(new URL('./commit-thread.ts', import.meta.url), { workerData: file });
    this.#worker.on('message', (reply: ThreadReply) => {
      if (reply.kind === 'checkpoint failed') onFault(reply.text);
      else this.#answer(reply);
    });
    this.#worker.on('error', (error) => {
      this.#fault = messageOfError(error);
      onFault(this.#fault);
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#fault ??= 'its thread has ended';
        // It is unknown whether the commit under way reached the disk.
        this.#answer(faultResult(this.#fault, true));
        resolve();
      });
    });
  }

  request(request: ThreadRequest): Promise<CommitResult> {
    if (this.#fault !== undefined) return Promise.resolve(faultResult(this.#fault, false));
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#worker.ref();
      this.#worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage({ kind: 'close' } satisfies ThreadRequest);
    await this.#exited;
  }

  #answer(result: CommitResult): void {
    // The thread keeps the process alive only while a caller waits for a commit.
    this.#worker.unref();
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(result);
  }
}
