/** The service's side of the threads that compare rows. */
import { Worker } from 'node:worker_threads';
import type { CheckRows } from './check-rows.ts';
import type { CheckReport, CheckTask } from './check-thread.ts';

/**
 * Returns a function that compares rows in a thread, which `parts` ends. The newest changes, which are in memory for a
 * moment, are not compared.
 */
export const checkInThread = (
  stores: Omit<CheckTask, 'rows'>,
  parts: AsyncDisposableStack,
): CheckRows => {
  const running = new Set<Worker>();
  parts.defer(async () => {
    for (const worker of running) await worker.terminate();
  });
  return (rows, onProgress) =>
    new Promise((resolve, reject) => {
      const workerData: CheckTask = { ...stores, rows };
      const worker = new Worker(new URL('./check-thread.ts', import.meta.url), { workerData });
      running.add(worker);
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
