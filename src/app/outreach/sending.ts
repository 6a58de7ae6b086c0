/** One look at one request: what is due is done, with the log written before and after. */
import { hash } from 'node:crypto';
import { outbound, type OutboundCommand } from '#src/domain/outbound.ts';
import { isAtItsEnd, type OutboundState } from '#src/domain/outbound-state.ts';
import type { OutreachChannel } from '#src/domain/outreach.ts';
import type { Channels, DeliveryResult } from '#src/ports/delivery.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { Call } from '../pipeline/call.ts';
import { decideAndAppend } from '../events/decide-and-append.ts';
import { foldOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { streamOf } from '../records/streams.ts';
import { HOUR_MS } from '../shared/time.ts';
import type { Scheduling } from './channel.ts';
import { channelOf, deliver, deliveryOf, isRepeatable, judgeChannel, wayOf } from './channel.ts';
import { envelopeHash, envelopeOf } from './envelope.ts';

export type SendingDeps = Pick<Deps, 'log' | 'ids' | 'clock' | 'readModels' | 'secrets'> &
  Scheduling & { channels: Channels };

/** An open request, and the signal that cuts its sending off. */
export type Looked = { owner: string; id: string; signal: AbortSignal };

/** Between the write-ahead and the end of sending, beyond the channel's limit; clocks differ, too. */
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

/** Wait after the attempt in milliseconds, up to a fifth longer than the schedule; undefined: no more. */
export const backOffMs = (id: string, attempt: number, retryAfterMs = 0): number | undefined => {
  const base = BACK_OFF_MS[attempt - 1];
  if (base === undefined) return undefined;
  // Chance that needs no source of it: each request has its own, the same whoever computes it.
  const chance = Number.parseInt(hash('sha256', `${id}.${attempt}`).slice(0, 8), 16) / 2 ** 32;
  return Math.max(base * (1 + JITTER * chance), retryAfterMs);
};

type Read = { state: OutboundState; correlation?: string };

const read = async ({ log }: SendingDeps, { owner, id }: Looked): Promise<Read | undefined> => {
  const stored = await log.readStream(streamOf(owner, 'outbound', id));
  const state = foldOf(outbound, stored);
  const correlation = stored.findLast(({ type }) => type === 'OutboundApproved')?.meta.request;
  return state && { state, ...(correlation !== undefined && { correlation }) };
};

/**
 * Does what is due now. Answers when to look again (epoch milliseconds, now or before for at once),
 * or undefined at the request's end. Throws when the log gives no answer.
 */
export const lookAt = async (deps: SendingDeps, looked: Looked): Promise<number | undefined> => {
  const found = await read(deps, looked);
  if (!found || isAtItsEnd(found.state)) return undefined;
  const step = await stepOf(deps, looked, found);
  if ('wait' in step) return step.wait;
  const isDone =
    'attempt' in step
      ? await attempt(deps, looked, found, step.attempt)
      : await record(deps, looked, found, step.command);
  // Whoever was faster has changed what the next look sees; and if nobody has, it must not spin.
  return deps.clock.now() + (isDone ? 0 : RECORD_WAIT_MS);
};

type Step = { wait: number } | { command: OutboundCommand } | { attempt: OutreachChannel };

const stepOf = async (deps: SendingDeps, looked: Looked, { state }: Read): Promise<Step> => {
  const { status, uncertain, retry_at, until = 0 } = state;
  const { not_before = 0, not_after } = state.schedule;
  const now = deps.clock.now();
  if (status === 'dispatched' && retry_at === undefined)
    return now < until ? { wait: until } : { command: await abandoned(deps, looked, state) };
  if (now >= not_after)
    return { command: uncertain ? finish(state, 'expired') : { type: 'Expire', at: now } };
  if (status !== 'approved' && status !== 'dispatched') return { wait: not_after };
  const due = retry_at ?? not_before;
  if (now < due) return { wait: Math.min(due, not_after) };
  const way = await wayOf(deps, looked.owner, state);
  // Whoever resumes wakes it; until then only its end can come.
  if ('halted' in way) return { wait: not_after };
  return 'fault' in way ? { command: finish(state, way.fault) } : { attempt: way.channel };
};

/** Over without another attempt: failed, unless an earlier one may have had its effect. */
const finish = ({ attempts, uncertain }: OutboundState, reason: string): OutboundCommand => ({
  type: uncertain ? 'LoseTrack' : 'Fail',
  attempt: attempts,
  reason,
});

/** Its sender is gone, and nobody knows how far it came. */
const abandoned = async (
  deps: SendingDeps,
  { owner }: Looked,
  state: OutboundState,
): Promise<OutboundCommand> => {
  const found = await channelOf(deps, owner, state);
  // Another channel stops the next attempt; of this one, only what was pinned is known.
  const channel: OutreachChannel = 'channel' in found ? found.channel : state.via;
  return after(state, channel, { outcome: 'unknown', reason: GONE }, deps.clock.now());
};

/** What the result means for the request, whose `attempts` count this one. */
const after = (
  state: OutboundState,
  channel: OutreachChannel,
  result: DeliveryResult,
  now: number,
): OutboundCommand => {
  const { attempts: attempt, outbound_id, schedule } = state;
  if (result.outcome === 'delivered')
    return { type: 'Confirm', attempt, evidence: result.evidence };
  const { outcome, reason } = result;
  if (outcome === 'refused') return finish(state, reason);
  if (outcome === 'unknown' && !isRepeatable(channel))
    return { type: 'LoseTrack', attempt, reason };
  const uncertain = state.uncertain === true || outcome === 'unknown';
  const wait = backOffMs(outbound_id, attempt, 'retryAfterMs' in result ? result.retryAfterMs : 0);
  // What an abandoned attempt waited for, it has waited already.
  const from = reason === GONE ? (state.attempted_at ?? now) : now;
  const retryAt = wait === undefined ? Infinity : Math.max(now, Math.round(from + wait));
  if (retryAt >= schedule.not_after) return finish({ ...state, uncertain }, `gave up: ${reason}`);
  return { type: 'Defer', attempt, reason, retryAt, ...(uncertain && { uncertain }) };
};

/** Write-ahead, send, write what became of it. Only the winner of the write-ahead sends. */
const attempt = async (
  deps: SendingDeps,
  looked: Looked,
  found: Read,
  channel: OutreachChannel,
): Promise<boolean> => {
  const sender = deps.channels[found.state.via.adapter];
  const at = deps.clock.now();
  const until = at + sender.limitMs + MARGIN_MS;
  let envelope = '';
  const written = await decideAndAppend(deps, callOf(deps, looked, found, at), {
    stream: streamOf(looked.owner, 'outbound', looked.id),
    decider: outbound,
    command: (state) => {
      // Of the very state that is dispatched, hashed anew: these bytes, and no others, leave.
      envelope = state ? envelopeOf(looked.owner, state) : '';
      return { type: 'Dispatch' as const, at, contentSha256: envelopeHash(envelope), until };
    },
  });
  if (!written.ok) {
    const isChanged = 'rejected' in written && written.rejected === 'content_changed';
    return isChanged && record(deps, looked, found, finish(found.state, 'content_changed'));
  }
  const { state } = written;
  const result =
    (await heldBack(deps, looked, state, at)) ??
    (await deliver(
      deps,
      sender,
      deliveryOf(deps, looked.owner, { state, channel, envelope }),
      looked.signal,
    ));
  await record(deps, looked, found, after(state, channel, result, deps.clock.now()));
  await judgeChannel(deps, callOf(deps, looked, found, deps.clock.now()), state, result);
  return true;
};

/**
 * A halt that stands in the log before the write-ahead stops it; so does a write-ahead that took too
 * long, and a log that does not say. Until it is delivered, that it had no effect is certain.
 */
const heldBack = async (
  deps: SendingDeps,
  looked: Looked,
  state: OutboundState,
  at: number,
): Promise<DeliveryResult | undefined> => {
  try {
    const way = await wayOf(deps, looked.owner, state);
    if ('halted' in way) return { outcome: 'retry', reason: 'halted' };
    if ('fault' in way) return { outcome: 'refused', reason: way.fault };
  } catch (error) {
    deps.onFault(error, looked);
    return { outcome: 'retry', reason: 'log_unavailable' };
  }
  return deps.clock.now() > at + MARGIN_MS / 2 ? { outcome: 'retry', reason: 'late' } : undefined;
};

const callOf = (
  { ids }: SendingDeps,
  { owner }: Looked,
  { correlation }: Read,
  at: number,
): Call => ({
  ownerId: owner,
  actor: 'system',
  surface: 'system',
  operation: 'dispatchOutbound',
  requestId: ids.uuid(),
  ...(correlation !== undefined && { correlation }),
  at,
});

/**
 * Writes what is known, again while the log gives no answer: what it has taken already the decider
 * refuses, and that is well. False when nothing was written.
 */
const record = async (
  deps: SendingDeps,
  looked: Looked,
  found: Read,
  command: OutboundCommand,
): Promise<boolean> => {
  for (let tries = 1; ; tries += 1) {
    try {
      const written = await decideAndAppend(deps, callOf(deps, looked, found, deps.clock.now()), {
        stream: streamOf(looked.owner, 'outbound', looked.id),
        decider: outbound,
        command: (state) => observed(state, command) ?? command,
      });
      return written.ok && written.position !== undefined;
    } catch (error) {
      const isOver = !(error instanceof LogUnavailable) || error.reason === 'closed';
      if (isOver || tries === RECORD_TRIES) throw error;
      await new Promise<void>((resolve) => deps.schedule(resolve, RECORD_WAIT_MS));
    }
  }
};

/** The answer came after somebody else had given the attempt up for lost: it is known after all. */
const observed = (
  state: OutboundState | undefined,
  command: OutboundCommand,
): OutboundCommand | undefined =>
  command.type === 'Confirm' &&
  state?.status === 'outcome_unknown' &&
  state.attempts === command.attempt
    ? { type: 'Observe', by: 'dispatcher', outcome: 'confirmed', evidence: command.evidence }
    : undefined;
