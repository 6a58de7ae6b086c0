import { LINK_EVENTS, type LinkEventType } from '#contracts/events/index.ts';
import { link, type LinkState } from '#src/domain/link.ts';
import type { Position } from '#src/ports/event-log.ts';
import { happened } from './happened.ts';
import type { Projection } from './projection.ts';

/** The decider's state, and where its first event stands. */
export type LinkRow = LinkState & { sort: Position };

/** An owner's links, newest first. */
export const links: Projection<LinkRow> = {
  name: 'links',
  version: 1,
  handles: LINK_EVENTS,
  begins: ['LinkCreated'],
  place(event) {
    const { data } = happened<LinkEventType>(event);
    return { scope: event.owner, key: data.link_id };
  },
  evolve(row, event) {
    const state = link.evolve(row, happened<LinkEventType>(event)) as LinkRow;
    state.sort = row ? row.sort : event.position;
    return state;
  },
  sort: (row) => row.sort,
};
