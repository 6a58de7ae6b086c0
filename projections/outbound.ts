import { OUTBOUND_EVENTS, type OutboundEventType } from '#contracts/events/index.ts';
import { isSettled, outboundEvolve, type OutboundState } from '#src/domain/outbound-state.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { OPEN_OUTBOUND, type OpenOutboundRow } from '#src/ports/rows.ts';
import { happened } from './happened.ts';
import type { Projection } from './projection.ts';

/** The decider's state, and where its first event stands. */
export type OutboundRow = OutboundState & { sort: Position };

/** An owner's outreach requests, newest first. */
export const outbound: Projection<OutboundRow> = {
  name: 'outbound',
  version: 1,
  handles: OUTBOUND_EVENTS,
  begins: ['OutboundProposed'],
  place(event) {
    const { data } = happened<OutboundEventType>(event);
    return { scope: event.owner, key: data.outbound_id };
  },
  evolve(row, event) {
    const state = outboundEvolve(row, happened<OutboundEventType>(event)) as OutboundRow;
    state.sort = row ? row.sort : event.position;
    return state;
  },
  sort: (row) => row.sort,
};

/** Of all owners, the requests that are not at an end: what waits for people, or for its sending. */
export const openOutbound: Projection<OpenOutboundRow<OutboundState>> = {
  name: 'open-outbound',
  version: 1,
  handles: OUTBOUND_EVENTS,
  begins: ['OutboundProposed'],
  place(event) {
    const { data } = happened<OutboundEventType>(event);
    return { scope: OPEN_OUTBOUND, key: data.outbound_id };
  },
  evolve(row, event: FoldEvent) {
    const state = outboundEvolve(row?.state, happened<OutboundEventType>(event));
    // What became of it is unknown: that, too, waits for a person.
    return isSettled(state)
      ? null
      : { owner: event.owner, sort: row ? row.sort : event.position, state };
  },
  sort: (row) => row.sort,
};
