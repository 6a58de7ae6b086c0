/** One read to its end. */
import type { StreamingRead } from '@eventstore/db-client';
import { noAnswer } from './failures.ts';
import type { Recorded } from './records.ts';

type Resolved = { event?: Recorded | undefined };

/** All of a read; rejects when nothing comes for `idleMs`, because reads have no deadline. */
export const drained = (
  stream: StreamingRead<Resolved>,
  take: (event: Recorded) => void,
  idleMs: number,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let over = false;
    const finish = (reason?: Error): void => {
      clearTimeout(timer);
      if (reason) reject(reason);
      else resolve();
    };
    const settle = (reason?: Error): void => {
      if (!over) finish(reason);
      over = true;
    };
    const stop = (reason: Error): void => {
      // A read that is cancelled ends as if it were complete.
      over = true;
      // A call that nobody waits for would keep its place at the server. The client takes it back
      // a turn later; until then it counts, or the next ones would come on top of it.
      stream.cancel().catch(() => {});
      setImmediate(() => setImmediate(finish, reason));
    };
    const timer = setTimeout(() => stop(noAnswer(idleMs)), idleMs);
    stream.on('data', ({ event }: Resolved) => {
      if (over) return;
      timer.refresh();
      try {
        if (event) take(event);
      } catch (error) {
        stop(error as Error);
      }
    });
    stream.on('error', settle);
    stream.on('end', () => settle());
  });
