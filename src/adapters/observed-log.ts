import type { AppendResult, EventLog, NewEvent } from '#src/ports/event-log.ts';
import type { AppendOutcome, Metrics, SendingOutcome } from '#src/ports/metrics.ts';

/** What became of a sending is an event: whoever appends it has sent. */
const SENDINGS: ReadonlyMap<string, SendingOutcome> = new Map([
  ['OutboundConfirmed', 'confirmed'],
  ['OutboundDeferred', 'deferred'],
  ['OutboundFailed', 'failed'],
  ['OutboundOutcomeUnknown', 'unknown'],
]);

/** One append and what became of it: a result, or the error that it threw. */
export type AppendTold = {
  stream: string;
  events: readonly NewEvent[];
  ms: number;
  result?: AppendResult;
  error?: unknown;
};

/**
 * The same log; its appends are counted and timed, with `monotonic` in milliseconds, and told to
 * who writes the lines of the service.
 */
export const observedLog = <Log extends EventLog>(
  log: Log,
  metrics: Pick<Metrics, 'countAppend' | 'countSending'> | undefined,
  monotonic: () => number,
  tell?: (append: AppendTold) => void,
): Log => {
  const told = (events: readonly NewEvent[]): void => {
    for (const { type } of events) {
      const outcome = SENDINGS.get(type);
      if (outcome !== undefined) metrics?.countSending(outcome);
    }
  };
  return {
    ...log,
    async append(stream, expected, events) {
      const since = monotonic();
      let outcome: AppendOutcome = 'unavailable';
      let answer: Pick<AppendTold, 'result' | 'error'> = {};
      try {
        const result = await log.append(stream, expected, events);
        answer = { result };
        outcome = result.outcome;
        if (outcome === 'appended') told(events);
        return result;
      } catch (error) {
        answer = { error };
        throw error;
      } finally {
        const ms = monotonic() - since;
        metrics?.countAppend(outcome, ms / 1_000);
        tell?.({ stream, events, ms, ...answer });
      }
    },
  };
};
