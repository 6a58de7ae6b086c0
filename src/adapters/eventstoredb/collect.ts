import type { StreamingRead } from '@eventstore/db-client';
import { noAnswer } from './failures.ts';
import type { Recorded } from './recorded-events.ts';

type Resolved = { event?: Recorded | undefined };

/** Collects the records of a read. Rejects after `idleMs` of silence, because reads have no deadline. */
export const collect = (stream: StreamingRead<Resolved>, idleMs: number): Promise<Recorded[]> =>
  new Promise((resolve, reject) => {
    const records: Recorded[] = [];
    // A cancelled read ends as if it were complete.
    let isCancelled = false;
    const settle = (finish: () => void): void => {
      if (isCancelled) return;
      clearTimeout(timer);
      finish();
    };
    const timer = setTimeout(() => {
      isCancelled = true;
      stream.cancel().catch(() => {});
      // The client frees the call's slot one turn later; rejecting before would exceed the limit.
      setImmediate(() => setImmediate(reject, noAnswer(idleMs)));
    }, idleMs);
    stream.on('data', ({ event }: Resolved) => {
      if (isCancelled) return;
      timer.refresh();
      if (event) records.push(event);
    });
    stream.on('error', (error: Error) => settle(() => reject(error)));
    stream.on('end', () => settle(() => resolve(records)));
  });
