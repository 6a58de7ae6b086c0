/** Agents with their scopes and keys, desk tokens, and public applications. */
import type {
  AgentEventType,
  EventData,
  EventOf,
  KeyEventType,
  DeskTokenEventType,
  ApplicationEventType,
} from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  reject,
  firstVersion,
  nextVersion,
  type RecordVersion,
  asStored,
} from '#src/shared/decider.ts';

/* Two deciders: the access of an agent, and each of its API keys. */

type AgentEvent = EventOf<AgentEventType>;

/** The role of the person at the desk who acts. */
type Reviewer = 'owner' | 'staff';

export type AgentCommand =
  | { type: 'RequestAccess'; request: EventData<'AccessRequested'> }
  | { type: 'GrantAccess'; grant: EventData<'AccessGranted'> }
  | { type: 'ApproveAccess'; scopes: string[]; reason: string }
  | { type: 'DenyAccess'; reason: string }
  | { type: 'SuspendAgent'; role: Reviewer; reason: string }
  | { type: 'ReinstateAgent'; role: Reviewer; reason: string };

export type AgentRejection =
  | 'agent_unknown'
  | 'scopes_not_requested'
  | 'agent_not_in_state'
  | 'suspended_by_staff';

type Access = Omit<EventData<'AccessRequested'>, 'agent_id' | 'application_id'>;

/** The last request for access and its decision, or the machine's grant. `partial`: some of its scopes were not granted. */
export type LastRequest = {
  scopes: string[];
  /** Epoch milliseconds. */
  requested_at: number;
  outcome: 'pending' | 'granted' | 'partial' | 'denied';
  reason?: string;
  decided_at?: number;
  /** The public application that it comes from. */
  application_id?: string;
};

export type AgentState = {
  agent_id: string;
  /** From the last approval; before the first one, from the request. */
  name: string;
  purpose: string;
  /** The request that is not decided yet. The granted access stays in force meanwhile. */
  pending?: Access | undefined;
  last_request: LastRequest;
  granted: string[];
  status: 'requested' | 'approved' | 'denied' | 'suspended';
  /** Set while the agent is suspended. A suspension by the owner that staff repeat becomes one by staff. */
  suspended_by?: Reviewer | undefined;
  reason?: string;
  decided_at?: number;
  created_at: number;
  version: number;
};

/** The scopes that an approval can grant: those of the pending request, or else what the agent has, to take away from. */
export const requestedNow = ({ pending, granted }: AgentState): string[] =>
  pending?.scopes ?? granted;

const foldGrant = (
  state: AgentState | undefined,
  { data, at }: EventOf<'AccessGranted'> & { at: number },
): AgentState => {
  const { agent_id, name, purpose, scopes, reason } = data;
  return {
    created_at: at,
    ...state,
    agent_id,
    name,
    purpose,
    pending: undefined,
    granted: scopes,
    status: 'approved',
    suspended_by: undefined,
    reason,
    decided_at: at,
    last_request: { scopes, requested_at: at, outcome: 'granted', reason, decided_at: at },
    version: (state?.version ?? -1) + 1,
  };
};

const foldAgent = (
  state: AgentState | undefined,
  event: AgentEvent & { at: number },
): AgentState => {
  if (event.type === 'AccessRequested') {
    const { agent_id, application_id, ...pending } = event.data;
    const { name, purpose, scopes } = pending;
    const version = (state?.version ?? -1) + 1;
    const asked = {
      scopes,
      requested_at: event.at,
      outcome: 'pending' as const,
      ...(application_id !== undefined && { application_id }),
    };
    const request = { pending, last_request: asked, version };
    // Buyers see the name, so it changes with the approval and not with the request.
    if (state && state.granted.length > 0) return { ...state, ...request };
    const first = { created_at: event.at, ...state, agent_id, name, purpose, granted: [] };
    return { ...first, ...request, status: 'requested' };
  }
  if (event.type === 'AccessGranted') return foldGrant(state, event);
  if (!state) throw new Error(`${event.type} on an agent that was never requested`);
  const next = { ...state, reason: event.data.reason, version: state.version + 1 };
  switch (event.type) {
    case 'AccessApproved': {
      const { name, purpose } = state.pending ?? state;
      const { scopes } = event.data;
      // The decision closes the request: scopes that it leaves out need a new one.
      const decision = { pending: undefined, decided_at: event.at };
      const access = { name, purpose, granted: scopes, suspended_by: undefined };
      const isPartial = requestedNow(state).some((scope) => !scopes.includes(scope));
      const last_request = decideRequest(state, event, isPartial ? 'partial' : 'granted');
      return { ...next, ...decision, ...access, last_request, status: 'approved' };
    }
    case 'AccessDenied': {
      const last_request = decideRequest(state, event, 'denied');
      const denied = { ...next, pending: undefined, last_request, decided_at: event.at };
      return state.granted.length > 0 ? denied : { ...denied, status: 'denied' };
    }
    case 'AgentSuspended':
      return { ...next, status: 'suspended', suspended_by: event.data.by_role };
    case 'AgentReinstated':
      return { ...next, status: 'approved', suspended_by: undefined };
  }
};

/** Whether an agent has exactly this access, and no request is pending. */
const hasAccess = (
  { name, purpose, granted, pending }: AgentState,
  given: EventData<'AccessGranted'>,
): boolean =>
  !pending &&
  name === given.name &&
  purpose === given.purpose &&
  granted.length === given.scopes.length &&
  granted.every((scope) => given.scopes.includes(scope));

export const agent: Decider<AgentState, AgentCommand, AgentEvent, AgentRejection> = {
  evolve: (state, event) => asStored(foldAgent(state, event)),

  decide(state, command) {
    if (command.type === 'RequestAccess') {
      return state?.status === 'suspended'
        ? reject('agent_not_in_state', 'the agent is suspended')
        : accept({ type: 'AccessRequested', data: command.request });
    }
    if (command.type === 'GrantAccess') {
      if (state?.status === 'suspended')
        return reject('agent_not_in_state', 'the agent is suspended; reinstate it first');
      return state && hasAccess(state, command.grant)
        ? accept()
        : accept({ type: 'AccessGranted', data: command.grant });
    }
    if (!state) return reject('agent_unknown', 'no such agent');
    const { agent_id } = state;
    const { reason } = command;
    switch (command.type) {
      case 'ApproveAccess': {
        const { scopes } = command;
        if (state.status === 'suspended')
          return reject('agent_not_in_state', 'the agent is suspended; reinstate it first');
        if (state.status === 'denied')
          return reject('agent_not_in_state', 'the request was denied; request access again');
        const requested = requestedNow(state);
        const extra = scopes.filter((scope) => !requested.includes(scope));
        if (extra.length > 0)
          return reject('scopes_not_requested', `not requested: ${extra.join(', ')}`);
        const isGranted = state.granted.every((scope) => scopes.includes(scope));
        if (!state.pending && isGranted) return accept();
        return accept({ type: 'AccessApproved', data: { agent_id, scopes, reason } });
      }
      case 'DenyAccess':
        if (state.status === 'denied') return accept();
        if (state.status === 'suspended')
          return reject('agent_not_in_state', 'the agent is suspended');
        return state.pending
          ? accept({ type: 'AccessDenied', data: { agent_id, reason } })
          : reject('agent_not_in_state', 'no request is pending; suspend the agent to stop it');
      case 'SuspendAgent': {
        const { role: by_role } = command;
        const isEscalation = by_role === 'staff' && state.suspended_by === 'owner';
        if (state.status === 'suspended' && !isEscalation) return accept();
        return state.status === 'approved' || isEscalation
          ? accept({ type: 'AgentSuspended', data: { agent_id, reason, by_role } })
          : reject('agent_not_in_state', `the agent is ${state.status}`);
      }
      case 'ReinstateAgent':
        if (state.status === 'approved') return accept();
        if (state.status !== 'suspended')
          return reject('agent_not_in_state', `the agent is ${state.status}`);
        return state.suspended_by === 'staff' && command.role !== 'staff'
          ? reject('suspended_by_staff', 'staff suspended the agent')
          : accept({ type: 'AgentReinstated', data: { agent_id, reason } });
    }
  },
};

/** The request with its decision; without a pending request, the last one as it was. */
const decideRequest = (
  { pending, last_request }: AgentState,
  { at, data }: { at: number; data: { reason: string } },
  outcome: LastRequest['outcome'],
): LastRequest =>
  pending ? { ...last_request, outcome, reason: data.reason, decided_at: at } : last_request;

type KeyEvent = EventOf<KeyEventType>;

export type KeyCommand =
  | { type: 'IssueKey'; key: EventData<'KeyIssued'> }
  | { type: 'RetireKey'; replacedBy: string; expiresAt: number; at: number }
  | { type: 'RevokeKey'; reason: string };

type KeyRejection = 'key_exists' | 'key_unknown' | 'key_not_active';

export type KeyState = EventData<'KeyIssued'> & {
  status: 'active' | 'rotating' | 'revoked';
  revoked_reason?: string;
  /** When a key that replaces this one was issued. */
  rotated_at?: number;
  created_at: number;
  version: number;
};

/** An API key. A key that another one replaces is `rotating` until it expires. */
export const apiKey: Decider<KeyState, KeyCommand, KeyEvent, KeyRejection> = {
  evolve(state, event) {
    if (event.type === 'KeyIssued')
      return { ...event.data, status: 'active', created_at: event.at, version: 0 };
    if (!state) throw new Error(`${event.type} on a key that was never issued`);
    const version = state.version + 1;
    return event.type === 'KeyRetired'
      ? {
          ...state,
          status: 'rotating',
          expires_at: event.data.expires_at,
          rotated_at: event.at,
          version,
        }
      : { ...state, status: 'revoked', revoked_reason: event.data.reason, version };
  },

  decide(state, command) {
    if (command.type === 'IssueKey')
      return state
        ? reject('key_exists', 'the key exists')
        : accept({ type: 'KeyIssued', data: command.key });
    if (!state) return reject('key_unknown', 'no such key');
    const { key_id } = state;
    if (command.type === 'RevokeKey')
      return state.status === 'revoked'
        ? accept()
        : accept({ type: 'KeyRevoked', data: { key_id, reason: command.reason } });
    if (state.status !== 'active' || state.expires_at <= command.at)
      return reject('key_not_active', 'only an active key can be rotated');
    const expires_at = Math.min(command.expiresAt, state.expires_at);
    return accept({
      type: 'KeyRetired',
      data: { key_id, replaced_by: command.replacedBy, expires_at },
    });
  },
};

type DeskTokenEvent = EventOf<DeskTokenEventType>;

type DeskTokenCommand =
  | { type: 'IssueToken'; token: EventData<'DeskTokenIssued'> }
  | { type: 'RevokeToken'; reason: string };

type DeskTokenRejection = 'token_exists' | 'token_unknown';

export type DeskTokenState = EventData<'DeskTokenIssued'> & { status: 'active' | 'revoked' };

export const deskToken: Decider<
  DeskTokenState,
  DeskTokenCommand,
  DeskTokenEvent,
  DeskTokenRejection
> = {
  evolve(state, event) {
    if (event.type === 'DeskTokenIssued') return { ...event.data, status: 'active' };
    if (!state) throw new Error(`${event.type} on a token that was never issued`);
    return { ...state, status: 'revoked' };
  },

  decide(state, command) {
    if (command.type === 'IssueToken')
      return state
        ? reject('token_exists', 'the token exists')
        : accept({ type: 'DeskTokenIssued', data: command.token });
    if (!state) return reject('token_unknown', 'no such token');
    if (state.status === 'revoked') return accept();
    const { token_id } = state;
    return accept({ type: 'DeskTokenRevoked', data: { token_id, reason: command.reason } });
  },
};

type ApplicationEvent = EventOf<ApplicationEventType>;
type Received = EventData<'ApplicationReceived'>;

export type ApplicationCommand =
  | { type: 'Receive'; application: Received }
  | { type: 'ConfirmApplication'; at: number; ownerId: string; agentId: string }
  | { type: 'EndApplication'; reason: string };

type ApplicationRejection = 'application_unknown' | 'application_over';

/** A public application for access. Its texts can be read while it waits for its confirmation. */
export type ApplicationState = Received &
  RecordVersion & {
    status: 'waiting' | 'confirmed' | 'ended';
    confirmed?: { owner_id: string; agent_id: string; at: number };
  };

export const application: Decider<
  ApplicationState,
  ApplicationCommand,
  ApplicationEvent,
  ApplicationRejection
> = {
  evolve(state, event) {
    const { at } = event;
    if (event.type === 'ApplicationReceived')
      return { ...event.data, status: 'waiting', ...firstVersion(at) };
    if (!state) throw new Error(`${event.type} on an application that was never received`);
    const next = { ...state, ...nextVersion(state, at) };
    if (event.type === 'SubjectErased')
      return state.status === 'waiting' ? { ...next, status: 'ended' } : next;
    const { owner_id, agent_id } = event.data;
    return { ...next, status: 'confirmed', confirmed: { owner_id, agent_id, at } };
  },

  decide(state, command) {
    if (command.type === 'Receive')
      return accept({ type: 'ApplicationReceived', data: command.application });
    if (!state) return reject('application_unknown', 'no such application');
    const { application_id, status, expires_at } = state;
    const erase = (reason: string): ApplicationEvent => ({
      type: 'SubjectErased',
      data: { subject: application_id, reason },
    });
    if (command.type === 'EndApplication')
      return status === 'waiting' ? accept(erase(command.reason)) : accept();
    if (status === 'confirmed') return accept();
    const { at, ownerId: owner_id, agentId: agent_id } = command;
    return status === 'ended' || at >= expires_at
      ? reject('application_over', 'the application was not confirmed in time, or was ended')
      : accept<ApplicationEvent>(
          { type: 'ApplicationConfirmed', data: { application_id, owner_id, agent_id } },
          // From now on the profile holds its texts.
          erase('It was confirmed.'),
        );
  },
};
