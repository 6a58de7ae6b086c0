import type { Outbound } from '#contracts/records/outbound.ts';
import { type OutboundState, statusAt } from '#src/domain/outbound-state.ts';
import { iso } from '../shared/time.ts';

/** A request as the contract shows it, as of `at`. */
export const renderOutbound = (ownerId: string, state: OutboundState, at: number): Outbound => {
  const { schedule, decisions, approval } = state;
  return {
    id: state.outbound_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    kind: state.kind,
    target: state.target,
    content: { ...state.content, link_ids: [...state.content.link_ids] },
    content_sha256: state.content_sha256,
    revision: state.revision,
    schedule: {
      ...(schedule.not_before !== undefined && { not_before: iso(schedule.not_before) }),
      not_after: iso(schedule.not_after),
    },
    ...(state.external_id !== undefined && { external_id: state.external_id }),
    approval: {
      mode: approval.mode as Outbound['approval']['mode'],
      required: approval.required,
      decisions: decisions.map((decision) => ({ ...decision, at: iso(decision.at) })),
    },
    status: statusAt(state, at),
    ...(state.status_reason !== undefined && { status_reason: state.status_reason }),
    delivery: {
      adapter: state.via.adapter,
      attempts: state.attempts,
      ...(state.attempted_at !== undefined && { attempted_at: iso(state.attempted_at) }),
      ...(state.retry_at !== undefined && { next_attempt_at: iso(state.retry_at) }),
      outcome: state.outcome,
      ...(state.evidence !== undefined && { evidence: state.evidence }),
    },
    ...(state.task_id !== undefined && { task_id: state.task_id }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};
