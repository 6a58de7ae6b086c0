/** Idempotency keys: which request a key belongs to, and the answers that no other stream holds. */
import { LIMITS } from '#contracts/limits.ts';
import type { EventData } from '#contracts/registries/events.ts';
import {
  type Append,
  type StoredEvent,
  type AppendResult,
  type EventLog,
  type Position,
  LogUnavailable,
} from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import type { Call, AgentCaller } from '#src/shared/call.ts';
import type { Decider } from '#src/shared/decider.ts';
import {
  done,
  type Done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
} from '#src/shared/outcome.ts';
import { KeyedQueue } from '#src/shared/work.ts';
import { attribute } from './attribution.ts';
import { keyClaim, type KeyClaimCommand } from './claims.decider.ts';
import { type DomainEvent, foldOf, digestOf } from './streams.ts';

type Claiming<State, Command, E extends DomainEvent, Reason extends string> = {
  stream: string;
  decider: Decider<State, Command, E, Reason>;
  /** All events of the stream, as they were read before. */
  stored: readonly StoredEvent[];
  command: Command;
};

/**
 * Decides on a claim, which its caller appends together with the record that needs it. There is no append if the claim
 * is stored already, so a call that was interrupted after its claim continues.
 */
export const decideClaim = <State, Command, E extends DomainEvent, Reason extends string>(
  ids: Ids,
  call: Call,
  { stream, decider, stored, command }: Claiming<State, Command, E, Reason>,
): { ok: true; appends: readonly Append[] } | { ok: false; rejected: Reason } => {
  const decision = decider.decide(foldOf(decider, stored), command);
  if (!decision.accepted) return { ok: false, rejected: decision.reason };
  if (decision.events.length === 0) return { ok: true, appends: [] };
  const events = attribute(call, decision.events, ids);
  return { ok: true, appends: [{ stream, expected: stored.length - 1, events }] };
};

/** What a call appends events with. */
export type EventWriter = { log: EventLog; ids: Ids; streamQueue: StreamQueue };

/** What claiming a key needs of it. */
export type KeyClaimer = Pick<EventWriter, 'ids'> & {
  log: Pick<EventLog, 'readStream' | 'appendAll'>;
};

/**
 * Hash of what an idempotency key identifies. It covers the agent and not its API key, so that a rotation does not
 * execute a request again; and not the surface, because a retry may come through another one.
 */
export const idemOf = (
  { ownerId, agentId }: Pick<AgentCaller, 'ownerId' | 'agentId'>,
  operation: string,
  idempotencyKey: string,
): string => digestOf(ownerId, agentId, operation, idempotencyKey);

const REUSED =
  'This idempotency key belongs to an earlier request with other content. Use a new key for a new request.';

/** Whether the event is of this very request, whatever generation of the key its fingerprint has. */
export const isSameRequest = ({ meta }: StoredEvent, { fingerprints }: Call): boolean =>
  fingerprints?.some((one) => one === meta.fingerprint) ?? meta.fingerprint === undefined;

/** Refuses a key that the request of event `first` used before. */
export const refuseReusedKey = (first: StoredEvent): Refusal =>
  refuse('idempotency_key_reused', REUSED, {
    extra: {
      first_request: { id: first.meta.request, at: new Date(first.meta.at).toISOString() },
    },
  });

const streamOfKey = ({ ownerId, idem }: Call): string => `${ownerId}-request_${idem}`;

/** Reads the claims of the call's key, in log order; none for a call without a key. */
export const readKeyClaims = async (
  { log }: { log: Pick<EventLog, 'readStream'> },
  call: Call,
): Promise<readonly StoredEvent[]> =>
  call.idem === undefined ? [] : log.readStream(streamOfKey(call));

/** Refuses the call if the first of `claims` is another request's. */
export const refuseOtherRequest = (
  [first]: readonly StoredEvent[],
  call: Call,
): Refusal | undefined =>
  first && !isSameRequest(first, call) ? refuseReusedKey(first) : undefined;

/**
 * Decides on a claim of the call's key after `claims`, which were read before. Returns no append if there is nothing
 * to append: the call has no key, or the key has this claim already.
 */
export const decideKeyClaim = (
  { ids }: Pick<EventWriter, 'ids'>,
  call: Call,
  { claim, claims }: { claim: KeyClaimCommand['claim']; claims: readonly StoredEvent[] },
): readonly Append[] | Refusal => {
  const { idem, fingerprints } = call;
  if (idem === undefined || fingerprints === undefined) return [];
  const command = { type: 'ClaimKey' as const, claim, fingerprints };
  const target = { stream: streamOfKey(call), decider: keyClaim, stored: claims, command };
  const decision = decideClaim(ids, call, target);
  return decision.ok ? decision.appends : (refuseOtherRequest(claims, call) ?? []);
};

/** Appends the claim that `decideKeyClaim` decides on; resolves to undefined if there is nothing to append. */
const appendKeyClaim = async (
  writer: KeyClaimer,
  call: Call,
  claiming: Parameters<typeof decideKeyClaim>[2],
): Promise<AppendResult | Refusal | undefined> => {
  const appends = decideKeyClaim(writer, call, claiming);
  if (isRefusal(appends)) return appends;
  return appends.length === 0 ? undefined : writer.log.appendAll(appends);
};

/**
 * Claims the key for this request and `stream`; resolves to a refusal if it is another request's. Expects a new key, and
 * reads the claims only after a conflict.
 */
export const claimKey = async (
  writer: KeyClaimer,
  call: Call,
  stream: string,
): Promise<Refusal | undefined> => {
  for (let claims: readonly StoredEvent[] = []; ; claims = await readKeyClaims(writer, call)) {
    const result = await appendKeyClaim(writer, call, { claim: { stream }, claims });
    if (isRefusal(result)) return result;
    if (result?.outcome !== 'conflict') return undefined;
  }
};

/** Claims the key as claimKey does; `since` is the position of an earlier attempt of the same request. */
export const claimKeyOrResume = async (
  writer: EventWriter,
  call: Call,
  stream: string,
): Promise<{ ok: true; since?: Position } | Refusal> => {
  const refusal = await claimKey(writer, call, stream);
  if (refusal) return refusal;
  const [first] = await readKeyClaims(writer, call);
  const isFirst = first === undefined || first.meta.request === call.requestId;
  return isFirst ? { ok: true } : { ok: true, since: first.position };
};

const ANSWER_ATTEMPTS_MAX = 8;

const findAnswer = <Value>(claims: readonly StoredEvent[]): Done<Value> | undefined => {
  for (const { data, meta, position } of claims) {
    const { answer } = data as EventData<'RequestBound'>;
    if (answer) return done(answer as Value, { position, replayOf: meta.request });
  }
  return undefined;
};

/**
 * Runs a command whose answer no stream holds, and stores its answer with the key; a retry gets the stored answer.
 * `work` must continue where an earlier attempt stopped. Answers must contain no secrets.
 */
export const answerOnce = async <Value extends Record<string, unknown>>(
  writer: EventWriter,
  call: Call,
  { stream, work }: { stream: string; work: () => Promise<Outcome<Value>> },
): Promise<Outcome<Value>> => {
  const earlier = await readKeyClaims(writer, call);
  const settled = refuseOtherRequest(earlier, call) ?? findAnswer<Value>(earlier);
  if (settled) return settled;
  const outcome = await work();
  if (!outcome.ok) return outcome;
  const claim = { stream, answer: outcome.value };
  for (let attempt = 0; attempt < ANSWER_ATTEMPTS_MAX; attempt++) {
    const claims = await readKeyClaims(writer, call);
    const first = findAnswer<Value>(claims);
    if (first) return first;
    const result = await appendKeyClaim(writer, call, { claim, claims });
    if (isRefusal(result)) return result;
    if (result?.outcome === 'conflict') continue;
    return { ...outcome, ...(result && { position: result.position }) };
  }
  throw new LogUnavailable(
    'overloaded',
    'unknown',
    `too many requests answer ${call.operation} with one key at once`,
  );
};

/** Longest pause before the second attempt, and before any later one, in milliseconds. */
const PAUSE_MS = 10;
const PAUSE_MS_MAX = 160;

type Options = {
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** A number from 0 to 1, so that processes that conflict pause for different times. */
  random(): number;
  /** Resolves after `ms`. */
  pause(ms: number): Promise<void>;
};

/**
 * Resolves to true when an attempt may begin: the first at once, each later one after a random pause. Resolves to false
 * when LIMITS.HANDLER_WAIT_MS have passed since the command was queued.
 */
type MayAttempt = () => Promise<boolean>;

/**
 * Orders the commands of this process on each stream, so that they never conflict with each other: n commands at once
 * cost n appends, where concurrent attempts cost up to n² / 2. Conflicts with other processes remain and are repeated.
 */
export class StreamQueue {
  readonly #options: Options;
  readonly #queue = new KeyedQueue();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Runs `command` after the earlier commands on `stream`. A command must not queue another one on its own stream. */
  run<Result>(
    stream: string,
    command: (mayAttempt: MayAttempt) => Promise<Result>,
  ): Promise<Result> {
    const mayAttempt = this.#attempts();
    return this.#queue.run(stream, () => command(mayAttempt));
  }

  #attempts(): MayAttempt {
    const { monotonic, random, pause } = this.#options;
    const end = monotonic() + LIMITS.HANDLER_WAIT_MS;
    let attempts = 0;
    return async () => {
      if (attempts > 0)
        await pause(random() * Math.min(PAUSE_MS * 2 ** (attempts - 1), PAUSE_MS_MAX));
      attempts += 1;
      return monotonic() < end;
    };
  }
}
