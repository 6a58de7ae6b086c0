import type { AppendResult, EventLog, NewEvent } from '#src/ports/event-log.ts';
import type { AppendOutcome, Metrics, SendingOutcome } from '#src/ports/metrics.ts';

/** Appending one of these events is the last step of a sending. */
const SENDINGS: ReadonlyMap<string, SendingOutcome> = new Map([
  ['OutboundConfirmed', 'confirmed'],
  ['OutboundDeferred', 'deferred'],
  ['OutboundFailed', 'failed'],
  ['OutboundOutcomeUnknown', 'unknown'],
]);

/** An append with either its result or the error that it threw. */
export type AppendReport = {
  stream: string;
  events: readonly NewEvent[];
  ms: number;
  result?: AppendResult;
  error?: unknown;
};

export type LogObserver = {
  metrics: Pick<Metrics, 'countAppend' | 'countSending'> | undefined;
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** Receives every append, also a failed one. */
  report?: (append: AppendReport) => void;
};

/** Wraps a log: counts and times its appends. */
export const observedLog = <Log extends EventLog>(
  log: Log,
  { metrics, monotonic, report }: LogObserver,
): Log => ({
  ...log,
  async append(stream, expected, events) {
    const since = monotonic();
    let outcome: AppendOutcome = 'unavailable';
    let answer: Pick<AppendReport, 'result' | 'error'> = {};
    try {
      const result = await log.append(stream, expected, events);
      answer = { result };
      outcome = result.outcome;
      if (outcome === 'appended') countSendings(events, metrics);
      return result;
    } catch (error) {
      answer = { error };
      throw error;
    } finally {
      const ms = monotonic() - since;
      metrics?.countAppend(outcome, ms / 1_000);
      report?.({ stream, events, ms, ...answer });
    }
  },
});

const countSendings = (events: readonly NewEvent[], metrics: LogObserver['metrics']): void => {
  for (const { type } of events) {
    const outcome = SENDINGS.get(type);
    if (outcome !== undefined) metrics?.countSending(outcome);
  }
};
