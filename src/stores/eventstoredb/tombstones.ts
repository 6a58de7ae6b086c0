import { ANY, type EventStoreDBClient } from '@eventstore/db-client';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { failureOf, isWorthRepeating, readError, textOf } from './failures.ts';
import { type Timing, within, withRetries } from './retries.ts';

/**
 * Hard-deletes a stream: it can never be read from or written to again. Resolves to false if it was
 * deleted before. Throws LogUnavailable; the stream may then be deleted, and a repetition finds out.
 */
export const tombstone = (
  client: EventStoreDBClient,
  { appendRepeatMs: forMs, attemptMs, retryMs }: Timing,
  stream: string,
): Promise<boolean> => {
  const what = `deleting ${stream}`;
  let isPossiblyDone = false;
  const attempt = async (): Promise<boolean> => {
    const options = { expectedRevision: ANY, requiresLeader: true, deadline: attemptMs } as const;
    try {
      await within(attemptMs, client.tombstoneStream(stream, options));
      return true;
    } catch (error) {
      if (failureOf(error) === 'deleted') return isPossiblyDone;
      throw error;
    }
  };
  const onFailure = (error: unknown, isLast: boolean): void => {
    const failure = failureOf(error);
    if (!isWorthRepeating(failure)) throw readError(what, error);
    isPossiblyDone ||= failure === 'lost';
    const applied = isPossiblyDone ? 'unknown' : 'no';
    if (isLast) throw new LogUnavailable('fault', applied, `${what}: ${textOf(error)}`);
  };
  return withRetries(attempt, { forMs, retryMs, onFailure });
};
