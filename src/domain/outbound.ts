import type { EventData, EventOf, OutboundEventType } from '#contracts/events/index.ts';
import { accept, type Decider, type Decision, reject } from './decider.ts';
import { deciderFor, isAtItsEnd, outboundEvolve } from './outbound-state.ts';
import type { OutboundDecision, OutboundState } from './outbound-state.ts';
import { isOneName } from './person.ts';

type Event = EventOf<OutboundEventType>;
type Proposal = EventData<'OutboundProposed'>;

/** A person at the desk, in the role in which they decide. An agent is never one. */
type Person = { by: string; name?: string; role: 'owner' | 'staff' };

export type OutboundCommand =
  | { type: 'Propose'; proposal: Proposal }
  /** `revision` and `content_sha256` of the proposal are the new ones. */
  | { type: 'Revise'; at: number; proposal: Proposal }
  | (Person & { type: 'Approve'; at: number; contentSha256: string; note?: string })
  | (Person & { type: 'Reject'; at: number; contentSha256: string; reason: string })
  | (Person & { type: 'RequestChanges'; at: number; contentSha256: string; reason: string })
  | { type: 'Cancel'; at: number; by: string; reason?: string }
  | { type: 'Expire'; at: number }
  /** contentSha256: of the bytes that are about to leave, hashed anew. */
  | { type: 'Dispatch'; at: number; contentSha256: string; until: number }
  | { type: 'Defer'; attempt: number; reason: string; retryAt: number; uncertain?: boolean }
  | { type: 'Confirm'; attempt: number; evidence: string }
  | { type: 'Fail'; attempt: number; reason: string }
  | { type: 'LoseTrack'; attempt: number; reason: string }
  | { type: 'Observe'; by: string; outcome: 'confirmed' | 'failed'; evidence: string };

export type OutboundRejection =
  | 'outbound_exists'
  | 'outbound_unknown'
  | 'outbound_closed'
  | 'not_revisable'
  | 'not_approved'
  | 'not_due'
  | 'content_changed'
  | 'expired'
  | 'wrong_role'
  | 'already_decided'
  | 'not_dispatched'
  | 'other_kind';

/** Approving, sending and all between, over one request. Whatever is not listed here cannot happen. */
export const outbound: Decider<OutboundState, OutboundCommand, Event, OutboundRejection> = {
  evolve: outboundEvolve,
  decide(state, command) {
    if (command.type === 'Propose')
      return state
        ? reject('outbound_exists', `request ${state.outbound_id} exists`)
        : accept({ type: 'OutboundProposed', data: command.proposal });
    if (!state) return reject('outbound_unknown', 'no such request');
    switch (command.type) {
      case 'Revise':
        return revise(state, command);
      case 'Approve':
        return approve(state, command);
      case 'Reject':
      case 'RequestChanges':
        return turnDown(state, command);
      case 'Cancel': {
        if (state.status === 'canceled') return accept();
        if (!isUntouched(state)) return closed(state);
        const { by, reason } = command;
        const data = { ...named(state), by, ...(reason !== undefined && { reason }) };
        return accept({ type: 'OutboundCanceled', data });
      }
      case 'Expire':
        return isUntouched(state) && command.at >= state.schedule.not_after
          ? accept({ type: 'OutboundExpired', data: named(state) })
          : accept();
      case 'Observe':
        return observe(state, command);
      default:
        return deliver(state, command);
    }
  },
};

const named = ({ outbound_id, agent_id, task_id }: OutboundState) => ({
  outbound_id,
  agent_id,
  ...(task_id !== undefined && { task_id }),
});

/** Nothing has had an effect, for certain, and nobody is at it. */
const isUntouched = ({ status, retry_at, uncertain }: OutboundState): boolean =>
  status === 'pending_approval' ||
  status === 'changes_requested' ||
  status === 'approved' ||
  (status === 'dispatched' && retry_at !== undefined && !uncertain);

const closed = ({ status }: OutboundState) => reject('outbound_closed', `the request is ${status}`);

type Of<Type> = Extract<OutboundCommand, { type: Type }>;
type Decided = Decision<Event, OutboundRejection>;

const revise = (state: OutboundState, { at, proposal }: Of<'Revise'>): Decided => {
  if (state.kind !== proposal.kind)
    return reject('other_kind', `the request is a ${state.kind}, not a ${proposal.kind}`);
  const waits = ['pending_approval', 'changes_requested', 'approved'].includes(state.status);
  if (!waits) return reject('not_revisable', `the request is ${state.status}`);
  if (at >= state.schedule.not_after) return expired();
  const { context_id: _first, ...data } = proposal;
  return accept({ type: 'OutboundRevised', data: { ...data, ...named(state) } });
};

const expired = () => reject('expired', 'the time in which it could be sent is over');

/** Why this person cannot decide on this content now. */
const unfit = (
  state: OutboundState,
  { at, role, contentSha256 }: Of<'Approve'> | Of<'Reject'> | Of<'RequestChanges'>,
): Decided | undefined => {
  if (isAtItsEnd(state) || state.status === 'dispatched') return closed(state);
  if (at >= state.schedule.not_after) return expired();
  const needed = deciderFor(state.approval.mode);
  if (role !== needed) return reject('wrong_role', `the ${needed} decides this request`);
  return contentSha256 === state.content_sha256
    ? undefined
    : reject('content_changed', 'the decision is on other content than the request has');
};

/** What may come of an approval, and leaves it standing. */
const APPROVED: readonly OutboundState['status'][] = [
  'approved',
  'dispatched',
  'confirmed',
  'failed',
  'outcome_unknown',
];

const approve = (state: OutboundState, command: Of<'Approve'>): Decided => {
  const { by, name, role, note } = command;
  const isSame = (one: OutboundDecision): boolean =>
    one.by === by || (name !== undefined && one.name !== undefined && isOneName(one.name, name));
  const mine = state.decisions.find((one) => one.decision === 'approve' && isSame(one));
  // Said once more, it holds already, whatever has become of it.
  if (mine?.content_sha256 === command.contentSha256 && APPROVED.includes(state.status))
    return accept();
  const fault = unfit(state, command);
  if (fault) return fault;
  if (mine) return accept();
  if (state.status !== 'pending_approval')
    return reject('already_decided', `the request is ${state.status}`);
  const { revision, content_sha256 } = state;
  const who = { by, role, ...(name !== undefined && { name }) };
  const data = { ...named(state), ...who, revision, content_sha256 };
  return accept({ type: 'OutboundApproved', data: { ...data, ...(note && { note }) } });
};

const turnDown = (state: OutboundState, command: Of<'Reject'> | Of<'RequestChanges'>): Decided => {
  const rejects = command.type === 'Reject';
  const fault = unfit(state, command);
  if (fault) return fault;
  if (!rejects && state.status === 'changes_requested') return accept();
  const { by, name, role, reason } = command;
  const { revision, content_sha256 } = state;
  const who = { by, role, ...(name !== undefined && { name }) };
  const data = { ...named(state), ...who, revision, content_sha256, reason };
  return accept({ type: rejects ? 'OutboundRejected' : 'OutboundChangesRequested', data });
};

const observe = (state: OutboundState, { by, outcome, evidence }: Of<'Observe'>): Decided => {
  if (state.status === outcome) return accept();
  if (state.status !== 'outcome_unknown')
    return reject('not_dispatched', `the request is ${state.status}; only an unknown outcome is`);
  const { attempts: attempt } = state;
  return accept(
    outcome === 'confirmed'
      ? { type: 'OutboundConfirmed', data: { ...named(state), attempt, evidence, by } }
      : { type: 'OutboundFailed', data: { ...named(state), attempt, reason: evidence, by } },
  );
};

const deliver = (
  state: OutboundState,
  command: Of<'Dispatch'> | Of<'Defer'> | Of<'Confirm'> | Of<'Fail'> | Of<'LoseTrack'>,
): Decided => {
  if (command.type === 'Dispatch') return dispatch(state, command);
  // What waits for its first or its next attempt can only be given up.
  const waits = state.status === 'dispatched' && state.retry_at !== undefined;
  const fails = command.type === 'Fail' && !state.uncertain;
  const isFit = waits
    ? fails || command.type === 'LoseTrack'
    : state.status === 'dispatched' || (state.status === 'approved' && fails);
  if (!isFit) return reject('not_dispatched', `the request is ${state.status}`);
  const { attempt } = command;
  if (attempt !== state.attempts)
    return reject('not_dispatched', `attempt ${attempt} is not the last one`);
  const data = { ...named(state), attempt };
  switch (command.type) {
    case 'Defer': {
      const { reason, retryAt: retry_at, uncertain } = command;
      return accept({
        type: 'OutboundDeferred',
        data: { ...data, reason, retry_at, ...(uncertain && { uncertain }) },
      });
    }
    case 'Confirm':
      return accept({
        type: 'OutboundConfirmed',
        data: { ...data, evidence: command.evidence },
      });
    case 'Fail':
      return accept({ type: 'OutboundFailed', data: { ...data, reason: command.reason } });
    case 'LoseTrack':
      return accept({
        type: 'OutboundOutcomeUnknown',
        data: { ...data, reason: command.reason },
      });
  }
};

const dispatch = (state: OutboundState, command: Of<'Dispatch'>): Decided => {
  const { at, contentSha256, until } = command;
  const again = state.status === 'dispatched' && state.retry_at !== undefined;
  if (state.status !== 'approved' && !again)
    return reject('not_approved', `the request is ${state.status}`);
  if (at >= state.schedule.not_after) return expired();
  if (at < (state.retry_at ?? state.schedule.not_before ?? 0))
    return reject('not_due', 'it is too early');
  const bound = state.decisions.filter(
    ({ decision, content_sha256 }) => decision === 'approve' && content_sha256 === contentSha256,
  );
  if (contentSha256 !== state.content_sha256 || bound.length < state.approval.required)
    return reject('content_changed', 'these bytes are not the ones that were approved');
  return accept({
    type: 'OutboundDispatched',
    data: {
      ...named(state),
      revision: state.revision,
      content_sha256: state.content_sha256,
      attempt: state.attempts + 1,
      adapter: state.via.adapter,
      until,
    },
  });
};
