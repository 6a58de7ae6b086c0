import type { HandoffEventType } from '#contracts/events/index.ts';
import type { HandoffState } from '#src/domain/handoff.ts';
import { handoff } from '#src/domain/handoff.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { HandoffLeads } from '#src/ports/rows.ts';
import { happened, idInStream } from './happened.ts';
import type { Projection } from './projection.ts';

/** The decider's state, where its first event stands, and the leads that came from it. */
export type HandoffRow = HandoffState & HandoffLeads & { sort: Position };

/** No buyer is so many leads: a row does not grow without end. */
const LEADS_MAX = 100;

/** An owner's handoffs, newest first. */
export const handoffs: Projection<HandoffRow> = {
  name: 'handoffs',
  version: 2,
  handles: [
    'HandoffCreated',
    'HandoffOpenedByBuyer',
    'HandoffListRevisedByBuyer',
    'HandoffDeclinedByBuyer',
    'HandoffWithdrawn',
    'HandoffInvalidated',
    'RfqSubmittedByBuyer',
    'SubjectErased',
    'LeadSubmitted',
  ],
  begins: ['HandoffCreated'],
  place(event) {
    const { type, data } = happened<HandoffEventType | 'LeadSubmitted'>(event);
    // An erasure names its subject only; the stream says whose it is.
    const key = type === 'SubjectErased' ? idInStream(event, 'handoff', 'hnd') : data.handoff_id;
    return key === undefined ? undefined : { scope: event.owner, key };
  },
  evolve(row, event) {
    if (event.type === 'LeadSubmitted') return row ? withLead(row, event) : null;
    const state = handoff.evolve(row, happened<HandoffEventType>(event)) as HandoffRow;
    state.sort = row ? row.sort : event.position;
    return state;
  },
  sort: (row) => row.sort,
};

const withLead = (row: HandoffRow, event: FoldEvent): HandoffRow => {
  const leads = row.leads ?? [];
  if (leads.length < LEADS_MAX)
    row.leads = [...leads, happened<'LeadSubmitted'>(event).data.lead_id];
  return row;
};
