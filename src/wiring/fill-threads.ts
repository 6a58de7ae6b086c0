/** Fills spaces of the embedded store from the embedded log in threads, so that requests do not wait. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { FillInThreads, ThreadedFill } from '#projections/engine/fill.ts';
import type { ParkedPartition } from '#projections/engine/target.ts';
import type { Position } from '#src/ports/event-log.ts';
import { ALL_PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { SqliteStore } from '#src/stores/sqlite/rows/read-model.ts';

/** What a thread fills: some partitions of spaces that `file` has, from the log in `directory`. */
export type FillTask = {
  directory: string;
  file: string;
  spaces: readonly Space[];
  partitions: readonly number[];
  upTo: Position;
};

export type FillReport =
  | { share: number }
  | { parked: readonly { space: Space; parked: ParkedPartition }[] };

/**
 * Returns a function that fills new spaces in a file of their own: at a start, with a thread for each core; while requests are
 * served, with one less. `isServing`: whether they are.
 */
export const fillsInThreads =
  (
    directory: string,
    store: Pick<SqliteStore, 'beginBuild' | 'endBuild'>,
    isServing: () => boolean,
  ): FillInThreads =>
  (fill) => {
    fill.signal?.throwIfAborted();
    const file = store.beginBuild(fill.spaces);
    if (file === undefined) return undefined;
    const count = Math.max(1, availableParallelism() - (isServing() ? 1 : 0));
    const shares = new Array<number>(count).fill(0);
    const threads = shares.map((_, index) => {
      const partitions = ALL_PARTITIONS.filter((partition) => partition % count === index);
      const task: FillTask = { directory, file, partitions, spaces: fill.spaces, upTo: fill.upTo };
      return runThread(task, fill.signal, (share) => {
        shares[index] = share;
        fill.onProgress(shares.reduce((sum, one) => sum + one, 0) / count);
      });
    });
    return endTogether(threads, () => store.endBuild(file));
  };

type Parked = { space: Space; parked: ParkedPartition };
type Thread = { parked: Promise<readonly Parked[]>; end(): Promise<unknown> };

/** What one cannot do, the others need not do either. */
const endTogether = async (
  threads: readonly Thread[],
  onEnd: () => void,
): Promise<readonly Parked[]> => {
  try {
    return (await Promise.all(threads.map(({ parked }) => parked))).flat();
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
    onEnd();
  }
};

const runThread = (
  task: FillTask,
  signal: ThreadedFill['signal'],
  onShare: (share: number) => void,
): Thread => {
  const worker = new Worker(new URL('./fill-thread.ts', import.meta.url), { workerData: task });
  const parked = new Promise<readonly Parked[]>((resolve, reject) => {
    worker.on('message', (report: FillReport) => {
      if ('parked' in report) resolve(report.parked);
      else onShare(report.share);
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the service stopped before the rows were filled')));
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  // It is awaited together with the other threads.
  parked.catch(() => {});
  return { parked, end: () => worker.terminate() };
};
