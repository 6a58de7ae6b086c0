import type { AgentEventType, EventData, EventOf, KeyEventType } from '#contracts/events/index.ts';
import { accept, type Decider, reject } from './decider.ts';

/* An agent and its review; then its keys. Two streams, two deciders, one subject. */

type AgentEvent = EventOf<AgentEventType>;

/** The role in which a person at the desk acts. */
type Reviewer = 'owner' | 'staff';

export type AgentCommand =
  | { type: 'RequestAccess'; request: EventData<'AccessRequested'> }
  | { type: 'ApproveAccess'; scopes: string[]; reason: string }
  | { type: 'DenyAccess'; reason: string }
  | { type: 'SuspendAgent'; role: Reviewer; reason: string }
  | { type: 'ReinstateAgent'; role: Reviewer; reason: string };

export type AgentRejection =
  | 'agent_unknown'
  | 'scopes_not_requested'
  | 'agent_not_in_state'
  | 'suspended_by_staff';

/** What an agent is called, what it is for, and what it may do. */
type Access = Omit<EventData<'AccessRequested'>, 'agent_id'>;

export type AgentState = {
  agent_id: string;
  /** As approved last; until the first approval as asked for. */
  name: string;
  purpose: string;
  /** Asked for and not decided. What is granted stays in force meanwhile. */
  pending?: Access | undefined;
  /** The scopes that are pending or were refused; else those granted. */
  requested: string[];
  granted: string[];
  status: 'requested' | 'approved' | 'denied' | 'suspended';
  /** There while it is suspended: an owner's suspension that staff repeat is staff's. */
  suspended_by?: Reviewer | undefined;
  reason?: string;
  decided_at?: number;
  created_at: number;
  version: number;
};

export const agent: Decider<AgentState, AgentCommand, AgentEvent, AgentRejection> = {
  evolve(state, event) {
    if (event.type === 'AccessRequested') {
      const { agent_id, ...pending } = event.data;
      const { name, purpose, scopes: requested } = pending;
      const version = (state?.version ?? -1) + 1;
      // Buyers read the name: it changes with the approval, not with the wish.
      if (state && state.granted.length > 0) return { ...state, pending, requested, version };
      const kept = { created_at: event.at, ...state, agent_id, name, purpose, granted: [] };
      return { ...kept, pending, requested, status: 'requested', version };
    }
    if (!state) throw new Error(`${event.type} on an agent that was never requested`);
    const next = { ...state, reason: event.data.reason, version: state.version + 1 };
    switch (event.type) {
      case 'AccessApproved': {
        const { name, purpose } = state.pending ?? state;
        const { scopes } = event.data;
        // Decided is decided: more, or the rest, is asked for anew.
        const decided = { pending: undefined, requested: scopes, decided_at: event.at };
        const inForce = { name, purpose, granted: scopes, suspended_by: undefined };
        return { ...next, ...decided, ...inForce, status: 'approved' };
      }
      case 'AccessDenied': {
        const decided = { ...next, pending: undefined, decided_at: event.at };
        return state.granted.length > 0
          ? { ...decided, requested: state.granted }
          : { ...decided, status: 'denied' };
      }
      case 'AgentSuspended':
        return { ...next, status: 'suspended', suspended_by: event.data.by_role ?? 'staff' };
      case 'AgentReinstated':
        return { ...next, status: 'approved', suspended_by: undefined };
    }
  },

  decide(state, command) {
    if (command.type === 'RequestAccess') {
      return state?.status === 'suspended'
        ? reject('agent_not_in_state', 'the agent is suspended')
        : accept({ type: 'AccessRequested', data: command.request });
    }
    if (!state) return reject('agent_unknown', 'no such agent');
    const { agent_id } = state;
    const { reason } = command;
    switch (command.type) {
      case 'ApproveAccess': {
        const { scopes } = command;
        const extra = scopes.filter((scope) => !state.requested.includes(scope));
        if (extra.length > 0)
          return reject('scopes_not_requested', `not requested: ${extra.join(', ')}`);
        if (state.status === 'suspended')
          return reject('agent_not_in_state', 'the agent is suspended; reinstate it first');
        if (state.status === 'denied')
          return reject('agent_not_in_state', 'the request was refused; ask for access again');
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
          : reject('agent_not_in_state', 'no request is open; to stop the agent, suspend it');
      case 'SuspendAgent': {
        const { role: by_role } = command;
        const isHeavier = by_role === 'staff' && state.suspended_by === 'owner';
        if (state.status === 'suspended' && !isHeavier) return accept();
        return state.status === 'approved' || isHeavier
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

type KeyEvent = EventOf<KeyEventType>;

export type KeyCommand =
  | { type: 'IssueKey'; key: EventData<'KeyIssued'> }
  | { type: 'RetireKey'; replacedBy: string; expiresAt: number; at: number }
  | { type: 'RevokeKey'; reason: string };

export type KeyRejection = 'key_exists' | 'key_unknown' | 'key_not_active';

export type KeyState = EventData<'KeyIssued'> & {
  status: 'active' | 'rotating' | 'revoked';
  revoked_reason?: string;
  /** When another key was issued in its place. */
  rotated_at?: number;
  created_at: number;
  version: number;
};

/** An API key. The key of a rotation that goes is `rotating` until it expires. */
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
