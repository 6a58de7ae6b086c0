import {
  type Append,
  type AppendResult,
  type EventLog,
  replaceAppends,
} from '#src/ports/event-log.ts';
import type { AppendOutcome, Metrics, SendingKind, SendingOutcome } from '#src/ports/metrics.ts';

/** Appending one of these events is the last step of a sending. */
const SENDINGS: ReadonlyMap<string, readonly [SendingKind, SendingOutcome]> = new Map([
  ['OutboundConfirmed', ['outreach', 'confirmed']],
  ['OutboundDeferred', ['outreach', 'deferred']],
  ['OutboundFailed', ['outreach', 'failed']],
  ['OutboundOutcomeUnknown', ['outreach', 'unknown']],
  ['PushDelivered', ['push', 'confirmed']],
  ['PushDeferred', ['push', 'deferred']],
  ['PushFailed', ['push', 'failed']],
  ['PushOutcomeUnknown', ['push', 'unknown']],
  ['MailSent', ['mail', 'confirmed']],
  ['MailDeferred', ['mail', 'deferred']],
  ['MailFailed', ['mail', 'failed']],
  ['MailOutcomeUnknown', ['mail', 'unknown']],
]);

/** Appends of one call with either their result or the error that it threw. */
export type AppendReport = {
  appends: readonly Append[];
  ms: number;
  result?: AppendResult;
  error?: unknown;
};

export type LogObserver = {
  metrics: Pick<Metrics, 'countAppend' | 'countSending'> | undefined;
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** Receives the appends of every call, also of a failed one. */
  report?: (append: AppendReport) => void;
};

/** Wraps a log: counts and times its appends. */
export const observedLog = <Log extends EventLog>(
  log: Log,
  { metrics, monotonic, report }: LogObserver,
): Log =>
  replaceAppends(log, async (appends) => {
    const since = monotonic();
    let outcome: AppendOutcome = 'unavailable';
    let answer: Pick<AppendReport, 'result' | 'error'> = {};
    try {
      const result = await log.appendAll(appends);
      answer = { result };
      outcome = result.outcome;
      if (outcome === 'appended') countSendings(appends, metrics);
      return result;
    } catch (error) {
      answer = { error };
      throw error;
    } finally {
      const ms = monotonic() - since;
      metrics?.countAppend(outcome, ms / 1_000);
      report?.({ appends, ms, ...answer });
    }
  });

const countSendings = (appends: readonly Append[], metrics: LogObserver['metrics']): void => {
  for (const { type } of appends.flatMap(({ events }) => events)) {
    const sending = SENDINGS.get(type);
    if (sending) metrics?.countSending(...sending);
  }
};
