import type { EventData, Happened, OutboundEventType } from '#contracts/registries/events.ts';
import { firstVersion, type RecordVersion } from '#src/shared/decider.ts';
import type { AttemptState } from '#src/sending/attempt.decider.ts';

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

export type OutboundDecision = {
  by: string;
  name?: string | undefined;
  person_id?: string | undefined;
  role: string;
  at: number;
  decision: 'approve' | 'reject' | 'request_changes';
  note?: string | undefined;
  revision: number;
  content_sha256: string;
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

/** Whether nothing more can happen. A person can still observe an unknown outcome. */
export const isSettled = (state: Pick<OutboundState, 'status'>): boolean =>
  isAtItsEnd(state) && state.status !== 'outcome_unknown';

/** Whether no attempt was made yet. */
export const isUndispatched = (status: OutboundStatus): boolean =>
  status === 'pending_approval' || status === 'changes_requested' || status === 'approved';

/** The role that decides on requests of this mode. */
export const deciderFor = (mode: string): 'owner' | 'staff' =>
  mode === 'owner_controlled' ? 'owner' : 'staff';

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
      status: 'pending_approval',
      decisions: [],
      attempts: 0,
      outcome: 'none',
      ...firstVersion(event.at),
    };
  if (!state) throw new Error(`${event.type} on a request that was never proposed`);
  return { ...state, ...changesOf(state, event), updated_at: event.at, version: state.version + 1 };
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
      return {
        status: 'dispatched',
        attempts: event.data.attempt,
        attempted_at: event.at,
        until: event.data.until,
        retry_at: undefined,
      };
    case 'OutboundDeferred':
      return {
        retry_at: event.data.retry_at,
        status_reason: event.data.reason,
        ...(event.data.uncertain && { uncertain: true }),
      };
    case 'OutboundConfirmed':
      return { status: 'confirmed', outcome: 'observed', evidence: event.data.evidence };
    case 'OutboundFailed': {
      const { reason: status_reason } = event.data;
      return { status: 'failed', outcome: 'rejected', status_reason, retry_at: undefined };
    }
    case 'OutboundOutcomeUnknown': {
      const { reason: status_reason } = event.data;
      return { status: 'outcome_unknown', outcome: 'unknown', status_reason, retry_at: undefined };
    }
  }
};

const foldApproval = (
  state: OutboundState,
  { data, at }: Happened<'OutboundApproved'>,
): Partial<OutboundState> => {
  const { by, name, person_id, role, revision, content_sha256, note } = data;
  const approval = { by, role, at, revision, content_sha256, name, person_id, note };
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
