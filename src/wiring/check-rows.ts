/** Compares rows in a thread, so that requests do not wait. */
import { Worker } from 'node:worker_threads';
import {
  checkAllRows,
  type RowCheck,
  type RowCheckOptions,
  checkOwnerRows,
} from '#projections/engine/row-check.ts';
import type { Skip, Skips } from '#projections/engine/fold.ts';
import { foldPages } from '#src/audits/replays.ts';
import type { CheckedRows } from '#src/reading/projections.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';

export type CheckRows = (
  rows: CheckedRows,
  onProgress: (position: Position, rows: number) => void,
) => Promise<RowCheck>;

type Stores = Pick<RowCheckOptions, 'storeOf' | 'skips'> & {
  log: Pick<EventLog, 'readFold' | 'readOwnerFold' | 'head'>;
};

export const rowCheckOf =
  ({ log, skips, storeOf }: Stores): CheckRows =>
  ({ owner, sample }, onProgress) => {
    const options = { log, skips, storeOf, sample, onProgress };
    return owner === undefined
      ? checkAllRows(options)
      : checkOwnerRows(owner, options, (range) => foldPages(log, owner, range));
  };

/** Returns a function that compares rows in a thread, which `parts` ends. */
export const checkInThread = (
  { skips, ...stores }: Omit<CheckTask, 'rows' | 'skipped'> & { skips: Skips },
  parts: AsyncDisposableStack,
): CheckRows => {
  const running = new Set<Worker>();
  parts.defer(async () => {
    for (const worker of running) await worker.terminate();
  });
  return (rows, onProgress) =>
    new Promise((resolve, reject) => {
      const workerData: CheckTask = { ...stores, rows, skipped: skips.list() };
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

/** `file` in the directory holds the rows. */
export type CheckTask = {
  directory: string;
  file: string;
  rows: CheckedRows;
  skipped: readonly Skip[];
};

export type CheckReport = { position: Position; rows: number } | { check: RowCheck };
