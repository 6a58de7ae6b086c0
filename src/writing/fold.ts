import type { Decider } from '#src/shared/decider.ts';
import type { EventLog, StoredEvent } from '#src/ports/event-log.ts';

export type DomainEvent = { type: string; data: object };

/** Folds events that happened at `at`, in epoch milliseconds, into `state`. */
export const foldAt = <State, Command, E extends DomainEvent, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  events: readonly E[],
  { at, state }: { at: number; state?: State | undefined },
): State | undefined =>
  events.reduce<State | undefined>((now, event) => decider.evolve(now, { ...event, at }), state);

/** Folds the first events of one stream; undefined if there are none. */
export const foldOf = <State, Command, E extends DomainEvent, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
  stored: readonly StoredEvent[],
): State | undefined =>
  stored.reduce<State | undefined>(
    // The log validates each event when it reads it, so its data has the shape of its type.
    (state, { type, data, meta }) =>
      decider.evolve(state, { type, data, at: meta.at } as unknown as E & { at: number }),
    undefined,
  );

/** Reads a stream and folds it; undefined if the stream does not exist. */
export const stateOf = async <State, Command, E extends DomainEvent, Reason extends string>(
  { log }: { log: Pick<EventLog, 'readStream'> },
  { stream, decider }: { stream: string; decider: Decider<State, Command, E, Reason> },
): Promise<State | undefined> => foldOf(decider, await log.readStream(stream));
