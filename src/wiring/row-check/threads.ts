/** The service's side of the threads that compare rows. */
import { Worker } from 'node:worker_threads';
import type { CheckRows } from './check-rows.ts';
import type { CheckReport, CheckTask } from './check-thread.ts';

type Stores = Omit<CheckTask, 'rows'> & {
  /** Writes to the file what has changed in memory. */
  flush(): Promise<void>;
};

/** Returns a function that compares rows in a thread, which `parts` ends. */
export const checkInThread = (
  { directory, file, flush }: Stores,
  parts: AsyncDisposableStack,
): CheckRows => {
  const running = new Set<Worker>();
  parts.defer(async () => {
    for (const worker of running) await worker.terminate();
  });
  return async (rows, onProgress) => {
    await flush();
    const workerData: CheckTask = { directory, file, rows };
    const worker = new Worker(new URL('./check-thread.ts', import.meta.url), { workerData });
    running.add(worker);
    return new Promise((resolve, reject) => {
      worker.on('message', (report: CheckReport) => {
        if ('check' in report) resolve(report.check);
        else onProgress(report.position, report.rows);
      });
      worker.on('error', reject);
      worker.on('exit', () => {
        running.delete(worker);
        reject(new Error('the service stopped before all rows were compared'));
      });
    });
  };
};
