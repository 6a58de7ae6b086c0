/** Fills spaces of the embedded store from the embedded log in threads, so that requests do not wait. */
import { availableParallelism, totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { FillControl, FillLimits } from '#projections/engine/fill-control.ts';
import type { FillInThreads, ThreadedFill } from '#projections/engine/fill.ts';
import type { Skip, Skips } from '#projections/engine/fold.ts';
import type { ParkedPartition } from '#projections/engine/target.ts';
import type { Position } from '#src/ports/event-log.ts';
import { ALL_PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { SqliteStore } from '#src/stores/sqlite/rows/read-model.ts';

/** What a thread fills: some partitions of spaces that `file` has, from the log in `directory`. */
export type FillTask = {
  directory: string;
  file: string;
  spaces: readonly Space[];
  skipped: readonly Skip[];
  partitions: readonly number[];
  upTo: Position;
  /** Rows in memory at a time. */
  rowsMax: number;
  heapMb: number;
  limits: FillLimits | undefined;
  /** For turns of the threads that write the file. */
  turns: SharedArrayBuffer;
};

/** Bytes for the rows of a thread, and of one row. */
const ROWS_BYTES_MAX = 400_000_000;
const ROW_BYTES = 600;
/** The share of the memory that is for rows. */
const SHARE_FOR_ROWS = 8;

/** Half of a thread's heap is for garbage: without a limit that takes twice as much again. */
const memoryOf = (threads: number): { rowsMax: number; heapMb: number } => {
  const all = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const bytes = Math.min(ROWS_BYTES_MAX, all / SHARE_FOR_ROWS / threads);
  return { rowsMax: Math.floor(bytes / ROW_BYTES), heapMb: Math.ceil((2 * bytes) / 1e6) + 64 };
};

type Parked = { space: Space; parked: ParkedPartition };

export type FillReport = { share: number } | { parked: readonly Parked[] };

type Threads = {
  /** The directory of the log. */
  directory: string;
  store: Pick<SqliteStore, 'beginBuild' | 'endBuild'>;
  skips: Skips;
  /** Whether requests are served, which need a core for themselves. */
  isServing(): boolean;
};

/** Returns a function that fills new spaces in a file of their own, in a thread for each core, or one less beside requests. */
export const fillsInThreads =
  ({ directory, store, skips, isServing }: Threads): FillInThreads =>
  (fill) => {
    fill.signal?.throwIfAborted();
    const file = store.beginBuild(fill.spaces);
    if (file === undefined) return undefined;
    const count = Math.max(1, availableParallelism() - (isServing() ? 1 : 0));
    const shares = new Array<number>(count).fill(0);
    const { spaces, upTo } = fill;
    const turns = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const shared = { directory, file, spaces, upTo, turns, skipped: skips.list() };
    const task = { ...shared, ...memoryOf(count) };
    const threads = shares.map((_, index) => {
      const partitions = ALL_PARTITIONS.filter((partition) => partition % count === index);
      const limits = limitsOf(fill.control, count);
      return runThread({ ...task, partitions, limits }, fill, (share) => {
        shares[index] = share;
        fill.onProgress(shares.reduce((sum, one) => sum + one, 0) / count);
      });
    });
    const stop = fill.control?.onChange(() => {
      for (const thread of threads) thread.limit(limitsOf(fill.control, count));
    });
    return endTogether(threads, () => {
      stop?.();
      store.endBuild(file);
    });
  };

/** What an operator decided, for each of so many threads. */
const limitsOf = (control: FillControl | undefined, count: number): FillLimits | undefined => {
  if (!control) return undefined;
  const { isPaused, eventsPerSecond } = control.limits;
  return {
    isPaused,
    eventsPerSecond: eventsPerSecond === undefined ? undefined : eventsPerSecond / count,
  };
};

type Thread = {
  parked: Promise<readonly Parked[]>;
  limit(limits: FillLimits | undefined): void;
  end(): Promise<unknown>;
};

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
  { signal }: ThreadedFill,
  onShare: (share: number) => void,
): Thread => {
  const worker = new Worker(new URL('./fill-thread.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: task.heapMb },
  });
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
  const limit = (limits: FillLimits | undefined): void => worker.postMessage(limits);
  return { parked, limit, end: () => worker.terminate() };
};
