import { OPEN_LEAD_STATES } from '#contracts/moves.ts';
import type { LeadState } from './lead-state.decider.ts';
import { stateAt } from './lead.decider.ts';
import { listBy, NEEDS_APPROVAL, OPEN_LEADS, OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import { done } from '#src/shared/outcome.ts';
import { readInbox } from '#src/reading/inbox.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { renderOpenLead } from './render-lead.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { renderSummary } from '#src/plans/plan-record.ts';

/** The lists of the leads that can have a state: no event makes a lead lapse. */
const listsOf = (state: string | undefined): readonly string[] => {
  if (state === undefined) return [OPEN_LEADS];
  const states = state === 'lapsed' ? ['submitted', 'accepted'] : [state];
  return states.map((each) => listBy({ state: each }));
};

export const listOpenLeads: DeskHandler<'listOpenLeads'> = async (deps, input, call) => {
  const states: readonly string[] = input.state === undefined ? OPEN_LEAD_STATES : [input.state];
  const { rows, ...next } = await readInbox<OpenRow<LeadState>>(deps.readModels, call, {
    name: 'open-leads',
    scope: OPEN_RECORDS,
    input,
    ranges: input.needs_approval
      ? [{ list: NEEDS_APPROVAL }]
      : listsOf(input.state).map((list) => ({ list })),
    agentOf: ({ state }) => state.agent_id,
    beganAt: ({ state }) => state.created_at,
    isMatch: ({ state }) => {
      const isProposed = state.proposed !== undefined;
      return (
        (input.needs_approval === undefined || input.needs_approval === isProposed) &&
        (states.includes(stateAt(state, call.at)) || (input.state === undefined && isProposed))
      );
    },
  });
  const data = rows.map(({ owner, state, plan }) => ({
    ...renderOpenLead(state, { ownerId: owner, at: call.at }),
    ...renderSummary(call, plan),
  }));
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
