import type { Decider } from '#src/domain/decider.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import {
  decideAndAppend,
  type RejectedBy,
  traceOf,
  type WithAppends,
} from '../events/decide-and-append.ts';
import type { EventWriter } from '../events/idempotency.ts';
import type { Call } from '../pipeline/call.ts';
import { done, type Outcome, type Refusal } from '../pipeline/outcome.ts';

type Event = { type: string; data: object };

/** Makes the command from the record's state and its events, or refuses. */
export type CommandFrom<State, Command> = (
  state: State | undefined,
  stored: readonly StoredEvent[],
) => Made<Command> | Promise<Made<Command>>;

type Made<Command> = Command | WithAppends<Command> | Refusal;

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
