import type { AgentState } from '#src/access/access.decider.ts';
import { ALL_ACCESS_REQUESTS, listBy, type OpenRow } from '#src/ports/rows.ts';
import { done } from '#src/shared/outcome.ts';
import { readInbox } from '#src/reading/inbox.ts';
import { present } from '#src/shared/present.ts';
import { renderAsOf } from '#src/shared/time.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { renderRequest } from '#src/access/get-connection.ts';
import { renderSummary } from './plan-record.ts';

export const listAccessRequests: DeskHandler<'listAccessRequests'> = async (deps, input, call) => {
  const { state: outcome } = input;
  const list = outcome === undefined ? ALL_ACCESS_REQUESTS : listBy({ state: outcome });
  const { rows, ...next } = await readInbox<OpenRow<AgentState>>(deps.readModels, call, {
    name: 'access-requests',
    scope: ALL_ACCESS_REQUESTS,
    input,
    ranges: [{ list }],
    agentOf: ({ state }) => state.agent_id,
    beganAt: ({ state }) => state.last_request.requested_at,
    isMatch: ({ state }) => outcome === undefined || state.last_request.outcome === outcome,
  });
  const data = rows.map(({ owner, state, plan }) => {
    const { agent_id, name, purpose, pending, status, granted, last_request } = state;
    return {
      agent_id,
      owner_id: owner,
      name: pending?.name ?? name,
      purpose: pending?.purpose ?? purpose,
      ...renderRequest(last_request),
      ...present({ application_id: last_request.application_id }),
      agent_status: status,
      granted_scopes: granted,
      ...renderSummary(call, plan),
    };
  });
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};
