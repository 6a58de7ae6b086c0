import { LEAD_EVENTS } from '#contracts/registries/events.ts';
import { isFinal } from '#src/leads/lead-state.decider.ts';
import { lead } from '#src/leads/lead.decider.ts';
import { listBy, NEEDS_APPROVAL, OPEN_LEADS, OPEN_RECORDS } from '#src/ports/rows.ts';
import { leadOfEvent } from './leads.ts';
import { withPlan } from './staff/with-plan.ts';
import { openRecords } from './open-records.ts';

/** Readers name one of its lists: that of all rows would also have the leads at their end. */
const { sort: _all, ...listed } = openRecords({
  name: 'open-leads',
  version: 4,
  handles: LEAD_EVENTS,
  begins: 'LeadSubmitted',
  keyOf: leadOfEvent,
  fold: lead.evolve,
  isSettled: ({ state, from_rfq }) =>
    isFinal(state) && (from_rfq === true || (state !== 'won' && state !== 'lost')),
  lists: ({ owner, state: { state, agent_id, proposed } }) =>
    isFinal(state) && !proposed
      ? []
      : [
          OPEN_LEADS,
          listBy({ owner }),
          listBy({ state }),
          listBy({ agent: agent_id }),
          ...(proposed ? [NEEDS_APPROVAL] : []),
        ],
});

/**
 * The leads of all owners that staff can still move, with those whose claim has expired since. Leads whose outcome can be
 * corrected are listed while a correction waits for approval.
 */
export const openLeads = withPlan(listed, { scope: OPEN_RECORDS, prefix: 'led_' });
