/** The operation by which an operator accepts the time of the log. */
import type { EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider } from '#src/shared/decider.ts';
import { createOnce, readReplay, traceOf } from '#src/writing/decide-and-append.ts';
import { nameOf } from '#src/writing/streams.ts';
import { DESK } from '#src/calls/audit.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { iso } from '#src/shared/time.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';

type Accepted = EventData<'ClockAccepted'>;

const decider: Decider<Accepted & { at: number }, Accepted, EventOf<'ClockAccepted'>, never> = {
  evolve: (_state, { data, at }) => ({ ...data, at }),
  decide: (_state, data) => accept({ type: 'ClockAccepted', data }),
};

const NO_CONFLICT = refuse(
  'state_conflict',
  'The newest event is not ahead of the clock, so there is nothing to decide.',
);

/** Appends an event with the time of the clock; it is the newest event then, and clock and log agree. */
export const acceptClock: DeskHandler<'acceptClock'> = async (deps, { reason }, call) => {
  const target = { stream: `${DESK}-clock_${nameOf('clock', call.idem ?? '')}`, decider };
  const conflict = deps.timeline.conflict();
  const replay = await readReplay(deps, call, target);
  if (!replay && !conflict) return NO_CONFLICT;
  const written =
    replay ??
    (await createOnce(
      deps,
      { ...call, at: conflict?.clockAt ?? call.at },
      {
        ...target,
        command: {
          position: conflict?.position ?? 0,
          event_at: conflict?.eventAt ?? call.at,
          reason,
        },
      },
    ));
  if (!written.ok) return written;
  const { at, position, event_at } = written.state;
  return done({ accepted_at: iso(at), position, event_at: iso(event_at) }, traceOf(written));
};
