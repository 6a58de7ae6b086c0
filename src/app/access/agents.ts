import type { AgentRecord } from '#contracts/records/access.ts';
import type { AgentCommand, AgentRejection, AgentState } from '#src/domain/access.ts';
import { agent } from '#src/domain/access.ts';
import { accessScope, type AgentRow } from '#src/ports/rows.ts';
import type { DeskCall } from '../pipeline/call.ts';
import { decideAndAppend, type RejectedBy, traceOf } from '../events/decide-and-append.ts';
import { AGENT_PROBLEMS, refuseRejected } from '../events/rejections.ts';
import { nameOf } from '../events/hash.ts';
import { pageOf } from '../read-models/listing.ts';
import { done, type Outcome, type Refusal, refuse } from '../pipeline/outcome.ts';
import { streamOf } from '../records/streams.ts';
import { iso, renderAsOf } from '../shared/time.ts';
import { type DeskDeps, type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';

const NO_AGENT = refuse('resource_not_found', 'There is no such agent.');

const render = (ownerId: string, state: AgentState | AgentRow): AgentRecord => ({
  id: state.agent_id,
  owner_id: ownerId,
  name: state.name,
  purpose: state.purpose,
  ...(state.pending && { pending: state.pending }),
  status: state.status,
  requested_scopes: state.requested,
  granted_scopes: state.granted,
  ...(state.suspended_by !== undefined && { suspended_by: state.suspended_by }),
  ...(state.reason !== undefined && { reason: state.reason }),
  ...(state.decided_at !== undefined && { decided_at: iso(state.decided_at) }),
  created_at: iso(state.created_at),
});

/** One command on an agent's stream; the agent's own owner is found by the credentials. */
const change = async (
  deps: DeskDeps,
  call: DeskCall,
  agentId: string,
  ownerId: string,
  command: (state: AgentState | undefined) => AgentCommand,
): Promise<Outcome<AgentRecord>> => {
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId },
    {
      stream: streamOf(ownerId, 'agent', agentId),
      decider: agent,
      command,
    },
  );
  if (written.ok) return done(render(ownerId, written.state), traceOf(written));
  return 'rejected' in written ? refuseAgent(written) : written;
};

const SUSPENDED_BY_STAFF =
  'Staff suspended this agent, and only the role staff lifts that: ask them; the reason is on the agent.';

const refuseAgent = (rejection: RejectedBy<AgentRejection>): Refusal => {
  const { rejected, detail } = rejection;
  const code = AGENT_PROBLEMS[rejected];
  if (code === 'validation_failed')
    return refuse(code, 'Some scopes were not requested.', {
      errors: [{ pointer: '/scopes', code: 'not_requested', detail }],
    });
  return code === 'role_missing'
    ? refuse(code, SUSPENDED_BY_STAFF)
    : refuseRejected(AGENT_PROBLEMS, rejection, NO_AGENT);
};

export const requestAccess: DeskHandler<'requestAccess'> = async (deps, input, call) => {
  const { owner_id, agent_id, name, purpose, scopes } = input;
  if (!mayActFor(call, owner_id)) return refuse('resource_not_found', 'There is no such owner.');
  if (agent_id !== undefined && deps.credentials.agent(agent_id)?.owner !== owner_id)
    return NO_AGENT;
  const agentId = agent_id ?? `agt_${nameOf('agent', owner_id, call.idem ?? '')}`;
  return change(deps, call, agentId, owner_id, () => ({
    type: 'RequestAccess',
    request: { agent_id: agentId, name, purpose, scopes: [...new Set(scopes)] },
  }));
};

type Decision = { agent_id: string; reason: string };

const decide =
  (
    command: (
      input: Decision & { scopes?: string[] },
      state: AgentState | undefined,
      role: 'owner' | 'staff',
    ) => AgentCommand,
  ) =>
  async (deps: DeskDeps, input: Decision, call: DeskCall): Promise<Outcome<AgentRecord>> => {
    const known = deps.credentials.agent(input.agent_id);
    if (!known || !mayActFor(call, known.owner)) return NO_AGENT;
    const role = call.caller.roles.has('staff') ? 'staff' : 'owner';
    return change(deps, call, input.agent_id, known.owner, (state) => command(input, state, role));
  };

export const approveAccess: DeskHandler<'approveAccess'> = decide(({ scopes, reason }, state) => ({
  type: 'ApproveAccess',
  scopes: scopes ?? state?.requested ?? [],
  reason,
}));
export const denyAccess: DeskHandler<'denyAccess'> = decide(({ reason }) => ({
  type: 'DenyAccess',
  reason,
}));
export const suspendAgent: DeskHandler<'suspendAgent'> = decide(({ reason }, _state, role) => ({
  type: 'SuspendAgent',
  role,
  reason,
}));
export const reinstateAgent: DeskHandler<'reinstateAgent'> = decide(({ reason }, _state, role) => ({
  type: 'ReinstateAgent',
  role,
  reason,
}));

export const listAgents: DeskHandler<'listAgents'> = async (deps, input, call) => {
  const { owner_id } = input;
  if (!mayActFor(call, owner_id)) return refuse('resource_not_found', 'There is no such owner.');
  const scope = accessScope(owner_id, 'agent');
  const { rows, next_before } = await pageOf<AgentRow>(deps.readModels, 'access', {
    ...input,
    scope,
  });
  return done({
    data: rows.map((row) => render(owner_id, row)),
    next_before,
    as_of: renderAsOf(deps.following.asOf()),
  });
};
