/** Advances one approved request: reads its state, and sends it when it is due. */
import { hash } from 'node:crypto';
import { outbound, type OutboundCommand } from '#src/domain/outbound.ts';
import { isAtItsEnd, type OutboundState } from '#src/domain/outbound-state.ts';
import type { OutreachChannel } from '#src/domain/outreach.ts';
import type { Channels, DeliveryResult } from '#src/ports/delivery.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { decideAndAppend } from '../events/decide-and-append.ts';
import { foldOf } from '../events/fold.ts';
import type { SystemCall } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { present } from '../shared/present.ts';
import { HOUR_MS } from '../shared/time.ts';
import { judgeChannel } from './channel-health.ts';
import type { Scheduling } from './channel.ts';
import {
  deliver,
  deliveryOf,
  findOpenChannel,
  findPinnedChannel,
  isRepeatable,
} from './channel.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';

export type SendingDeps = Pick<
  Deps,
  'log' | 'ids' | 'streamQueue' | 'clock' | 'readModels' | 'secrets'
> &
  Scheduling & { channels: Channels };

type Work = { deps: SendingDeps; call: SystemCall; stream: string; state: OutboundState };

/** Added to the channel's limit for the time between both events and for clock differences. */
const MARGIN_MS = 15_000;
const GONE = 'sender_gone';
const RECORD_TRIES = 3;
const RECORD_WAIT_MS = 1_000;

/** The schedule that Standard Webhooks recommends: ten attempts over three days. */
const BACK_OFF_MS = [
  5_000,
  300_000,
  1_800_000,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
const JITTER = 0.2;

/** Wait after the attempt in milliseconds, up to a fifth longer than the schedule; undefined after the last. */
export const backOffMs = (id: string, attempt: number, retryAfterMs = 0): number | undefined => {
  const base = BACK_OFF_MS[attempt - 1];
  if (base === undefined) return undefined;
  // Derived from the request, so that every process computes the same jitter.
  const chance = Number.parseInt(hash('sha256', `${id}.${attempt}`).slice(0, 8), 16) / 2 ** 32;
  return Math.max(base * (1 + JITTER * chance), retryAfterMs);
};

const load = async (
  deps: SendingDeps,
  call: SystemCall,
  outboundId: string,
): Promise<Work | undefined> => {
  const stream = streamOf(call.ownerId, 'outbound', outboundId);
  const events = await deps.log.readStream(stream);
  const state = foldOf(outbound, events);
  const correlation = events.findLast(({ type }) => type === 'OutboundApproved')?.meta.request;
  return state && { deps, call: { ...call, ...present({ correlation }) }, stream, state };
};

/**
 * Does what is due now. `next_at` is when to look again, in epoch milliseconds (a time that is not in the future means
 * at once); it is absent when the request is at its end. Throws when the log does.
 */
export const dispatchOutbound = async (
  deps: SendingDeps,
  input: { outbound_id: string },
  call: SystemCall,
): Promise<Outcome<{ next_at?: number }>> => {
  const work = await load(deps, call, input.outbound_id);
  if (!work || isAtItsEnd(work.state)) return done({});
  const step = await nextStep(work);
  if ('wait' in step) return done({ next_at: step.wait });
  const isRecorded =
    'channel' in step ? await attempt(work, step.channel) : await record(work, step.command);
  // If another process was faster, the next look sees its events; the wait prevents a busy loop.
  return done({ next_at: deps.clock.now() + (isRecorded ? 0 : RECORD_WAIT_MS) });
};

type Step = { wait: number } | { command: OutboundCommand } | { channel: OutreachChannel };

const nextStep = async (work: Work): Promise<Step> => {
  const { deps, call, state } = work;
  const { status, uncertain, retry_at, until = 0 } = state;
  const { not_before = 0, not_after } = state.schedule;
  const now = deps.clock.now();
  if (status === 'dispatched' && retry_at === undefined)
    return now < until ? { wait: until } : { command: await recoverAbandoned(work) };
  if (now >= not_after)
    return { command: uncertain ? giveUp(state, 'expired') : { type: 'Expire', at: now } };
  if (status !== 'approved' && status !== 'dispatched') return { wait: not_after };
  const due = retry_at ?? not_before;
  if (now < due) return { wait: Math.min(due, not_after) };
  const found = await findOpenChannel(deps, call.ownerId, state);
  // Resuming wakes the request; until then only its time can run out.
  if ('halted' in found) return { wait: not_after };
  return 'fault' in found ? { command: giveUp(state, found.fault) } : found;
};

/** Ends the request without another attempt: failed, unless an earlier attempt may have succeeded. */
const giveUp = ({ attempts, uncertain }: OutboundState, reason: string): OutboundCommand => ({
  type: uncertain ? 'LoseTrack' : 'Fail',
  attempt: attempts,
  reason,
});

/** The sending process is gone, so the outcome of its attempt is unknown. */
const recoverAbandoned = async ({ deps, call, state }: Work): Promise<OutboundCommand> => {
  const found = await findPinnedChannel(deps, call.ownerId, state);
  // A changed channel stops the next attempt; this attempt went to the pinned one.
  const channel = 'channel' in found ? found.channel : state.via;
  return commandAfter(
    { outcome: 'unknown', reason: GONE },
    { state, channel, now: deps.clock.now() },
  );
};

type Attempted = { state: OutboundState; channel: OutreachChannel; now: number };

/** What the result of attempt number `state.attempts` means for the request. */
const commandAfter = (
  result: DeliveryResult,
  { state, channel, now }: Attempted,
): OutboundCommand => {
  const { attempts: attempt, outbound_id, schedule } = state;
  if (result.outcome === 'delivered')
    return { type: 'Confirm', attempt, evidence: result.evidence };
  const { outcome, reason } = result;
  if (outcome === 'refused') return giveUp(state, reason);
  if (outcome === 'unknown' && !isRepeatable(channel))
    return { type: 'LoseTrack', attempt, reason };
  const uncertain = state.uncertain === true || outcome === 'unknown';
  const wait = backOffMs(outbound_id, attempt, 'retryAfterMs' in result ? result.retryAfterMs : 0);
  // An abandoned attempt has waited since it began.
  const from = reason === GONE ? (state.attempted_at ?? now) : now;
  const retryAt = wait === undefined ? Infinity : Math.max(now, Math.round(from + wait));
  if (retryAt >= schedule.not_after) return giveUp({ ...state, uncertain }, `gave up: ${reason}`);
  return { type: 'Defer', attempt, reason, retryAt, ...(uncertain && { uncertain }) };
};

/**
 * Writes the attempt ahead, sends, and writes the result; only the process whose append succeeds
 * sends. False when nothing was written.
 */
const attempt = async (work: Work, channel: OutreachChannel): Promise<boolean> => {
  const { deps, call, stream } = work;
  const { ownerId, caller } = call;
  const sender = deps.channels[work.state.via.adapter];
  const at = deps.clock.now();
  const until = at + sender.limitMs + MARGIN_MS;
  let envelope = '';
  const written = await decideAndAppend(
    deps,
    { ...call, at },
    {
      stream,
      decider: outbound,
      command: (state) => {
        // Built from the state that is dispatched, so exactly the bytes of this hash are sent.
        envelope = state ? envelopeOf(ownerId, state) : '';
        return { type: 'Dispatch' as const, at, contentSha256: envelopeHash(envelope), until };
      },
    },
  );
  if (!written.ok) {
    const isChanged = 'rejected' in written && written.rejected === 'content_changed';
    return isChanged && record(work, giveUp(work.state, 'content_changed'));
  }
  const { state } = written;
  const result =
    (await holdBack(work, state, at)) ??
    (await deliver(deps, sender, {
      delivery: deliveryOf(deps, ownerId, { state, channel, envelope }),
      signal: caller.signal,
    }));
  await record(work, commandAfter(result, { state, channel, now: deps.clock.now() }));
  await judgeChannel(deps, { ...call, at: deps.clock.now() }, { state, result });
  return true;
};

/**
 * Checks again after the write-ahead event, and answers a result without effect when a halt came
 * before it, the channel changed, the append took too long, or the log cannot be read.
 */
const holdBack = async (
  { deps, call: { ownerId: owner } }: Work,
  state: OutboundState,
  at: number,
): Promise<DeliveryResult | undefined> => {
  try {
    const found = await findOpenChannel(deps, owner, state);
    if ('halted' in found) return { outcome: 'retry', reason: 'halted' };
    if ('fault' in found) return { outcome: 'refused', reason: found.fault };
  } catch (error) {
    deps.onFault(error, { owner, id: state.outbound_id });
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
  return deps.clock.now() > at + MARGIN_MS / 2 ? { outcome: 'retry', reason: 'late' } : undefined;
};

/**
 * Writes what is known, and tries again while the log is unavailable: the decider rejects an event
 * that an earlier try has stored. False when nothing was written.
 */
const record = async (work: Work, command: OutboundCommand): Promise<boolean> => {
  const { deps, call, stream } = work;
  for (let tries = 1; ; tries += 1) {
    try {
      const written = await decideAndAppend(
        deps,
        { ...call, at: deps.clock.now() },
        {
          stream,
          decider: outbound,
          command: (state) => lateConfirmation(state, command) ?? command,
        },
      );
      return written.ok && written.position !== undefined;
    } catch (error) {
      const isFinal = !(error instanceof LogUnavailable) || error.reason === 'closed';
      if (isFinal || tries === RECORD_TRIES) throw error;
      await new Promise<void>((resolve) => deps.schedule(resolve, RECORD_WAIT_MS));
    }
  }
};

/** The confirmation of an attempt that another process has already given up as unknown. */
const lateConfirmation = (
  state: OutboundState | undefined,
  command: OutboundCommand,
): OutboundCommand | undefined =>
  command.type === 'Confirm' &&
  state?.status === 'outcome_unknown' &&
  state.attempts === command.attempt
    ? { type: 'Observe', by: 'dispatcher', outcome: 'confirmed', evidence: command.evidence }
    : undefined;
