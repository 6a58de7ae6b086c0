/** What attempts to send have in common: their limits of time, their retries, and the records of their outcomes. */
import { hash } from 'node:crypto';
import type { AttemptState, OutcomeCommand } from './attempt.decider.ts';
import type { Channel, DeliveryResult } from '#src/ports/delivery.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { decideAndAppend, type Execution } from '#src/writing/decide-and-append.ts';
import type { DomainEvent } from '#src/writing/fold.ts';
import type { Deps } from '#src/calls/call.ts';
import type { SystemCall } from '#src/shared/call.ts';
import { HOUR_MS } from '#src/shared/time.ts';

export type Scheduling = {
  /** Runs `task` after `ms`; the function that it returns cancels it. */
  schedule(task: () => void, ms: number): () => void;
  /** `item` is what waits because of the error, if there is one. */
  onFault(error: unknown, item?: { owner: string; id: string }): void;
};

/** Added to the channel's limit for the time between both events and for clock differences. */
export const MARGIN_MS = 15_000;
/** Why an attempt without a recorded outcome is over. */
export const SENDER_GONE: DeliveryResult = { outcome: 'unknown', reason: 'sender_gone' };
/** How long a channel that exceeds its own limit is awaited. */
const ANSWER_MARGIN_MS = 1_000;
const RECORD_TRIES = 3;
export const RECORD_WAIT_MS = 1_000;

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
  // Derived from the id, so that every process computes the same jitter.
  const chance = Number.parseInt(hash('sha256', `${id}.${attempt}`).slice(0, 8), 16) / 2 ** 32;
  return Math.max(base * (1 + JITTER * chance), retryAfterMs);
};

type Attempted = Pick<AttemptState, 'attempts' | 'uncertain'> & {
  /** The same at each attempt. */
  id: string;
  attemptedAt?: number | undefined;
  /** Whether the receiver ignores a repetition. */
  isRepeatable: boolean;
  /** From then on nothing is sent; epoch milliseconds. */
  notAfter: number;
  now: number;
};

/** Ends without another attempt: failed, unless an earlier attempt may have succeeded. */
export const giveUp = (
  { attempts: attempt, uncertain }: Pick<Attempted, 'attempts' | 'uncertain'>,
  reason: string,
): OutcomeCommand => ({ type: uncertain ? 'LoseTrack' : 'Fail', attempt, reason });

/** What the result of attempt number `attempts` means. */
export const commandAfter = (result: DeliveryResult, attempted: Attempted): OutcomeCommand => {
  const { id, attempts: attempt, isRepeatable, notAfter, now, attemptedAt = now } = attempted;
  if (result.outcome === 'delivered')
    return { type: 'Confirm', attempt, evidence: result.evidence };
  const { outcome, reason } = result;
  if (outcome === 'refused') return giveUp(attempted, reason);
  if (outcome === 'unknown' && !isRepeatable) return { type: 'LoseTrack', attempt, reason };
  const uncertain = attempted.uncertain === true || outcome === 'unknown';
  const wait = backOffMs(id, attempt, 'retryAfterMs' in result ? result.retryAfterMs : 0);
  // An abandoned attempt has waited since it began.
  const from = result === SENDER_GONE ? attemptedAt : now;
  const retryAt = wait === undefined ? Infinity : Math.max(now, Math.round(from + wait));
  if (retryAt >= notAfter) return giveUp({ ...attempted, uncertain }, `gave up: ${reason}`);
  return { type: 'Defer', attempt, reason, retryAt, ...(uncertain && { uncertain }) };
};

/** Delivers, and answers an unknown outcome when the adapter throws or exceeds its time limit. */
export const deliver = async <Delivery>(
  { schedule, onFault }: Scheduling,
  channel: Channel<Delivery>,
  { delivery, signal }: { delivery: Delivery; signal: AbortSignal },
): Promise<DeliveryResult> => {
  const limit = new AbortController();
  const overdue = Promise.withResolvers<DeliveryResult>();
  const endWait = () => overdue.resolve({ outcome: 'unknown', reason: 'timeout' });
  const timers = [
    schedule(() => limit.abort(), channel.limitMs),
    schedule(endWait, channel.limitMs + ANSWER_MARGIN_MS),
  ];
  try {
    const answer = channel.deliver(delivery, AbortSignal.any([signal, limit.signal]));
    return await Promise.race([answer, overdue.promise]);
  } catch (error) {
    onFault(error);
    return { outcome: 'unknown', reason: 'channel_fault' };
  } finally {
    for (const cancel of timers) cancel();
  }
};

/**
 * Writes what is known now, and tries again while the log is unavailable: the decider must reject an event that an earlier
 * try has stored. False when nothing was written.
 */
export const recordOutcome = async <State, Command, E extends DomainEvent, Reason extends string>(
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'clock'> & Pick<Scheduling, 'schedule'>,
  call: SystemCall,
  execution: Execution<State, Command, E, Reason>,
): Promise<boolean> => {
  for (let tries = 1; ; tries += 1) {
    try {
      const written = await decideAndAppend(deps, { ...call, at: deps.clock.now() }, execution);
      return written.ok && written.position !== undefined;
    } catch (error) {
      const isFinal = !(error instanceof LogUnavailable) || error.reason === 'closed';
      if (isFinal || tries === RECORD_TRIES) throw error;
      await new Promise<void>((resolve) => deps.schedule(resolve, RECORD_WAIT_MS));
    }
  }
};
