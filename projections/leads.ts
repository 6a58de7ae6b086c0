import { LEAD_EVENTS, type LeadEventType } from '#contracts/events/index.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import type { Position } from '#src/ports/event-log.ts';
import { happened, idInStream } from './happened.ts';
import type { Projection } from './projection.ts';

/** The decider's state, and where its first event stands. */
export type LeadRow = LeadState & { sort: Position };

/** An owner's leads, newest first. */
export const leads: Projection<LeadRow> = {
  name: 'leads',
  version: 3,
  handles: LEAD_EVENTS,
  begins: ['LeadSubmitted'],
  place(event) {
    const { type, data } = happened<LeadEventType>(event);
    // An erasure names its subject only; the stream says whose it is.
    const key = type === 'SubjectErased' ? idInStream(event, 'lead', 'led') : data.lead_id;
    return key === undefined ? undefined : { scope: event.owner, key };
  },
  evolve(row, event) {
    const state = lead.evolve(row, happened<LeadEventType>(event)) as LeadRow;
    state.sort = row ? row.sort : event.position;
    return state;
  },
  sort: (row) => row.sort,
};
