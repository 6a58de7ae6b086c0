/**
 * A decision over one stream, as Chassaing's Decider: evolve and decide, where no state
 * (undefined) is the initial one. Pure and synchronous: a command carries the time, ids and prices
 * it needs.
 */
export type Decider<State, Command, Event, Rejection extends string> = {
  /** Believes events. A transition that cannot have happened throws: the log or the code is wrong. */
  evolve(state: State | undefined, event: Event & { at: number }): State;
  decide(state: State | undefined, command: Command): Decision<Event, Rejection>;
};

export type Decision<Event, Rejection extends string> =
  | { accepted: true; events: Event[] }
  | { accepted: false; reason: Rejection; detail: string };

/** No events: it holds already, and nothing is written. */
export const accept = <Event>(...events: Event[]): Decision<Event, never> => ({
  accepted: true,
  events,
});

export const reject = <const Rejection extends string>(
  reason: Rejection,
  detail: string,
): Decision<never, Rejection> => ({ accepted: false, reason, detail });

/**
 * Of two times of one stream. A call is timed when it is accepted, and another may be written before
 * it: whoever asks for what changed since must not miss the later version.
 */
export const later = (known: number, at: number): number => Math.max(known, at);
