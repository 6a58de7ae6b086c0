/** Hard deletes: nothing can be read from the stream any more, nor written to it, for ever. */
import { setTimeout as delay } from 'node:timers/promises';
import { ANY, type EventStoreDBClient } from '@eventstore/db-client';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { failureOf, isWorthRepeating, noAnswer, readError, textOf } from './failures.ts';
import { type Timing, waits } from './timing.ts';

/**
 * Resolves when it is deleted; false when somebody else had done it before. Throws LogUnavailable:
 * then it may be deleted, and doing it again finds out.
 */
export const tombstones = (client: EventStoreDBClient, timing: Timing) => {
  const once = (stream: string): Promise<unknown> => {
    // The deadline is on its way with the call; a connection that is open at one end hears of none.
    const { attemptMs } = timing;
    const sent = client.tombstoneStream(stream, {
      expectedRevision: ANY,
      requiresLeader: true,
      deadline: attemptMs,
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(noAnswer(attemptMs)), attemptMs);
      sent.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  };
  return async (stream: string): Promise<boolean> => {
    const until = performance.now() + timing.appendRepeatMs;
    const pauses = waits(timing.retryMs);
    let maybe = false;
    for (;;) {
      try {
        await once(stream);
        return true;
      } catch (error) {
        const kind = failureOf(error);
        if (kind === 'deleted') return maybe;
        const what = `deleting ${stream}`;
        if (!isWorthRepeating(kind)) throw readError(what, error);
        maybe ||= kind === 'lost';
        const pause = pauses.next();
        if (performance.now() + pause >= until)
          throw new LogUnavailable('fault', maybe ? 'unknown' : 'no', `${what}: ${textOf(error)}`);
        await delay(pause);
      }
    }
  };
};
