/** The type of all deciders: a command and a state give events or a rejection; events give a state. Without I/O. */
import { present } from './json.ts';

/**
 * Decides over one stream: `decide` makes events of a command, `evolve` folds events into the state. The initial state is
 * undefined. Pure and synchronous, so a command contains the time, the ids and the prices that it needs.
 * Source: Jérémie Chassaing, "Functional Event Sourcing Decider" (2021).
 */
export type Decider<State, Command, Event, Rejection extends string> = {
  /** Never rejects an event. Throws on a transition that is impossible, because then the log or the code is wrong. */
  evolve(state: State | undefined, event: Event & { at: number }): State;
  decide(state: State | undefined, command: Command): Decision<Event, Rejection>;
};

export type Decision<Event, Rejection extends string> =
  | { accepted: true; events: Event[] }
  | { accepted: false; reason: Rejection; detail: string };

/** Accepts a command; without events, its effect is there already. */
export const accept = <Event>(...events: Event[]): Decision<Event, never> => ({
  accepted: true,
  events,
});

/** Rejects a command; `detail` is a clause without a capital letter and without a full stop. */
export const reject = <const Rejection extends string>(
  reason: Rejection,
  detail: string,
): Decision<never, Rejection> => ({ accepted: false, reason, detail });

/**
 * The state without members that are undefined, as a store keeps it. A member that is removed so and set again later is then at
 * the end of the state, whether or not a store had it in between, and rows of the same events have the same bytes.
 */
export const asStored = <State extends object>(state: State): State => present(state) as State;

/** The members of a record that count its events. */
export type RecordVersion = { created_at: number; updated_at: number; version: number };

/** What the first event of a record, at `at`, sets in its state. */
export const firstVersion = (at: number): RecordVersion => ({
  created_at: at,
  updated_at: at,
  version: 0,
});

/**
 * What each later event sets: the later of the two times. Calls can be written in another order than they were
 * accepted in, and a reader that asks for changes since a time must not miss the last one.
 */
export const nextVersion = ({ updated_at, version }: RecordVersion, at: number) => ({
  updated_at: Math.max(updated_at, at),
  version: version + 1,
});

/** Whether two values of an event are equal. The order of members and members that are undefined do not count. */
export const isSameValue = (one: unknown, other: unknown): boolean =>
  one === other || (isObject(one) && isObject(other) && textOf(one) === textOf(other));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const textOf = (value: object): string =>
  JSON.stringify(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
