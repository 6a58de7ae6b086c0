/** Counts what the log and the stores of rows do. */
import {
  type Append,
  type AppendResult,
  type EventLog,
  replaceAppends,
} from '#src/ports/event-log.ts';
import type {
  AppendOutcome,
  Metrics,
  SendingKind,
  SendingOutcome,
  RoundTrip,
} from '#src/ports/metrics.ts';
import type { RemoteStore } from '#src/ports/read-model.ts';

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

type LogObserver = {
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

/** Wraps a store: counts and times its round trips. `monotonic` is in milliseconds. */
export const observedStore = (
  store: RemoteStore,
  metrics: Pick<Metrics, 'countRoundTrip'>,
  monotonic: () => number,
): RemoteStore => {
  const timed =
    <Args extends unknown[], Answer>(
      kind: RoundTrip['kind'],
      ask: (...args: Args) => Promise<Answer>,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const since = monotonic();
      let outcome: RoundTrip['outcome'] = 'failed';
      try {
        const answer = await ask(...args);
        outcome = 'ok';
        return answer;
      } finally {
        metrics.countRoundTrip({ kind, outcome }, (monotonic() - since) / 1_000);
      }
    };
  return {
    ...store,
    find: timed('read', store.find),
    page: timed('read', store.page),
    load: timed('write', store.load),
    commit: timed('write', store.commit),
  };
};
