/** The records of each owner as their deciders fold them, newest first. */
import {
  type EventType,
  HANDOFF_EVENTS,
  type HandoffEventType,
  type Happened,
  LINK_EVENTS,
  type LinkEventType,
  OUTBOUND_EVENTS,
  type OutboundEventType,
} from '#contracts/registries/events.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { link } from '#src/links/link.decider.ts';
import {
  foldOutbound,
  isUndispatched,
  type OutboundState,
} from '#src/outreach/outbound-state.decider.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { listBy, OUTBOUND_BY_EXPIRY } from '#src/ports/rows.ts';
import { type Projection, recordIdOf, typedEvent } from './projection.ts';

/** The decider's state and the position of the record's first event. */
export type RecordRow<State> = State & { sort: Position };

type Definition<State, Type extends EventType> = Pick<Projection, 'name' | 'version'> & {
  handles: readonly Type[];
  begins: readonly Type[];
  /** The id of the record; undefined if the event is not one of this kind of record. */
  keyOf(event: FoldEvent & Happened<Type>): string | undefined;
  fold(state: State | undefined, event: Happened<Type>): State;
};

export const ownerRecords = <State extends object, Type extends EventType>(
  definition: Definition<State, Type>,
): Projection<RecordRow<State>> => {
  const { name, version, handles, begins, keyOf, fold } = definition;
  return {
    name,
    version,
    handles,
    begins,
    place(event) {
      const key = keyOf(event as FoldEvent & Happened<Type>);
      return key === undefined ? undefined : { scope: event.owner, key };
    },
    evolve(row, event) {
      const state = fold(row, typedEvent<Type>(event)) as RecordRow<State>;
      state.sort = row ? row.sort : event.position;
      return state;
    },
    sort: (row) => row.sort,
  };
};

export const links = ownerRecords({
  name: 'links',
  version: 1,
  handles: LINK_EVENTS,
  begins: ['LinkCreated'],
  keyOf: ({ data }: Happened<LinkEventType>) => data.link_id,
  fold: link.evolve,
});

export const handoffs = ownerRecords({
  name: 'handoffs',
  version: 4,
  handles: HANDOFF_EVENTS,
  begins: ['HandoffCreated', 'BuyerListCreated'],
  // An erasure contains only its subject, so its stream tells the kind of the record.
  keyOf: (event: FoldEvent & Happened<HandoffEventType>) =>
    event.type === 'SubjectErased' ? recordIdOf(event, 'handoff', 'hnd') : event.data.handoff_id,
  fold: handoff.evolve,
});

export const outboundRequests: Projection<RecordRow<OutboundState>> = {
  ...ownerRecords({
    name: 'outbound',
    version: 2,
    handles: OUTBOUND_EVENTS,
    begins: ['OutboundProposed'],
    keyOf: ({ data }: Happened<OutboundEventType>) => data.outbound_id,
    fold: foldOutbound,
  }),
  lists: ({ status, schedule, sort }) => [
    [listBy({ status }), sort],
    ...(isUndispatched(status) ? [[OUTBOUND_BY_EXPIRY, schedule.not_after] as const] : []),
  ],
};
