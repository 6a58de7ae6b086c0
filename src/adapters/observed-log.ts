import type { EventLog, NewEvent } from '#src/ports/event-log.ts';
import type { AppendOutcome, Metrics, SendingOutcome } from '#src/ports/metrics.ts';

/** What became of a sending is an event: whoever appends it has sent. */
const SENDINGS: ReadonlyMap<string, SendingOutcome> = new Map([
  ['OutboundConfirmed', 'confirmed'],
  ['OutboundDeferred', 'deferred'],
  ['OutboundFailed', 'failed'],
  ['OutboundOutcomeUnknown', 'unknown'],
]);

/** The same log; its appends are counted and timed, with `monotonic` in milliseconds. */
export const observedLog = <Log extends EventLog>(
  log: Log,
  metrics: Pick<Metrics, 'appended' | 'sent'>,
  monotonic: () => number,
): Log => {
  const told = (events: readonly NewEvent[]): void => {
    for (const { type } of events) {
      const outcome = SENDINGS.get(type);
      if (outcome !== undefined) metrics.sent(outcome);
    }
  };
  return {
    ...log,
    async append(stream, expected, events) {
      const since = monotonic();
      let outcome: AppendOutcome = 'unavailable';
      try {
        const result = await log.append(stream, expected, events);
        outcome = result.outcome;
        if (outcome === 'appended') told(events);
        return result;
      } finally {
        metrics.appended(outcome, (monotonic() - since) / 1_000);
      }
    },
  };
};
