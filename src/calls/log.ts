/**
 * How events get into the log: `serviceLog` for everything that a process appends, and `callLog` for what one call appends,
 * which ends in the first. Each says in order what happens to an append.
 */
import {
  type Append,
  type AppendResult,
  type EventLog,
  expectedRevision,
  LogUnavailable,
  replaceAppends,
  StreamAdvanced,
  type StreamRevision,
  ownerOfStream,
} from '#src/ports/event-log.ts';
import type { Metrics, SendingKind, SendingOutcome } from '#src/ports/metrics.ts';
import type { Call } from '#src/shared/call.ts';
import { type Refusal, Refused } from '#src/shared/outcome.ts';
import { claimKey, type KeyClaimer } from '#src/writing/idempotency.ts';
import type { Timeline } from '#src/writing/timeline.ts';
import { type CredentialState, UNCONFIRMED } from './authenticate.ts';
import { requireCurrent } from './failure.ts';
import type { Deps } from './handlers.ts';

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

type ServiceLogParts = {
  timeline: Pick<Timeline, 'observe' | 'requireAgreement'>;
  metrics: Pick<Metrics, 'countAppend' | 'countSending'> | undefined;
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** Receives the appends of every call, also of a failed one. */
  report?: (append: AppendReport) => void;
};

/**
 * The log of this process, over that of a store. An append
 * 1. is refused while the clock is behind the newest event, unless it is the decision of an operator about that;
 * 2. is stored, or fails;
 * 3. sets the newest time that the clock is compared with;
 * 4. is counted, timed and reported, also when it failed.
 */
export const serviceLog = <Log extends EventLog>(
  store: Log,
  { timeline, metrics, monotonic, report }: ServiceLogParts,
): Log => ({
  ...replaceAppends(store, async (appends) => {
    timeline.requireAgreement(appends);
    const since = monotonic();
    let answer: Pick<AppendReport, 'result' | 'error'> = {};
    try {
      const result = await store.appendAll(appends);
      answer = { result };
      const at = appends.at(-1)?.events.at(-1)?.meta.at;
      if (result.outcome === 'appended' && at !== undefined) {
        timeline.observe({ position: result.position, at });
        countSendings(appends, metrics);
      }
      return result;
    } catch (error) {
      answer = { error };
      throw error;
    } finally {
      const ms = monotonic() - since;
      metrics?.countAppend(answer.result?.outcome ?? 'unavailable', ms / 1_000);
      report?.({ appends, ms, ...answer });
    }
  }),
  async head() {
    const head = await store.head();
    timeline.observe(head);
    return head;
  },
});

const countSendings = (appends: readonly Append[], metrics: ServiceLogParts['metrics']): void => {
  for (const { type } of appends.flatMap(({ events }) => events)) {
    const sending = SENDINGS.get(type);
    if (sending) metrics?.countSending(...sending);
  }
};

type CallLogParts = CredentialParts & Pick<Deps, 'log' | 'ids' | 'acknowledged'>;

type CallGuards = {
  /** Looks the credential up again; undefined for a caller without one. */
  credential?: (() => CredentialState) | undefined;
  /** The stream that the first append claims the call's key for; undefined if the handler claims it, or there is none. */
  keyStream?: string | undefined;
};

export type CallLog = EventLog & {
  /** Whether an append succeeded or may have. Ask after all appends have settled. */
  hasWritten(): boolean;
};

/**
 * The log as one call writes it. An append
 * 1. claims the call's key, if it is the first and the handler does not claim the key itself. Of two concurrent requests with
 *    one key only one writes, and a call that appends nothing uses up no key;
 * 2. looks the credential up again. On a server its rows must have been confirmed within the last second;
 * 3. goes to the log of the process, on condition that the credential has not changed. An embedded log checks that in the
 *    transaction of the append, a server right before each attempt. A change is awaited, and decides the append at step 2;
 * 4. leaves a trace: whether it was written, or may have been, for the answer of a call that fails later; its position, for
 *    the reads of its owner.
 * Visits and audit records use the log of the process and leave no such trace. Throws Refused if the key is another
 * request's, or the credential no longer allows the operation.
 */
export const callLog = (
  parts: CallLogParts,
  call: Call,
  { credential, keyStream }: CallGuards,
): CallLog => {
  const { log, ids, acknowledged } = parts;
  let hasWritten = false;
  let claiming: Promise<Refusal | undefined> | undefined;

  const appendAllowed: EventLog['appendAll'] = async (appends) => {
    for (;;) {
      const conditioned = credential ? await onCondition(parts, credential, appends) : appends;
      try {
        const result = await log.appendAll(conditioned);
        hasWritten ||= result.outcome === 'appended' || result.isPartial === true;
        if (result.outcome === 'appended')
          for (const { stream } of appends)
            acknowledged.note(ownerOfStream(stream), result.position);
        return result;
      } catch (error) {
        hasWritten ||= error instanceof LogUnavailable && error.applied === 'unknown';
        if (!(error instanceof StreamAdvanced)) throw error;
        await requireCurrent(parts);
      }
    }
  };
  const claimer: KeyClaimer = {
    ids,
    log: { readStream: log.readStream, appendAll: appendAllowed },
  };
  return {
    hasWritten: () => hasWritten,
    ...replaceAppends(log, async (appends) => {
      if (keyStream !== undefined) claiming ??= claimKey(claimer, call, keyStream);
      const refusal = await claiming;
      if (refusal) throw new Refused(refusal);
      return appendAllowed(appends);
    }),
  };
};

type CredentialParts = Pick<Deps, 'log' | 'following' | 'confirmation'>;

/** Makes appends that fail if the credential changes before they are stored. Throws Refused if it allows nothing now. */
const onCondition = async (
  { confirmation }: Pick<CredentialParts, 'confirmation'>,
  current: () => CredentialState,
  appends: readonly Append[],
): Promise<Append[]> => {
  const streamsAllowing = async (): Promise<readonly StreamRevision[]> => {
    await confirmation?.awaited();
    if (confirmation?.isRecent() === false) throw new Refused(UNCONFIRMED);
    const { refusal, streams } = current();
    if (refusal) throw new Refused(refusal);
    return streams;
  };
  const unchanged = await streamsAllowing();
  const confirm = async () => void (await streamsAllowing());
  return appends.map(({ expected, ...append }) => ({
    ...append,
    expected: { revision: expectedRevision(expected), unchanged, confirm },
  }));
};
