/** The events that read models are folded without: proposed by one person, approved by another. */
import type { EventData, EventOf, RepairEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type Event = EventOf<RepairEventType>;

/** An event of a read model. */
export type SkippedEvent = EventData<'EventSkipApproved'>;

export type DecidedSkip = EventData<'EventSkipProposed'> & { is_approved: boolean };

/** In the order of the proposals. */
export type SkipsState = { skips: readonly DecidedSkip[] };

export type RepairCommand =
  | { type: 'Propose'; event: SkippedEvent; reason: string }
  | { type: 'Approve'; event: SkippedEvent }
  | { type: 'Retry'; readModel: string | undefined };

export type RepairRejection = 'skipped_before' | 'proposed_before' | 'not_proposed';

type EventOfReadModel = Pick<SkippedEvent, 'read_model' | 'event_id'>;

/** The skip of an event of a read model, proposed or approved. */
export const skipOf = (
  { skips }: SkipsState = { skips: [] },
  { read_model, event_id }: EventOfReadModel,
): DecidedSkip | undefined =>
  skips.find((skip) => skip.read_model === read_model && skip.event_id === event_id);

export const repairs: Decider<SkipsState, RepairCommand, Event, RepairRejection> = {
  evolve(state = { skips: [] }, { type, data }) {
    if (type === 'EventSkipProposed')
      return { skips: [...state.skips, { ...data, is_approved: false }] };
    if (type === 'ParkedEventsRetried') return state;
    const approved = skipOf(state, data);
    return {
      skips: state.skips.map((skip) => (skip === approved ? { ...skip, is_approved: true } : skip)),
    };
  },

  decide(state, command) {
    if (command.type === 'Retry')
      return accept({ type: 'ParkedEventsRetried', data: { read_model: command.readModel } });
    const { event } = command;
    const earlier = skipOf(state, event);
    if (earlier?.is_approved)
      return reject('skipped_before', `${event.read_model} is folded without this event already`);
    if (command.type === 'Approve')
      return earlier
        ? accept({ type: 'EventSkipApproved', data: event })
        : reject('not_proposed', 'nobody has proposed to skip this event: propose it first');
    return earlier
      ? reject('proposed_before', 'this skip is proposed already: another person approves it')
      : accept({ type: 'EventSkipProposed', data: { ...event, reason: command.reason } });
  },
};
