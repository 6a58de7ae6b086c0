import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** No buyer is so many leads: a row does not grow without end. */
const LEADS_MAX = 100;

/**
 * The first leads that name a handoff as their source, from the start or since an amendment. Apart
 * from its lines, which may be many.
 */
export const handoffLeads: Projection<HandoffLeadsRow> = {
  name: 'handoff-leads',
  version: 2,
  handles: ['LeadSubmitted', 'LeadAmended'],
  place(event) {
    const { handoff_id: key } = typedEvent<'LeadSubmitted' | 'LeadAmended'>(event).data;
    return key === undefined ? undefined : { scope: event.owner, key };
  },
  evolve(row, event) {
    const leads = row?.leads ?? [];
    if (row && leads.length >= LEADS_MAX) return row;
    return { leads: [...leads, typedEvent<'LeadSubmitted' | 'LeadAmended'>(event).data.lead_id] };
  },
};
