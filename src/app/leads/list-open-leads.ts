import { OPEN_LEAD_STATES } from '#contracts/moves.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import { stateAt } from '#src/domain/lead.ts';
import { listBy, OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import type { DeskHandler } from '../pipeline/desk-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { readInbox } from '../read-models/inbox.ts';
import { renderAsOf } from '../shared/time.ts';
import { renderOpenLead } from './render-lead.ts';

/** The states as the log has them of the leads that have a state: no event makes a lead lapse. */
const storedStates = (state: string | undefined): readonly string[] =>
  state === 'lapsed' ? ['submitted', 'accepted'] : state === undefined ? [] : [state];

export const listOpenLeads: DeskHandler<'listOpenLeads'> = async (deps, input, call) => {
  const states: readonly string[] = input.state === undefined ? OPEN_LEAD_STATES : [input.state];
  const lists = storedStates(input.state).map((state) => ({ list: listBy({ state }) }));
  const { rows, ...next } = await readInbox<OpenRow<LeadState>>(deps.readModels, call, {
    name: 'open-leads',
    scope: OPEN_RECORDS,
    input,
    ...(lists.length > 0 && { ranges: lists }),
    agentOf: ({ state }) => state.agent_id,
    beganAt: ({ state }) => state.created_at,
    isMatch: ({ state }) => states.includes(stateAt(state, call.at)),
  });
  const data = rows.map(({ owner, state }) =>
    renderOpenLead(state, { ownerId: owner, at: call.at }),
  );
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
