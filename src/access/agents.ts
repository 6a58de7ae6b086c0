/** Agents at the desk: requested, approved, denied, suspended, reinstated and listed. */
import type { AgentRecord, ListedKey } from '#contracts/access/records.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, type DeskInput, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { mailToOwner } from '#src/owners/profile.ts';
import type { Append } from '#src/ports/event-log.ts';
import { accessScope, type AgentRow } from '#src/ports/rows.ts';
import { listRows } from '#src/reading/inbox.ts';
import type { MailFacts } from '#src/sending/mail.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import {
  issue,
  type RejectedBy,
  changeRecord,
  type CommandFrom,
} from '#src/writing/decide-and-append.ts';
import { nameOf, streamOf } from '#src/writing/streams.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import {
  type AgentCommand,
  type AgentRejection,
  type AgentState,
  agent,
  requestedNow,
} from './access.decider.ts';
import { APPLICATION_MS, linkOfApplication } from './applications.ts';
import { actorOfLast, everyIsMachine, refuseDependent } from './independence.ts';
import { keyPages, renderKey } from './keys.ts';
import { lastUsesOfKeys } from './last-uses.ts';

const NO_AGENT = refuse('resource_not_found', 'There is no such agent.');

export const renderAgent = (ownerId: string, state: AgentState | AgentRow): AgentRecord => ({
  id: state.agent_id,
  owner_id: ownerId,
  name: state.name,
  purpose: state.purpose,
  ...present({ pending: state.pending }),
  status: state.status,
  requested_scopes: state.last_request.scopes,
  granted_scopes: state.granted,
  ...present({ suspended_by: state.suspended_by, reason: state.reason }),
  ...(state.decided_at !== undefined && { decided_at: iso(state.decided_at) }),
  created_at: iso(state.created_at),
});

const refusalFor = (rejection: RejectedBy<AgentRejection>): Refusal => {
  const refusal = refuseRejected(rejection, NO_AGENT);
  const { rejected, detail } = rejection;
  if (rejected === 'scopes_not_requested')
    return { ...refusal, errors: [{ pointer: '/scopes', code: 'not_requested', detail }] };
  if (rejected === 'suspended_by_staff')
    return {
      ...refusal,
      detail: 'Staff suspended this agent; only the role staff can reinstate it.',
    };
  return refusal;
};

type AgentChange = {
  ownerId: string;
  agentId: string;
  command: CommandFrom<AgentState, AgentCommand>;
};

const changeAgent = (
  deps: Deps,
  call: DeskCall,
  { ownerId, agentId, command }: AgentChange,
): Promise<Outcome<AgentRecord>> =>
  changeRecord(deps, call, {
    ownerId,
    stream: streamOf(ownerId, 'agent', agentId),
    decider: agent,
    command,
    refusal: refusalFor,
    render: (state) => renderAgent(ownerId, state),
  });

type Named = DeskInput<'requestAccess'>;
type Access = EventData<'AccessRequested'>;

/** Changes a new or an existing agent, as its owner or staff name it. */
const changeNamed = async (
  deps: Deps,
  call: DeskCall,
  { owner_id: ownerId, agent_id, name, purpose, scopes }: Named,
  commandOf: (access: Access) => CommandFrom<AgentState, AgentCommand>,
): Promise<Outcome<AgentRecord>> => {
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const reserved = refuseHouseNames(deps, { '/owner_id': ownerId, '/name': name });
  if (reserved) return reserved;
  if (agent_id !== undefined && deps.credentials.agent(agent_id)?.owner !== ownerId)
    return NO_AGENT;
  const agentId = agent_id ?? `agt_${nameOf('agent', ownerId, call.idem ?? '')}`;
  const access = { agent_id: agentId, name, purpose, scopes: [...new Set(scopes)] };
  return changeAgent(deps, call, { ownerId, agentId, command: commandOf(access) });
};

export const requestAccess: DeskHandler<'requestAccess'> = (deps, input, call) =>
  changeNamed(deps, call, input, (request) => () => issue({ type: 'RequestAccess', request }));

const NOT_THE_MACHINE = refuse(
  'role_missing',
  "Only the machine's own token gives access without an approval. Request it, and another person approves it.",
);
const REQUESTED = refuse(
  'state_conflict',
  'Somebody has requested access for this agent. Approve or deny the request.',
);

/** The machine gives access by itself, which its event says: it claims neither a request nor a second person. */
export const grantAccess: DeskHandler<'grantAccess'> = async (deps, { reason, ...input }, call) =>
  (await everyIsMachine(deps, [call.actor]))
    ? changeNamed(
        deps,
        call,
        input,
        (access) => async (state, stored) =>
          state?.pending && !(await everyIsMachine(deps, actorOfLast(stored, ['AccessRequested'])))
            ? REQUESTED
            : issue({ type: 'GrantAccess', grant: { ...access, reason } }),
      )
    : NOT_THE_MACHINE;

type DecisionInput = { agent_id: string; reason: string; scopes?: string[] | undefined };
/** `call` is for the owner of the agent. */
type DecisionContext = { role: 'owner' | 'staff'; call: DeskCall };
type AgentDecision = (
  input: DecisionInput,
  context: DecisionContext,
  deps: Deps,
) => CommandFrom<AgentState, AgentCommand>;

/** Makes a handler that decides on an existing agent; its owner comes from the credentials. */
const decide =
  (command: AgentDecision) =>
  async (deps: Deps, input: DecisionInput, call: DeskCall): Promise<Outcome<AgentRecord>> => {
    const { agent_id: agentId } = input;
    const ownerId = deps.credentials.agent(agentId)?.owner;
    if (ownerId === undefined || !mayActFor(call, ownerId)) return NO_AGENT;
    const role = call.caller.roles.has('staff') ? 'staff' : 'owner';
    return changeAgent(deps, call, {
      ownerId,
      agentId,
      command: command(input, { role, call: { ...call, ownerId } }, deps),
    });
  };

const noticeFor = async (
  deps: Deps,
  call: DeskCall,
  { state, ...decision }: { state: AgentState | undefined } & Decided,
): Promise<Append[]> =>
  state
    ? mailToOwner(deps, call, {
        kind: 'access_decision',
        record: state.agent_id,
        facts: {
          agent_id: state.agent_id,
          name: state.pending?.name ?? state.name,
          ...decision,
          ...keyLinkOf(deps, call, { state, outcome: decision.outcome }),
        },
      })
    : [];

/** Where the applicant gets the first key, if the decision is on a public application whose link still works. */
const keyLinkOf = (
  { secrets }: Deps,
  { at }: DeskCall,
  { state, outcome }: { state: AgentState; outcome: Decided['outcome'] },
): Pick<MailFacts['access_decision'], 'key_link'> => {
  const { application_id: id, requested_at } = state.last_request;
  const until = requested_at + APPLICATION_MS;
  return state.pending && id !== undefined && outcome !== 'denied' && at < until
    ? { key_link: { path: linkOfApplication(secrets, id), until } }
    : {};
};

type Decided = Omit<MailFacts['access_decision'], 'agent_id' | 'name' | 'key_link'>;

export const approveAccess: DeskHandler<'approveAccess'> = decide(
  ({ scopes: given, reason }, { call }, deps) =>
    async (state, stored) => {
      const askers = state?.pending ? actorOfLast(stored, ['AccessRequested']) : [];
      const refusal = await refuseDependent(deps, call, { askers });
      if (refusal) return refusal;
      const requested = state ? requestedNow(state) : [];
      const scopes = given ?? requested;
      const isPartial = requested.some((scope) => !scopes.includes(scope));
      const outcome = isPartial ? 'partial' : 'granted';
      return issue(
        { type: 'ApproveAccess', scopes, reason },
        { effects: () => noticeFor(deps, call, { state, outcome, scopes, reason }) },
      );
    },
);
export const denyAccess: DeskHandler<'denyAccess'> = decide(
  ({ reason }, { call }, deps) =>
    (state) => {
      const { granted: scopes = [] } = state ?? {};
      return issue(
        { type: 'DenyAccess', reason },
        { effects: () => noticeFor(deps, call, { state, outcome: 'denied', scopes, reason }) },
      );
    },
);
export const suspendAgent: DeskHandler<'suspendAgent'> = decide(
  ({ reason }, { role }) =>
    () =>
      issue({ type: 'SuspendAgent', role, reason }),
);
export const reinstateAgent: DeskHandler<'reinstateAgent'> = decide(
  ({ reason }, { role }) =>
    () =>
      issue({ type: 'ReinstateAgent', role, reason }),
);

export const listAgents: DeskHandler<'listAgents'> = (deps, query, call) =>
  listRows(deps, call, {
    name: 'access',
    scope: accessScope(query.owner_id, 'agent'),
    query,
    render: (row: AgentRow) => renderAgent(query.owner_id, row),
  });

/** The agent, with its keys that are not revoked, newest first. */
export const readAgent: DeskHandler<'readAgent'> = async (deps, { agent_id }, call) => {
  const agent = deps.credentials.agent(agent_id);
  if (!agent || !mayActFor(call, agent.owner)) return NO_AGENT;
  const lastUse = await lastUsesOfKeys(deps, agent.owner);
  const keys: ListedKey[] = [];
  for await (const page of keyPages(deps, agent))
    for (const key of page)
      keys.push({
        ...renderKey(agent.owner, key, { at: call.at, agent }),
        ...lastUse(key.key_id, key.created_at),
      });
  return done({ ...renderAgent(agent.owner, agent), keys });
};
