import { LEAD_EVENTS } from '#contracts/events/index.ts';
import { isFinal } from '#src/domain/lead-state.ts';
import { lead } from '#src/domain/lead.ts';
import { listBy } from '#src/ports/rows.ts';
import { leadOfEvent } from './leads.ts';
import { openRecords } from './open-records.ts';

/** The leads of all owners that staff can still move, with those whose claim has expired since. */
export const openLeads = openRecords({
  name: 'open-leads',
  version: 2,
  handles: LEAD_EVENTS,
  begins: 'LeadSubmitted',
  keyOf: leadOfEvent,
  fold: lead.evolve,
  isSettled: ({ state }) => isFinal(state),
  lists: ({ owner, state: { state, agent_id } }) => [
    listBy({ owner }),
    listBy({ state }),
    listBy({ agent: agent_id }),
  ],
});
