import type { Outbound } from '#contracts/records/outbound.ts';
import { type OutboundState, statusAt } from '#src/domain/outbound-state.ts';
import { present } from '../shared/present.ts';
import { iso } from '../shared/time.ts';

const isoIfSet = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : iso(at);

/** Renders a request as the contract shows it, as of `at`. */
export const renderOutbound = (ownerId: string, state: OutboundState, at: number): Outbound => {
  const { schedule, decisions, approval, external_id, status_reason, evidence, task_id } = state;
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
      ...present({ not_before: isoIfSet(schedule.not_before) }),
      not_after: iso(schedule.not_after),
    },
    ...present({ external_id }),
    approval: {
      mode: approval.mode as Outbound['approval']['mode'],
      required: approval.required,
      decisions: decisions.map((decision) => ({ ...decision, at: iso(decision.at) })),
    },
    status: statusAt(state, at),
    ...present({ status_reason }),
    delivery: {
      adapter: state.via.adapter,
      attempts: state.attempts,
      ...present({
        attempted_at: isoIfSet(state.attempted_at),
        next_attempt_at: isoIfSet(state.retry_at),
      }),
      outcome: state.outcome,
      ...present({ evidence }),
    },
    ...present({ task_id }),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};
