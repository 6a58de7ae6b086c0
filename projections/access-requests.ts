import { AGENT_EVENTS, type AgentEventType } from '#contracts/registries/events.ts';
import { agent, type AgentState } from '#src/access/access.decider.ts';
import { ALL_ACCESS_REQUESTS, listBy, type OpenRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';
import { withPlan } from './staff/with-plan.ts';

const requests: Projection<OpenRow<AgentState>> = {
  name: 'access-requests',
  version: 1,
  handles: AGENT_EVENTS,
  place: (event) => ({
    scope: ALL_ACCESS_REQUESTS,
    key: typedEvent<AgentEventType>(event).data.agent_id,
  }),
  evolve(row, stored) {
    const event = typedEvent<AgentEventType>(stored);
    const { owner, position } = stored;
    const sort = row && event.type !== 'AccessRequested' ? row.sort : position;
    return { owner, sort, state: agent.evolve(row?.state, event) };
  },
  // A list of its own, because the place of an agent changes with each request.
  lists: ({ owner, sort, state: { agent_id, last_request } }) =>
    [
      ALL_ACCESS_REQUESTS,
      listBy({ owner }),
      listBy({ agent: agent_id }),
      listBy({ state: last_request.outcome }),
    ].map((list) => [list, sort]),
};

/** The last request for access of each agent of all owners, newest request first, with what the agent was granted. */
export const accessRequests = withPlan(requests, { scope: ALL_ACCESS_REQUESTS, prefix: 'agt_' });
