/** An outreach request in each of its statuses, and one command of each kind. */
import type { EventData, Happened, OutboundEventType } from '#contracts/registries/events.ts';
import {
  type OutboundState,
  outbound,
  type OutboundCommand,
} from '#src/outreach/outbound.decider.ts';

export const NOT_AFTER = 10_000;
export const CONTENT_SHA = 'a'.repeat(64);
export const OTHER_SHA = 'b'.repeat(64);
export const PROPOSAL: EventData<'OutboundProposed'> = {
  outbound_id: 'out_1',
  agent_id: 'agt_1',
  task_id: 'tsk_1',
  context_id: 'ctx_1',
  external_id: 'x1',
  kind: 'social_post',
  target: { network: 'x', account_ref: 'shop' },
  content: { text: 'Hello', link_ids: [] },
  schedule: { not_after: NOT_AFTER },
  via: { adapter: 'file' },
  content_sha256: CONTENT_SHA,
  revision: 1,
  approval: { mode: 'owner_controlled', required: 1 },
};
export const OUTBOUND = { outbound_id: 'out_1', agent_id: 'agt_1', task_id: 'tsk_1' };
export const CONTENT = { revision: 1, content_sha256: CONTENT_SHA };
export const DANA = {
  by: 'desk:1',
  name: 'Dana',
  person_id: 'dana@acme.example',
  role: 'owner' as const,
};

type Event = Happened<OutboundEventType>;
export const outboundEvent = (time: number, type: OutboundEventType, data: object): Event =>
  ({ type, data: { ...OUTBOUND, ...data }, at: time }) as Event;

export const proposed: Event = { type: 'OutboundProposed', data: PROPOSAL, at: 1 };
const approved = outboundEvent(2, 'OutboundApproved', { ...DANA, ...CONTENT, note: 'Fine' });
export const dispatched = outboundEvent(3, 'OutboundDispatched', {
  ...CONTENT,
  attempt: 1,
  adapter: 'file',
  until: 103,
});
const deferred = outboundEvent(4, 'OutboundDeferred', { attempt: 1, reason: 'busy', retry_at: 60 });
const uncertain = outboundEvent(4, 'OutboundDeferred', {
  attempt: 1,
  reason: 'lost',
  retry_at: 60,
  uncertain: true,
});
export const foldOutbounds = (...events: Event[]): OutboundState | undefined =>
  events.reduce<OutboundState | undefined>(outbound.evolve, undefined);

export const OUTBOUND_STATES = {
  none: undefined,
  pending: foldOutbounds(proposed),
  changes: foldOutbounds(
    proposed,
    outboundEvent(2, 'OutboundChangesRequested', { ...DANA, ...CONTENT, reason: 'Shorter' }),
  ),
  approved: foldOutbounds(proposed, approved),
  sending: foldOutbounds(proposed, approved, dispatched),
  waiting: foldOutbounds(proposed, approved, dispatched, deferred),
  uncertain: foldOutbounds(proposed, approved, dispatched, uncertain),
  confirmed: foldOutbounds(
    proposed,
    approved,
    dispatched,
    outboundEvent(5, 'OutboundConfirmed', { attempt: 1, evidence: 'seen' }),
  ),
  failed: foldOutbounds(
    proposed,
    approved,
    dispatched,
    outboundEvent(5, 'OutboundFailed', { attempt: 1, reason: 'http_410' }),
  ),
  unknown: foldOutbounds(
    proposed,
    approved,
    dispatched,
    outboundEvent(5, 'OutboundOutcomeUnknown', { attempt: 1, reason: 'timeout' }),
  ),
  rejected: foldOutbounds(
    proposed,
    outboundEvent(2, 'OutboundRejected', { ...DANA, ...CONTENT, reason: 'No' }),
  ),
  expired: foldOutbounds(proposed, outboundEvent(NOT_AFTER, 'OutboundExpired', {})),
  canceled: foldOutbounds(proposed, outboundEvent(2, 'OutboundCanceled', { by: 'agt_1' })),
};

const decision = { at: 70, contentSha256: CONTENT_SHA };
export const OUTBOUND_COMMANDS: Record<string, OutboundCommand> = {
  propose: { type: 'Propose', proposal: PROPOSAL },
  revise: { type: 'Revise', at: 70, proposal: PROPOSAL },
  approve: { type: 'Approve', ...decision, ...DANA },
  reject: { type: 'Reject', ...decision, ...DANA, reason: 'No' },
  request: { type: 'RequestChanges', ...decision, ...DANA, reason: 'Shorter' },
  cancel: { type: 'Cancel', at: 70, by: 'agt_1' },
  expire: { type: 'Expire', at: NOT_AFTER },
  early: { type: 'Expire', at: NOT_AFTER - 1 },
  dispatch: { type: 'Dispatch', ...decision, until: 170 },
  defer: { type: 'Defer', attempt: 1, reason: 'busy', retry_at: 200 },
  confirm: { type: 'Confirm', attempt: 1, evidence: 'seen' },
  fail: { type: 'Fail', attempt: 1, reason: 'http_410' },
  lose: { type: 'LoseTrack', attempt: 1, reason: 'timeout' },
  observe: { type: 'Observe', by: 'desk:1', outcome: 'confirmed', evidence: 'seen' },
};
