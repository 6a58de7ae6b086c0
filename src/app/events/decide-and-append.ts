import type { EventData } from '#contracts/events/index.ts';
import type { Decider } from '#src/domain/decider.ts';
import { NO_STREAM, type Position, type StoredEvent } from '#src/ports/event-log.ts';
import { attribute } from './attribution.ts';
import type { Call } from '../pipeline/call.ts';
import { bind, bindingsOf, bindKey, refusedBy, reused, type Writer } from './idempotency.ts';
import { type Done, isRefusal, type Refusal, refuse } from '../pipeline/outcome.ts';

/** A race lost this often in a row is contention that waiting will not cure within one request. */
const CONFLICT_RETRIES_MAX = 8;

type Event = { type: string; data: object };

/** What a command left behind. */
export type Written<State> = {
  ok: true;
  /** The stream's state as this command left it, also when the answer is a replay. */
  state: State;
  /** The state that the command met, also when the answer is a replay; undefined where it was the first. */
  before?: State | undefined;
  /** undefined when nothing had to be written. */
  position?: Position;
  /** The request that did it, when it was not this one. */
  replayOf?: string;
};

/** Where a command's effect stands, and whose it is: what every answer to a write says of it. */
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

type Stream<State, Command, E extends Event, Reason extends string> = {
  stream: string;
  decider: Decider<State, Command, E, Reason>;
  command: Command;
};

const asEvents = <E>(stored: readonly StoredEvent[]): (E & { at: number })[] =>
  // The log checks each event against its schema when it reads; the type names what was checked.
  stored.map(
    ({ type, data, meta }) => ({ type, data, at: meta.at }) as unknown as E & { at: number },
  );

const fold = <State, Command, E extends Event, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  events: readonly (E & { at: number })[],
  from?: State,
): State | undefined => {
  let state = from;
  for (const event of events) state = decider.evolve(state, event);
  return state;
};

/** The state that these events of one stream leave, from its first on; undefined of none. */
export const foldOf = <State, Command, E extends Event, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
): State | undefined => fold(decider, asEvents<E>(stored));

/** A stream's state as its events leave it; undefined where there is no stream. */
export const stateOf = async <State, Command, E extends Event, Reason extends string>(
  { log }: Pick<Writer, 'log'>,
  { stream, decider }: Pick<Stream<State, Command, E, Reason>, 'stream' | 'decider'>,
): Promise<State | undefined> => foldOf(decider, await log.readStream(stream));

/** The first request's answer again: the stream folded up to and with what that request wrote. */
const replayed = <State, Command, E extends Event, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
  call: Call,
): Written<State> | Refusal | undefined => {
  const first = stored.find(({ meta }) => meta.idem === call.idem);
  if (!first || call.idem === undefined) return undefined;
  if (first.meta.fingerprint !== call.fingerprint) return reused(first);
  const last = stored.findLast(({ meta }) => meta.request === first.meta.request) ?? first;
  const state = foldOf(decider, stored.slice(0, stored.indexOf(last) + 1));
  if (state === undefined) return undefined;
  const before = foldOf(decider, stored.slice(0, stored.indexOf(first)));
  return { ok: true, state, before, position: last.position, replayOf: first.meta.request };
};

/** The same where nothing had to be written: the stream as the first request found it. */
const settled = <State, Command, E extends Event, Reason extends string>(
  { stream, decider }: Pick<Stream<State, Command, E, Reason>, 'stream' | 'decider'>,
  stored: readonly StoredEvent[],
  bindings: readonly StoredEvent[],
): Written<State> | undefined => {
  for (const { data, meta } of bindings) {
    const { stream: to, revision } = data as EventData<'RequestBound'>;
    if (to !== stream || revision === undefined) continue;
    const { request } = meta;
    // Something else that the request wrote here may be part of its answer.
    const last = stored.findLastIndex((event) => event.meta.request === request);
    const state = foldOf(decider, stored.slice(0, Math.max(revision, last) + 1));
    if (state !== undefined) return { ok: true, state, before: state, replayOf: request };
  }
  return undefined;
};

/**
 * A creation whose stream is named by (actor, operation, idempotency key): one append that must find
 * no stream. A retry meets its own and gets the first answer; the key never expires.
 */
export const createOnce = async <State, Command, E extends Event, Reason extends string>(
  writer: Writer,
  call: Call,
  { stream, decider, command }: Stream<State, Command, E, Reason>,
): Promise<Written<State> | Refusal | RejectedBy<Reason>> => {
  const decision = decider.decide(undefined, command);
  if (!decision.accepted) return { ok: false, rejected: decision.reason, detail: decision.detail };
  const events = attribute(call, decision.events, writer.ids);
  const result = await writer.log.append(stream, NO_STREAM, events);
  if (result.outcome === 'conflict') {
    const stored = await writer.log.readStream(stream);
    const again = replayed(decider, stored, call);
    return again ?? refuse('storage_unavailable', 'The stream could not be read back; retry.');
  }
  const happened = decision.events.map((event) => ({ ...event, at: call.at }));
  const state = fold(decider, happened);
  if (state === undefined) throw new Error(`${call.operation} created nothing on ${stream}`);
  return { ok: true, state, position: result.position };
};

/** The stored answer of an earlier request with this key on this stream, before anything else is asked. */
export const replayOf = async <State, Command, E extends Event, Reason extends string>(
  writer: Writer,
  call: Call,
  { stream, decider }: Pick<Stream<State, Command, E, Reason>, 'stream' | 'decider'>,
): Promise<Written<State> | Refusal | undefined> =>
  replayed(decider, await writer.log.readStream(stream), call);

/**
 * A command on a stream that may exist. `command` sees the folded state, so that facts can depend on
 * it. The idempotency key is found while folding; it is bound to this stream and request before the
 * first append, so that another request under the same key is refused wherever it goes.
 */
export const decideAndAppend = async <State, Command, E extends Event, Reason extends string>(
  writer: Writer,
  call: Call,
  target: Omit<Stream<State, Command, E, Reason>, 'command'> & {
    command: (
      state: State | undefined,
      stored: readonly StoredEvent[],
    ) => Command | Refusal | Promise<Command | Refusal>;
    /** Of one of many streams under a key that is tied already: what was read of it. */
    found?: readonly StoredEvent[];
  },
): Promise<Written<State> | Refusal | RejectedBy<Reason>> => {
  const { stream, decider, found } = target;
  for (let attempt = 0; attempt <= CONFLICT_RETRIES_MAX; attempt++) {
    const stored = (attempt === 0 && found) || (await writer.log.readStream(stream));
    const again = replayed(decider, stored, call);
    if (again) return again;
    const bindings = found ? [] : await bindingsOf(writer, call);
    const known = refusedBy(bindings, call) ?? settled(target, stored, bindings);
    if (known) return known;
    const before = foldOf(decider, stored);
    const command = await target.command(before, stored);
    if (isRefusal(command)) return command;
    const decision = decider.decide(before, command);
    if (!decision.accepted)
      return { ok: false, rejected: decision.reason, detail: decision.detail };
    if (decision.events.length === 0) {
      if (before === undefined) throw new Error(`${call.operation} accepted nothing on ${stream}`);
      const here = { stream, revision: stored.length - 1 };
      const bound = found ? undefined : await bind(writer, call, here, bindings.length - 1);
      if (bound?.outcome === 'conflict') continue;
      return { ok: true, state: before, before };
    }
    const bound = found ? undefined : await bindKey(writer, call, stream);
    if (bound) return bound;
    const events = attribute(call, decision.events, writer.ids);
    const result = await writer.log.append(stream, stored.length - 1, events);
    if (result.outcome === 'conflict') continue;
    const happened = decision.events.map((event) => ({ ...event, at: call.at }));
    const state = fold(decider, happened, before);
    if (state === undefined) throw new Error(`${call.operation} left nothing on ${stream}`);
    return { ok: true, state, before, position: result.position };
  }
  return refuse('overloaded', 'Too many writers on this record at once.', { retryAfterS: 1 });
};
