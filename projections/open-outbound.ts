import { OUTBOUND_EVENTS, type OutboundEventType } from '#contracts/events/index.ts';
import { foldOutbound, isSettled, type OutboundState } from '#src/domain/outbound-state.ts';
import { listBy, OPEN_OUTBOUND, type OpenOutboundRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';
import { typedEvent } from './typed-event.ts';

/** The outreach requests of all owners that wait for a person or for the dispatcher. */
export const openOutbound: Projection<OpenOutboundRow<OutboundState>> = {
  name: 'open-outbound',
  version: 2,
  handles: OUTBOUND_EVENTS,
  begins: ['OutboundProposed'],
  place(event) {
    const { data } = typedEvent<OutboundEventType>(event);
    return { scope: OPEN_OUTBOUND, key: data.outbound_id };
  },
  evolve(row, event) {
    const state = foldOutbound(row?.state, typedEvent<OutboundEventType>(event));
    return isSettled(state)
      ? null
      : { owner: event.owner, sort: row ? row.sort : event.position, state };
  },
  sort: (row) => row.sort,
  lists: ({ owner, state: { status }, sort }) => [
    [listBy({ owner }), sort],
    [listBy({ status }), sort],
  ],
};
