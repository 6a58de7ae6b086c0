/** How a use case writes: reads a stream, decides on a command, and appends what the decider returns. */
import type { EventData } from '#contracts/registries/events.ts';
import type { Decider } from '#src/shared/decider.ts';
import {
  type Append,
  type Meta,
  NO_STREAM,
  type Position,
  type StoredEvent,
} from '#src/ports/event-log.ts';
import type { Call } from '#src/shared/call.ts';
import {
  type Done,
  isRefusal,
  type Refusal,
  refuse,
  done,
  type Outcome,
} from '#src/shared/outcome.ts';
import { attribute } from './attribution.ts';
import { type DomainEvent, foldAt, foldOf } from './streams.ts';
import {
  decideKeyClaim,
  isSameRequest,
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
  if (!isSameRequest(first, call)) return refuseReusedKey(first);
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
  {
    stream,
    decider,
    command,
    effects = [],
  }: Target<State, Command, E, Reason> & {
    command: Command;
    /** Appended after the events; each begins a new stream. */
    effects?: readonly Append[];
  },
): Promise<Written<State> | Refusal> => {
  const decision = decider.decide(undefined, command);
  if (!decision.accepted) throw new Error(`${call.operation} was rejected: ${decision.reason}`);
  const events = attribute(call, decision.events, writer.ids);
  const result = await writer.log.appendAll([{ stream, expected: NO_STREAM, events }, ...effects]);
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

/** Appends of other streams that are stored together with the events of a command. */
type Appended = {
  /** Appended before the events, which need them. */
  claims?: readonly Append[];
  /**
   * Made from the events and appended before them, only if there are any. They begin new streams, so that they cannot
   * conflict. An embedded log stores all or none. A log on a server never lacks an effect of a stored event; after a crash
   * or a conflict in between it has one whose `cause` never came, so what acts on it looks for that first.
   */
  effects?(events: readonly DomainEvent[]): Promise<readonly Append[]>;
};

/** What a command function returns when it does not refuse. */
export type Issued<Command> = { ok: true; command: Command } & Appended;

export const issue = <Command>(command: Command, appended: Appended = {}): Issued<Command> => ({
  ok: true,
  command,
  ...appended,
});

export type Execution<State, Command, E extends DomainEvent, Reason extends string> = Target<
  State,
  Command,
  E,
  Reason
> &
  Options & {
    /** Makes the command from the state that the stream has now; called again after each conflict. */
    command: (
      state: State | undefined,
      stored: readonly StoredEvent[],
    ) => Issued<Command> | Refusal | Promise<Issued<Command> | Refusal>;
  };

type Changed<State, Reason extends string> = Written<State> | Refusal | RejectedBy<Reason>;

/** Events that a decider accepted; none if their effect is there already. */
type Accepted<E> = { ok: true; events: readonly E[] };

/** What a change resolves to; `conflict` if another append came first, so that it begins again. */
export type Attempted<State, Reason extends string> = Changed<State, Reason> | 'conflict';

/**
 * One attempt to change a stream: the state that was read, and the appends that require that it is still the last one.
 * After an append, `state` is the state that it left, so that a second one can follow.
 */
export class StreamChange<State, Command, E extends DomainEvent, Reason extends string> {
  readonly #writer: EventWriter;
  readonly #call: Call;
  readonly #target: Target<State, Command, E, Reason>;
  /** All events of the stream, as they were read. */
  readonly stored: readonly StoredEvent[];
  /** Undefined if the key of the call is none of this change's, or was claimed by its first append. */
  #keyClaims: readonly StoredEvent[] | undefined;
  #state: State | undefined;
  #revision: number;

  constructor(
    { writer, call }: { writer: EventWriter; call: Call },
    target: Target<State, Command, E, Reason>,
    read: { stored: readonly StoredEvent[]; keyClaims: readonly StoredEvent[] | undefined },
  ) {
    this.#writer = writer;
    this.#call = call;
    this.#target = target;
    this.stored = read.stored;
    this.#keyClaims = read.keyClaims;
    this.#state = foldOf(target.decider, read.stored);
    this.#revision = read.stored.length - 1;
  }

  /** Undefined if the stream does not exist. */
  get state(): State | undefined {
    return this.#state;
  }

  /** Decides on a command; nothing is stored. */
  decide(command: Command): Accepted<E> | RejectedBy<Reason> {
    const decision = this.#target.decider.decide(this.#state, command);
    return decision.accepted
      ? { ok: true, events: decision.events }
      : { ok: false, rejected: decision.reason, detail: decision.detail };
  }

  /** Appends what was decided on the present state. */
  async append(
    { events: decided }: Accepted<E>,
    { claims = [], effects }: Appended = {},
  ): Promise<Attempted<State, Reason>> {
    const { stream, decider } = this.#target;
    const call = this.#call;
    const before = this.#state;
    const state = foldAt(decider, decided, { at: call.at, state: before });
    if (state === undefined) throw new Error(`${call.operation} leaves nothing on ${stream}`);
    const events = attribute(call, decided, this.#writer.ids);
    const isUnchanged = events.length === 0;
    const keyClaim = this.#claimKey({ stream, ...(isUnchanged && { revision: this.#revision }) });
    if (isRefusal(keyClaim)) return keyClaim;
    const record = isUnchanged
      ? []
      : [
          ...((await effects?.(decided)) ?? []).map((effect) =>
            causedBy({ stream, id: events[0]?.id ?? '' }, effect),
          ),
          { stream, expected: this.#revision, events },
        ];
    const appends = [...claims, ...keyClaim, ...record];
    const result = appends.length > 0 ? await this.#writer.log.appendAll(appends) : undefined;
    if (result?.outcome === 'conflict') return 'conflict';
    this.#state = state;
    this.#revision += events.length;
    if (keyClaim.length > 0) this.#keyClaims = undefined;
    const effect = { ok: true, state, before } as const;
    return result && !isUnchanged ? { ...effect, position: result.position } : effect;
  }

  /** Decides on the command and appends its events, unless it was refused or is rejected. */
  async execute(made: Issued<Command> | Refusal): Promise<Attempted<State, Reason>> {
    if (!made.ok) return made;
    const decision = this.decide(made.command);
    return decision.ok ? this.append(decision, made) : decision;
  }

  #claimKey(claim: Parameters<typeof decideKeyClaim>[2]['claim']): readonly Append[] | Refusal {
    const claims = this.#keyClaims;
    return claims ? decideKeyClaim(this.#writer, this.#call, { claim, claims }) : [];
  }
}

const causedBy = (cause: NonNullable<Meta['cause']>, effect: Append): Append => ({
  ...effect,
  events: effect.events.map((event) => ({ ...event, meta: { ...event.meta, cause } })),
});

type Options = {
  /**
   * The events that the caller expects in the stream; a wrong expectation costs one conflict. A call with this
   * option does not look up or claim its idempotency key: the caller has claimed it, or the call has none.
   */
  expected?: readonly StoredEvent[];
};

/**
 * Runs `work` on a stream that may exist, after the earlier changes of this process on it. Begins again with what is stored
 * then when another process appended first. Resolves to the first answer, without any work, if the key of the call was used
 * on this stream before, and refuses a key of another request: the first append claims the key for this stream and request,
 * so that another request with the same key is refused on every stream.
 */
export const changeStream = <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  {
    work,
    ...target
  }: Target<State, Command, E, Reason> &
    Options & {
      work(
        change: StreamChange<State, Command, E, Reason>,
      ): Attempted<State, Reason> | Promise<Attempted<State, Reason>>;
    },
): Promise<Changed<State, Reason>> =>
  writer.streamQueue.run(target.stream, async (mayAttempt) => {
    let { expected } = target;
    while (await mayAttempt()) {
      const stored = expected ?? (await writer.log.readStream(target.stream));
      const keyClaims = target.expected ? undefined : await readKeyClaims(writer, call);
      expected = undefined;
      const first =
        replay(target.decider, stored, call) ??
        (keyClaims &&
          (refuseOtherRequest(keyClaims, call) ?? replayUnchanged(target, stored, keyClaims)));
      if (first) return first;
      const change = new StreamChange({ writer, call }, target, { stored, keyClaims });
      const attempted = await work(change);
      if (attempted !== 'conflict') return attempted;
    }
    return CONTENDED;
  });

/**
 * Executes one command on a stream that may exist: reads the stream, asks `command` for a command, decides on it and appends
 * the events, all over again after a conflict. See `changeStream` for the order and the keys.
 *
 * @example
 * const written = await decideAndAppend(deps, call, {
 *   stream: streamOf(call.ownerId, 'link', id),
 *   decider: link,
 *   command: (state) => (state ? issue({ type: 'DisableLink', reason }) : NO_LINK),
 * });
 * if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_LINK) : written;
 * return done(render(written.state), traceOf(written));
 */
export const decideAndAppend = <State, Command, E extends DomainEvent, Reason extends string>(
  writer: EventWriter,
  call: Call,
  { command, ...target }: Execution<State, Command, E, Reason>,
): Promise<Changed<State, Reason>> =>
  changeStream(writer, call, {
    ...target,
    work: async (change) => change.execute(await command(change.state, change.stored)),
  });

/**
 * Runs a release after a write that is stored, and ignores its failure: the write is answered as done. A claim that is
 * not released now is released when the write is sent again, or expires.
 */
export const releaseAfterWrite = async (release: () => Promise<void>): Promise<void> => {
  try {
    await release();
  } catch {
    // The write is durable, so the caller must not receive an error.
  }
};

type Event = { type: string; data: object };

/** Makes the command from the record's state and its events, or refuses. */
export type CommandFrom<State, Command> = (
  state: State | undefined,
  stored: readonly StoredEvent[],
) => Issued<Command> | Refusal | Promise<Issued<Command> | Refusal>;

/** A command on a record of `ownerId`, and how its outcome becomes an answer. */
type Change<State, Command, E extends Event, Reason extends string, Value> = {
  ownerId: string;
  stream: string;
  decider: Decider<State, Command, E, Reason>;
  command: CommandFrom<State, Command>;
  refusal: (rejection: RejectedBy<Reason>) => Refusal;
  render: (state: State) => Value;
};

/** Runs the command and answers with the record as the command left it, also on a retry. */
export const changeRecord = async <State, Command, E extends Event, Reason extends string, Value>(
  writer: EventWriter,
  call: Call,
  { ownerId, refusal, render, ...target }: Change<State, Command, E, Reason, Value>,
): Promise<Outcome<Value>> => {
  const written = await decideAndAppend(writer, { ...call, ownerId }, target);
  if (written.ok) return done(render(written.state), traceOf(written));
  return 'rejected' in written ? refusal(written) : written;
};
