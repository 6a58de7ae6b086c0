import type { Decider } from '#src/shared/decider.ts';
import type { Append, StoredEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import type { Call } from '#src/shared/call.ts';
import { attribute } from './attribution.ts';
import { type DomainEvent, foldOf } from './fold.ts';

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
