import type { EventData } from '#contracts/registries/events.ts';
import type { Decider } from '#src/shared/decider.ts';
import { type Append, NO_STREAM, type Position, type StoredEvent } from '#src/ports/event-log.ts';
import type { Call } from '#src/calls/call.ts';
import { type Done, isRefusal, type Refusal, refuse } from '#src/shared/outcome.ts';
import { attribute } from './attribution.ts';
import { type DomainEvent, foldAt, foldOf } from './fold.ts';
import {
  decideKeyClaim,
  readKeyClaims,
  refuseOtherRequest,
  refuseReusedKey,
  type EventWriter,
} from './idempotency.ts';

const CONTENDED = refuse('overloaded', 'Too many writers on this record at once.', {
  retryAfterS: 1,
});

/** The effect of an accepted command. */
export type Written<State> = {
  ok: true;
  /** The state after the command, also when the answer is a replay. */
  state: State;
  /** The state before the command, also when the answer is a replay; undefined if the stream did not exist. */
  before?: State | undefined;
  /** Position of the last event; undefined if no event was necessary. */
  position?: Position;
  /** Id of the earlier request that had this effect, if it was not this one. */
  replayOf?: string;
};

/** The members that the answer to every write has: its position and the earlier request. */
export const traceOf = ({
  position,
  replayOf,
}: Pick<Written<unknown>, 'position' | 'replayOf'>): Pick<
  Done<unknown>,
  'position' | 'replayOf'
> => ({
  ...(position !== undefined && { position }),
  ...(replayOf !== undefined && { replayOf }),
});

export type RejectedBy<Reason extends string> = { ok: false; rejected: Reason; detail: string };

type Target<State, Command, E extends DomainEvent, Reason extends string> = {
  stream: string;
  decider: Decider<State, Command, E, Reason>;
};

/** Folds the stream up to the last event of the request that used this key first. */
const replay = <State, Command, E extends DomainEvent, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
  call: Call,
): Written<State> | Refusal | undefined => {
  const first = stored.find(({ meta }) => meta.idem === call.idem);
  if (!first || call.idem === undefined) return undefined;
  if (first.meta.fingerprint !== call.fingerprint) return refuseReusedKey(first);
  const last = stored.findLast(({ meta }) => meta.request === first.meta.request) ?? first;
  const state = foldOf(decider, stored.slice(0, stored.indexOf(last) + 1));
  if (state === undefined) return undefined;
  const before = foldOf(decider, stored.slice(0, stored.indexOf(first)));
  return { ok: true, state, before, position: last.position, replayOf: first.meta.request };
};

/** Folds the stream up to the revision at which the first request with this key had nothing to write. */
const replayUnchanged = <State, Command, E extends DomainEvent, Reason extends string>(
  { stream, decider }: Target<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
  claims: readonly StoredEvent[],
): Written<State> | undefined => {
  for (const { data, meta } of claims) {
    const { stream: claimed, revision } = data as EventData<'RequestBound'>;
    if (claimed !== stream || revision === undefined) continue;
    const { request } = meta;
    // The same request may have appended other events to this stream, and its answer contains them.
    const last = stored.findLastIndex((event) => event.meta.request === request);
    const state = foldOf(decider, stored.slice(0, Math.max(revision, last) + 1));
    if (state !== undefined) return { ok: true, state, before: state, replayOf: request };
  }
  return undefined;
};

/**
 * Creates a stream by one append that expects no stream. The name of the stream contains a hash of the caller, the
 * operation and the idempotency key, so a retry finds the stream of the first attempt and gets the first answer; the
 * key never expires. Throws if the decider rejects the first command of a stream.
 */
export const createOnce = async <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  { stream, decider, command }: Target<State, Command, E, Reason> & { command: Command },
): Promise<Written<State> | Refusal> => {
  const decision = decider.decide(undefined, command);
  if (!decision.accepted) throw new Error(`${call.operation} was rejected: ${decision.reason}`);
  const events = attribute(call, decision.events, writer.ids);
  const result = await writer.log.append(stream, NO_STREAM, events);
  if (result.outcome === 'conflict') {
    const stored = await writer.log.readStream(stream);
    const first = replay(decider, stored, call);
    return first ?? refuse('storage_unavailable', 'The stream could not be read back; retry.');
  }
  const state = foldAt(decider, decision.events, { at: call.at });
  if (state === undefined) throw new Error(`${call.operation} created nothing on ${stream}`);
  return { ok: true, state, position: result.position };
};

/** Reads the effect of an earlier request with this key on this stream, before anything is decided. */
export const readReplay = async <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  { stream, decider }: Target<State, Command, E, Reason>,
): Promise<Written<State> | Refusal | undefined> =>
  replay(decider, await writer.log.readStream(stream), call);

type Made<Command> = Command | WithAppends<Command> | Refusal;

/**
 * A command whose events are appended together with those of other streams: claims before them, which they need, and
 * effects after them, which are made from its events, only if it has any. Effects begin new streams, so that they cannot
 * conflict. A log on a server can lack effects after a crash in between; an embedded log stores all or none.
 */
export type WithAppends<Command> = {
  command: Command;
  claims?: readonly Append[];
  effects?(events: readonly DomainEvent[]): Promise<readonly Append[]>;
};

const hasAppends = <Command>(made: Command | WithAppends<Command>): made is WithAppends<Command> =>
  typeof made === 'object' && made !== null && 'command' in made;

export type Execution<State, Command, E extends DomainEvent, Reason extends string> = Target<
  State,
  Command,
  E,
  Reason
> & {
  /** Makes the command from the state that the stream has now; called again after each conflict. */
  command: (
    state: State | undefined,
    stored: readonly StoredEvent[],
  ) => Made<Command> | Promise<Made<Command>>;
  /**
   * The events that the caller expects in the stream; a wrong expectation costs one conflict. A call with this
   * option does not look up or claim its idempotency key: the caller has claimed it, or the call has none.
   */
  expected?: readonly StoredEvent[];
};

/**
 * Executes a command on a stream that may exist, after the earlier commands of this process on it. Repeats the command
 * when another process appended first. Claims the idempotency key for this stream and request together with the first
 * append, so that another request with the same key is refused on every stream.
 */
export const decideAndAppend = <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  target: Execution<State, Command, E, Reason>,
): Promise<Written<State> | Refusal | RejectedBy<Reason>> =>
  writer.streamQueue.run(target.stream, async (mayAttempt) => {
    let { expected } = target;
    while (await mayAttempt()) {
      const stored = expected ?? (await writer.log.readStream(target.stream));
      expected = undefined;
      const result = await attempt(writer, call, { ...target, stored });
      if (result !== 'conflict') return result;
    }
    return CONTENDED;
  });

/** Decides on the stored events and appends; resolves to `conflict` if another append came first. */
const attempt = async <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  target: Execution<State, Command, E, Reason> & { stored: readonly StoredEvent[] },
): Promise<Written<State> | Refusal | RejectedBy<Reason> | 'conflict'> => {
  const { stream, decider, expected, stored } = target;
  const keyClaims = expected ? undefined : await readKeyClaims(writer, call);
  const first =
    replay(decider, stored, call) ??
    (keyClaims &&
      (refuseOtherRequest(keyClaims, call) ?? replayUnchanged(target, stored, keyClaims)));
  if (first) return first;
  const before = foldOf(decider, stored);
  const made = await target.command(before, stored);
  if (isRefusal(made)) return made;
  const {
    command,
    claims = [],
    effects,
  }: WithAppends<Command> = hasAppends(made) ? made : { command: made };
  const decision = decider.decide(before, command);
  if (!decision.accepted) return { ok: false, rejected: decision.reason, detail: decision.detail };
  const state = foldAt(decider, decision.events, { at: call.at, state: before });
  if (state === undefined) throw new Error(`${call.operation} leaves nothing on ${stream}`);

  const revision = stored.length - 1;
  const events = attribute(call, decision.events, writer.ids);
  const isUnchanged = events.length === 0;
  const claim = { stream, ...(isUnchanged && { revision }) };
  const keyClaim = keyClaims ? decideKeyClaim(writer, call, { claim, claims: keyClaims }) : [];
  if (isRefusal(keyClaim)) return keyClaim;
  const record = isUnchanged
    ? []
    : [{ stream, expected: revision, events }, ...((await effects?.(decision.events)) ?? [])];
  const appends = [...claims, ...keyClaim, ...record];
  const result = appends.length > 0 ? await writer.log.appendAll(appends) : undefined;
  if (result?.outcome === 'conflict') return 'conflict';
  const effect = { ok: true, state, before } as const;
  return result && !isUnchanged ? { ...effect, position: result.position } : effect;
};
