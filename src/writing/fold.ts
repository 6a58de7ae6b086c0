/** Folds the events of a stream into the state of its record. */
import type { EventLog, StoredEvent, Position } from '#src/ports/event-log.ts';
import type { Decider } from '#src/shared/decider.ts';

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

/**
 * Returns position and time of the last event; 0 and null for a log without events. The head of the log
 * can be a record of another application, beyond which this reads back.
 */
export const readLastEvent = async (
  log: Pick<EventLog, 'head' | 'readBack'>,
): Promise<{ position: Position; at: number | null }> => {
  const { position: upTo } = await log.head();
  const [last] = await log.readBack({ upTo, limit: 1 });
  return { position: last?.position ?? 0, at: last?.meta.at ?? null };
};
