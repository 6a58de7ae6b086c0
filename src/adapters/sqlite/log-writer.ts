/**
 * The appends of one turn of the event loop share one transaction and one fsync (group commit: 19
 * times the speed at 256 in flight). No timer: under load turns fill by themselves.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { AppendResult } from '#src/ports/event-log.ts';
import { LogCorrupted, LogUnavailable } from '#src/ports/event-log.ts';
import { failureOf, reading, textOf } from './failure.ts';
import type { AppendRequest, logTransaction, Staged } from './log-transaction.ts';

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

type Parts = {
  transaction: ReturnType<typeof logTransaction>;
  begin: () => Staged;
  /** After the commit and before anybody is answered. */
  committed: (staged: Staged) => void;
};

export const logWriter = (db: DatabaseSync, parts: Parts, options: WriterOptions) => {
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

  const rollback = (): void => {
    // SQLite rolls back by itself on some errors.
    if (db.isTransaction) reading(() => db.exec('ROLLBACK'));
  };

  const stop = (error: unknown): void => {
    fault = `the log stopped writing: ${textOf(error)}`;
    const left = queue;
    queue = [];
    queuedBytes = 0;
    for (const { reject } of left) reject(unavailable('fault', 'no', fault));
    options.onFatal?.(error instanceof Error ? error : new Error(String(error)));
  };

  const failed = (batch: Waiting[], error: unknown, committing: boolean): void => {
    let failure = failureOf(error);
    try {
      rollback();
    } catch {
      // Where the transaction stands is not known any more: no longer a mere lack of room.
      failure = 'fault';
    }
    const full = failure === 'full';
    const applied = committing && !full ? 'unknown' : 'no';
    const detail = full
      ? `no room on the disk: ${textOf(error)}`
      : `the log failed: ${textOf(error)}`;
    for (const { reject } of batch) reject(unavailable(full ? 'full' : 'fault', applied, detail));
    if (!full && (committing || failure !== 'busy')) stop(error);
  };

  const run = (batch: Waiting[]): void => {
    const staged = parts.begin();
    const before = staged.head.position;
    let committing = false;
    let answers: (AppendResult | LogCorrupted)[];
    try {
      db.exec('BEGIN IMMEDIATE');
      answers = batch.map(({ request }) => parts.transaction.append(staged, request));
      committing = staged.head.position > before;
      db.exec(committing ? 'COMMIT' : 'ROLLBACK');
    } catch (error) {
      failed(batch, error, committing);
      return;
    }
    if (committing) parts.committed(staged);
    for (const [index, { resolve, reject }] of batch.entries()) {
      const answer = answers[index];
      if (answer instanceof LogCorrupted) reject(answer);
      else if (answer) resolve(answer);
    }
  };

  const turn = (): void => {
    let count = 0;
    let bytes = 0;
    while (count < turnMax && count < queue.length && bytes < BYTES_IN_TURN_MAX) {
      bytes += queue[count]?.bytes ?? 0;
      count += 1;
    }
    queuedBytes -= bytes;
    const batch = queue.splice(0, count);
    if (batch.length > 0) run(batch);
    scheduled = queue.length > 0;
    if (scheduled) setImmediate(turn);
    else drained?.();
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
      if (!scheduled) setImmediate(turn);
      scheduled = true;
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
