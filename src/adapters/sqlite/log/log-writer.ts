/**
 * The appends that come while a commit is under way share the next one (group commit: 19 times the
 * speed at 256 in flight). No timer: the slower the disk, the more of them share.
 */
import { type AppendResult, LogCorrupted, LogUnavailable } from '#src/ports/event-log.ts';
import type { Commits } from './commits.ts';
import type { CommitResult } from './committer.ts';
import { textOf } from '../failure.ts';
import type { AppendRequest, Decided, logTransaction, Staged } from './log-transaction.ts';

export type WriterOptions = {
  /** 'each': a transaction for every append, to measure what sharing is worth. */
  commit?: 'turn' | 'each';
  /** Bounds how long one turn holds the event loop. */
  appendsInTurnMax?: number;
  queueAppendsMax?: number;
  queueBytesMax?: number;
  /** The disk failed in a way that leaves what is stored unknown. The process should end. */
  onFatal?: (error: Error) => void;
};

const APPENDS_IN_TURN_MAX = 512;
const BYTES_IN_TURN_MAX = 8_388_608;
const QUEUE_APPENDS_MAX = 4_096;
const QUEUE_BYTES_MAX = 67_108_864;

type Waiting = {
  request: AppendRequest;
  bytes: number;
  resolve(result: AppendResult): void;
  reject(error: Error): void;
};

/** The file could not be read to decide by; nothing was begun. */
const UNREADABLE = { kind: 'failed', failure: 'fault', committing: false } as const;

type Parts = {
  transaction: ReturnType<typeof logTransaction>;
  begin: () => Staged;
  /** After the commit and before anybody is answered. */
  committed: (staged: Staged) => void;
};

/**
 * Resolves when all that goes on without waiting has gone on: the events are folded, and on their way
 * to a store far away, before callers take the time to make answers of theirs.
 */
const followersHaveRun = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });

export const logWriter = (commits: Commits, parts: Parts, options: WriterOptions) => {
  const turnMax = options.commit === 'each' ? 1 : (options.appendsInTurnMax ?? APPENDS_IN_TURN_MAX);
  const queueMax = options.queueAppendsMax ?? QUEUE_APPENDS_MAX;
  const bytesMax = options.queueBytesMax ?? QUEUE_BYTES_MAX;
  let queue: Waiting[] = [];
  let queuedBytes = 0;
  let scheduled = false;
  let closing = false;
  let fault: string | undefined;
  let drained: (() => void) | undefined;

  const unavailable = (reason: 'fault' | 'full', applied: 'unknown' | 'no', detail: string) =>
    new LogUnavailable(reason, applied, detail);

  const stop = (text: string): void => {
    if (fault) return;
    fault = `the log stopped writing: ${text}`;
    const left = queue;
    queue = [];
    queuedBytes = 0;
    for (const { reject } of left) reject(unavailable('fault', 'no', fault));
    options.onFatal?.(new Error(fault));
  };

  const failed = (
    batch: Waiting[],
    { failure, committing, text }: Extract<CommitResult, { kind: 'failed' }>,
  ): void => {
    const full = failure === 'full';
    const applied = committing && !full ? 'unknown' : 'no';
    const detail = full ? `no room on the disk: ${text}` : `the log failed: ${text}`;
    for (const { reject } of batch) reject(unavailable(full ? 'full' : 'fault', applied, detail));
    if (!full && (committing || failure !== 'busy')) stop(text);
  };

  const answer = (batch: Waiting[], decided: Decided[]): void => {
    const later: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const result = decided[index];
      if (result instanceof LogCorrupted) waiting.reject(result);
      else if (result === 'later') later.push(waiting);
      else if (result) waiting.resolve(result);
    }
    for (const { bytes } of later) queuedBytes += bytes;
    if (later.length > 0) queue = [...later, ...queue];
  };

  const run = async (batch: Waiting[]): Promise<void> => {
    const staged = parts.begin();
    let decided: Decided[];
    try {
      decided = batch.map(({ request }) => parts.transaction.append(staged, request));
    } catch (error) {
      failed(batch, { ...UNREADABLE, text: textOf(error) });
      return;
    }
    if (staged.records.length > 0) {
      const result = await commits.commit(staged.records);
      if (result.kind === 'failed') {
        failed(batch, result);
        return;
      }
      parts.committed(staged);
      await followersHaveRun();
    }
    answer(batch, decided);
  };

  const turn = async (): Promise<void> => {
    let count = 0;
    let bytes = 0;
    while (count < turnMax && count < queue.length && bytes < BYTES_IN_TURN_MAX) {
      bytes += queue[count]?.bytes ?? 0;
      count += 1;
    }
    queuedBytes -= bytes;
    const batch = queue.splice(0, count);
    if (batch.length > 0) await run(batch);
    if (queue.length > 0) schedule();
    else idle();
  };
  const schedule = (): void => {
    scheduled = true;
    setImmediate(() => void turn());
  };
  const idle = (): void => {
    scheduled = false;
    drained?.();
  };

  return {
    stop,
    stopped: () => fault !== undefined,
    append(request: AppendRequest): Promise<AppendResult> {
      if (closing) return Promise.reject(new LogUnavailable('closed', 'no', 'the log is closed'));
      if (fault) return Promise.reject(unavailable('fault', 'no', fault));
      const bytes = request.events.reduce((sum, event) => sum + event.bytes, 0);
      if (queue.length >= queueMax || queuedBytes + bytes > bytesMax) {
        const detail = `${queue.length} appends (${queuedBytes} bytes) are waiting`;
        return Promise.reject(new LogUnavailable('overloaded', 'no', detail));
      }
      queuedBytes += bytes;
      if (!scheduled) schedule();
      return new Promise((resolve, reject) => {
        queue.push({ request, bytes, resolve, reject });
      });
    },
    /** No more appends; resolves when those that wait are answered. */
    async close(): Promise<void> {
      closing = true;
      if (!scheduled) return;
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
    },
  };
};
