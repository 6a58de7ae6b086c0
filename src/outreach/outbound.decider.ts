/** A request for outreach: from the proposal over its approvals to the attempts to send it. */
import type {
  EventData,
  Happened,
  OutboundEventType,
  EventOf,
} from '#contracts/registries/events.ts';
import {
  type AttemptRejection,
  type AttemptState,
  decideOutcome,
  foldAttempt,
  isUnderWay,
  type OutcomeCommand,
  rejectAttempt,
} from '#src/sending/attempt.decider.ts';
import {
  firstVersion,
  type RecordVersion,
  accept,
  type Decider,
  type Decision,
  reject,
  asStored,
} from '#src/shared/decider.ts';
import { isOnePerson } from '#src/shared/person.ts';
import { present } from '#src/shared/json.ts';

export type OutboundStatus =
  | 'pending_approval'
  | 'changes_requested'
  | 'approved'
  | 'dispatched'
  | 'confirmed'
  | 'failed'
  | 'outcome_unknown'
  | 'rejected'
  | 'expired'
  | 'canceled';

type OutboundDecision = {
  by: string;
  name: string;
  person_id: string;
  role: string;
  at: number;
  decision: 'approve' | 'reject' | 'request_changes';
  note?: string | undefined;
  revision: number;
  content_sha256: string;
  sealed_how_asked?: string;
};

export type OutboundState = EventData<'OutboundProposed'> &
  AttemptState &
  RecordVersion & {
    status: OutboundStatus;
    status_reason?: string | undefined;
    /** The decisions on the present content. */
    decisions: OutboundDecision[];
    outcome: 'none' | 'unknown' | 'rejected' | 'observed';
    evidence?: string;
  };

/** What names the request: its account, its recipient or the card of another agent. */
export const nameOfOutbound = ({ target }: Pick<OutboundState, 'target'>): string | undefined =>
  target['account_ref'] ?? target['recipient_ref'] ?? target['agent_card_url'];

const ENDS: readonly OutboundStatus[] = [
  'confirmed',
  'failed',
  'outcome_unknown',
  'rejected',
  'expired',
  'canceled',
];

/** Whether nothing more happens without a person. */
export const isAtItsEnd = ({ status }: Pick<OutboundState, 'status'>): boolean =>
  ENDS.includes(status);

/** Whether nothing more can happen. A person or a late answer can still settle an unknown outcome. */
export const isSettled = (state: Pick<OutboundState, 'status'>): boolean =>
  isAtItsEnd(state) && state.status !== 'outcome_unknown';

/** Whether no attempt was made yet. */
export const isUndispatched = (status: OutboundStatus): boolean =>
  status === 'pending_approval' || status === 'changes_requested' || status === 'approved';

/** The role that decides on requests of this mode. */
export const deciderFor = (mode: string): 'owner' | 'staff' =>
  mode === 'owner_controlled' ? 'owner' : 'staff';

/** Whether a person with the role may decide: on a delivery also staff, where the owner does. */
const mayDecide = (
  { kind, approval }: Pick<OutboundState, 'kind' | 'approval'>,
  role: DecidingPerson['role'],
): boolean => {
  const decider = deciderFor(approval.mode);
  return role === decider || (kind === 'handoff_delivery' && decider === 'owner');
};

/** The status at `at`, in epoch milliseconds: a request expires at its `not_after`, before the event is appended. */
export const statusAt = (state: OutboundState, at: number): OutboundStatus =>
  isUndispatched(state.status) && at >= state.schedule.not_after ? 'expired' : state.status;

/** Folds an event into the state. Throws on a transition that is impossible. */
export const foldOutbound = (
  state: OutboundState | undefined,
  event: Happened<OutboundEventType>,
): OutboundState => {
  if (event.type === 'OutboundProposed')
    return {
      ...event.data,
      status: event.data.approval.required === 0 ? 'approved' : 'pending_approval',
      decisions: [],
      attempts: 0,
      outcome: 'none',
      ...firstVersion(event.at),
    };
  if (!state) throw new Error(`${event.type} on a request that was never proposed`);
  const updated = { updated_at: event.at, version: state.version + 1 };
  return asStored({ ...state, ...changesOf(state, event), ...updated });
};

const changesOf = (
  state: OutboundState,
  event: Happened<OutboundEventType>,
): Partial<OutboundState> => {
  switch (event.type) {
    case 'OutboundProposed':
      throw new Error('a request was proposed twice');
    case 'OutboundRevised':
      return {
        ...event.data,
        external_id: event.data.external_id,
        campaigns: event.data.campaigns,
        status: 'pending_approval',
        status_reason: undefined,
        decisions: [],
      };
    case 'OutboundApproved':
      return foldApproval(state, event);
    case 'OutboundRejected':
      return { ...addDecision(state, event, 'reject'), status: 'rejected' };
    case 'OutboundChangesRequested':
      return { ...addDecision(state, event, 'request_changes'), status: 'changes_requested' };
    case 'OutboundExpired':
      return { status: 'expired', retry_at: undefined };
    case 'OutboundCanceled': {
      const { reason } = event.data;
      return {
        status: 'canceled',
        retry_at: undefined,
        ...(reason !== undefined && { status_reason: reason }),
      };
    }
    case 'OutboundDispatched':
      return { status: 'dispatched', ...foldAttempt(event) };
    case 'OutboundDeferred':
      return { ...foldAttempt(event), status_reason: event.data.reason };
    case 'OutboundConfirmed':
      return {
        ...foldAttempt(event),
        status: 'confirmed',
        outcome: 'observed',
        evidence: event.data.evidence,
      };
    case 'OutboundFailed': {
      const { reason: status_reason } = event.data;
      return { ...foldAttempt(event), status: 'failed', outcome: 'rejected', status_reason };
    }
    case 'OutboundOutcomeUnknown': {
      const { reason: status_reason } = event.data;
      const attempt = foldAttempt(event);
      return { ...attempt, status: 'outcome_unknown', outcome: 'unknown', status_reason };
    }
  }
};

const foldApproval = (
  state: OutboundState,
  { data, at }: Happened<'OutboundApproved'>,
): Partial<OutboundState> => {
  const { by, name, person_id, role, revision, content_sha256, note, sealed_how_asked } = data;
  const decision = { by, role, at, revision, content_sha256, name, person_id, note };
  const approval = { ...decision, ...present({ sealed_how_asked }) };
  const decisions = [...state.decisions, { ...approval, decision: 'approve' as const }];
  const count = decisions.filter(({ decision }) => decision === 'approve').length;
  return { decisions, ...(count >= state.approval.required && { status: 'approved' as const }) };
};

const addDecision = (
  state: OutboundState,
  { data, at }: Happened<'OutboundRejected' | 'OutboundChangesRequested'>,
  decision: 'reject' | 'request_changes',
): Partial<OutboundState> => {
  const { by, name, person_id, role, revision, content_sha256, reason } = data;
  const one = { by, role, at, decision, revision, content_sha256, note: reason, name, person_id };
  return { decisions: [...state.decisions, one], status_reason: reason };
};

type Event = EventOf<OutboundEventType>;
type Proposal = EventData<'OutboundProposed'>;

/** A person at the desk with the role that decides; never an agent. */
type DecidingPerson = {
  by: string;
  name: string;
  person_id: string;
  role: 'owner' | 'staff';
};

export type OutboundCommand =
  | { type: 'Propose'; proposal: Proposal }
  /** `proposal` has the new `revision` and `content_sha256`; `contentSha256` is that of the content that a person edited. */
  | { type: 'Revise'; at: number; proposal: Proposal; contentSha256?: string }
  | (DecidingPerson & {
      type: 'Approve';
      at: number;
      contentSha256: string;
      note?: string;
      sealedHowAsked?: string;
    })
  | (DecidingPerson & { type: 'Reject'; at: number; contentSha256: string; reason: string })
  | (DecidingPerson & { type: 'RequestChanges'; at: number; contentSha256: string; reason: string })
  | { type: 'Cancel'; at: number; by: string; reason?: string }
  | { type: 'Expire'; at: number }
  /** `contentSha256` is computed from the bytes that are about to be sent. */
  | { type: 'Dispatch'; at: number; contentSha256: string; until: number }
  | OutcomeCommand
  | { type: 'Observe'; by: string; outcome: 'confirmed' | 'failed'; evidence: string };

export type OutboundRejection =
  | 'outbound_exists'
  | 'outbound_unknown'
  | 'outbound_closed'
  | 'not_revisable'
  | 'not_approved'
  | 'content_changed'
  | 'expired'
  | 'wrong_role'
  | 'already_decided'
  | 'other_kind'
  | AttemptRejection;

/** An outreach request: its approval, its delivery and its outcome. */
export const outbound: Decider<OutboundState, OutboundCommand, Event, OutboundRejection> = {
  evolve: foldOutbound,
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
        return declineOrReturn(state, command);
      case 'Cancel': {
        if (state.status === 'canceled') return accept();
        if (!isUnsent(state)) return rejectClosed(state);
        const data = { ...referenceTo(state), by: command.by, reason: command.reason };
        return accept({ type: 'OutboundCanceled', data });
      }
      case 'Expire':
        return isUnsent(state) && command.at >= state.schedule.not_after
          ? accept({ type: 'OutboundExpired', data: referenceTo(state) })
          : accept();
      case 'Observe':
        return observe(state, command);
      case 'Dispatch':
        return dispatch(state, command);
      default:
        return settle(state, command);
    }
  },
};

const referenceTo = ({ outbound_id, agent_id, task_id }: OutboundState) => ({
  outbound_id,
  agent_id,
  task_id,
});

/** Whether certainly nothing was sent and no attempt is under way. */
const isUnsent = (state: OutboundState): boolean =>
  isUndispatched(state.status) ||
  (state.status === 'dispatched' && !isUnderWay(state) && !state.uncertain);

const rejectClosed = ({ status }: OutboundState) =>
  reject('outbound_closed', `the request is ${status}`);

type Of<Type> = Extract<OutboundCommand, { type: Type }>;
type OutboundVerdict = Decision<Event, OutboundRejection>;

const revise = (
  state: OutboundState,
  { at, proposal, contentSha256 = state.content_sha256 }: Of<'Revise'>,
): OutboundVerdict => {
  if (state.kind !== proposal.kind)
    return reject('other_kind', `the request is a ${state.kind}, not a ${proposal.kind}`);
  if (!isUndispatched(state.status))
    return reject('not_revisable', `the request is ${state.status}`);
  if (at >= state.schedule.not_after) return rejectExpired();
  if (contentSha256 !== state.content_sha256) return rejectOldContent();
  const { context_id: _first, ...data } = proposal;
  return accept({ type: 'OutboundRevised', data: { ...data, ...referenceTo(state) } });
};

const rejectExpired = () => reject('expired', 'the time in which it can be sent is over');
const rejectOldContent = () =>
  reject('content_changed', 'the decision is about content that the request no longer has');

/** Rejects a decision that this person cannot make on this content now. */
const rejectDecision = (
  state: OutboundState,
  { at, role, contentSha256 }: Of<'Approve'> | Of<'Reject'> | Of<'RequestChanges'>,
): OutboundVerdict | undefined => {
  if (isAtItsEnd(state) || state.status === 'dispatched') return rejectClosed(state);
  if (at >= state.schedule.not_after) return rejectExpired();
  if (!mayDecide(state, role))
    return reject('wrong_role', `the ${deciderFor(state.approval.mode)} decides this request`);
  return contentSha256 === state.content_sha256 ? undefined : rejectOldContent();
};

/** The statuses in which an approval is still in force. */
const APPROVED: readonly OutboundState['status'][] = [
  'approved',
  'dispatched',
  'confirmed',
  'failed',
  'outcome_unknown',
];

const approve = (state: OutboundState, command: Of<'Approve'>): OutboundVerdict => {
  const { by, name, person_id, role } = command;
  const isSame = (one: OutboundDecision): boolean => one.by === by || isOnePerson(one, command);
  const earlier = state.decisions.find((one) => one.decision === 'approve' && isSame(one));
  // A repeated approval is in force already, whatever happened since.
  if (earlier?.content_sha256 === command.contentSha256 && APPROVED.includes(state.status))
    return accept();
  const rejection = rejectDecision(state, command);
  if (rejection) return rejection;
  if (earlier) return accept();
  if (state.status !== 'pending_approval')
    return reject('already_decided', `the request is ${state.status}`);
  const { revision, content_sha256 } = state;
  const { note, sealedHowAsked: sealed_how_asked } = command;
  const decision = { by, role, name, person_id, revision, content_sha256, note };
  const data = { ...referenceTo(state), ...decision, ...present({ sealed_how_asked }) };
  return accept({ type: 'OutboundApproved', data });
};

const declineOrReturn = (
  state: OutboundState,
  command: Of<'Reject'> | Of<'RequestChanges'>,
): OutboundVerdict => {
  const rejects = command.type === 'Reject';
  const rejection = rejectDecision(state, command);
  if (rejection) return rejection;
  if (!rejects && state.kind === 'handoff_delivery')
    return reject('not_revisable', 'a delivery has no text to change: refuse it with the reason');
  if (!rejects && state.status === 'changes_requested') return accept();
  const { by, name, person_id, role, reason } = command;
  const { revision, content_sha256 } = state;
  const data = {
    ...referenceTo(state),
    by,
    role,
    name,
    person_id,
    revision,
    content_sha256,
    reason,
  };
  return accept({ type: rejects ? 'OutboundRejected' : 'OutboundChangesRequested', data });
};

const observe = (
  state: OutboundState,
  { by, outcome, evidence }: Of<'Observe'>,
): OutboundVerdict => {
  if (state.status === outcome) return accept();
  if (state.status !== 'outcome_unknown')
    return reject(
      'not_dispatched',
      `the request is ${state.status}; only an unknown outcome can be observed`,
    );
  const { attempts: attempt } = state;
  return accept(
    outcome === 'confirmed'
      ? { type: 'OutboundConfirmed', data: { ...referenceTo(state), attempt, evidence, by } }
      : { type: 'OutboundFailed', data: { ...referenceTo(state), attempt, reason: evidence, by } },
  );
};

const OUTCOMES = {
  Defer: 'OutboundDeferred',
  Confirm: 'OutboundConfirmed',
  Fail: 'OutboundFailed',
  LoseTrack: 'OutboundOutcomeUnknown',
} as const;

const settle = (state: OutboundState, command: OutcomeCommand): OutboundVerdict => {
  const { status } = state;
  const isLost = status === 'outcome_unknown';
  if (status !== 'approved' && status !== 'dispatched' && !isLost)
    return reject('not_dispatched', `the request is ${status}`);
  const record = { kind: 'outreach', types: OUTCOMES, about: referenceTo(state), isLost } as const;
  return decideOutcome(state, command, record);
};

const dispatch = (state: OutboundState, command: Of<'Dispatch'>): OutboundVerdict => {
  const { at, contentSha256: content_sha256, until } = command;
  const { status, schedule, revision, via } = state;
  if (status !== 'approved' && status !== 'dispatched')
    return reject('not_approved', `the request is ${status}`);
  if (at >= schedule.not_after) return rejectExpired();
  const rejection = rejectAttempt(state, { at, notBefore: schedule.not_before });
  if (rejection) return rejection;
  const approvals = state.decisions.filter(
    (one) => one.decision === 'approve' && one.content_sha256 === content_sha256,
  );
  if (content_sha256 !== state.content_sha256 || approvals.length < state.approval.required)
    return reject('content_changed', 'the content to send is not the content that was approved');
  const attempt = { attempt: state.attempts + 1, adapter: via.adapter, until };
  const data = { ...referenceTo(state), revision, content_sha256, ...attempt };
  return accept({ type: 'OutboundDispatched', data });
};
