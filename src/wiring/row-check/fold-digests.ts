/** The service's side of the thread that folds the log. */
import { Worker } from 'node:worker_threads';
import type { FoldDigests } from '#projections/row-check/fold-digests.ts';
import type { Config } from '#src/config.ts';
import type { FoldReport, FoldTask } from './fold-thread.ts';

/** Returns a function that folds an embedded log in a thread, which `signal` ends; undefined for other logs. */
export const foldDigestsOf = (
  { eventLogUrl, dataDirectory }: Config,
  signal: AbortSignal,
): FoldDigests | undefined =>
  eventLogUrl.startsWith('sqlite:') ? foldInThread(dataDirectory, signal) : undefined;

const foldInThread =
  (directory: string, signal: AbortSignal): FoldDigests =>
  (order, onProgress) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const workerData: FoldTask = { directory, order };
      const worker = new Worker(new URL('./fold-thread.ts', import.meta.url), { workerData });
      const stop = (): void => void worker.terminate();
      signal.addEventListener('abort', stop);
      worker.on('message', (report: FoldReport) => {
        if ('digests' in report) resolve(report.digests);
        else onProgress(report.position);
      });
      worker.on('error', reject);
      worker.on('exit', () => {
        signal.removeEventListener('abort', stop);
        reject(new Error('the service stopped before the log was folded'));
      });
    });
