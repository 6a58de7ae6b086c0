import type { HandoffLeadsRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

/** Bounds the size of a row; a handoff has few leads in practice. */
const LEADS_MAX = 100;

/**
 * The first leads that name a handoff as their source, at submission or by an amendment. Not part of the handoff's row,
 * which can have many lines.
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
