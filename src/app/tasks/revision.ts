import type { EventData } from '#contracts/events/index.ts';
import { PROMOTIONS } from '#contracts/skills.ts';
import { outbound } from '#src/domain/outbound.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import { foldOf } from '../events/fold.ts';
import { idemOf } from '../events/idempotency.ts';
import { streamOf } from '../records/streams.ts';
import { iso } from '../shared/time.ts';
import { requestOf, type TaskRequest } from './task-request.ts';
import type { Sending } from './stored-task.ts';
import { keyFor } from './task-refs.ts';

/**
 * Reads what a message to an outreach request asks for; fields that it leaves out keep their values. Undefined when
 * the request does not exist.
 */
export const revisionRequest = async (
  { deps, call: { caller }, message }: Sending,
  record: string,
): Promise<TaskRequest | undefined> => {
  const stored = await deps.log.readStream(streamOf(caller.ownerId, 'outbound', record));
  const [proposed] = stored;
  if (!proposed) return undefined;
  const { kind } = proposed.data as EventData<'OutboundProposed'>;
  const request = requestOf(message, { skill: 'coordinate_promotion', kind });
  if (request.kind !== 'operation') return request;
  const given = request.input['idempotency_key'];
  const key = typeof given === 'string' ? given : keyFor(message.messageId);
  const idem = idemOf(caller, request.operation, key);
  // A retry must make the same request again: it builds on the state before the first one.
  const first = stored.findIndex(({ meta }) => meta.idem === idem);
  const state = foldOf(outbound, first < 1 ? stored : stored.slice(0, first));
  if (!state) return undefined;
  // A request of another kind is refused, but not for fields that the message does not have.
  const unchanged = PROMOTIONS[state.kind] === request.operation ? fieldsOf(state) : {};
  const input = { ...unchanged, ...request.input, revises: record };
  return { ...request, input };
};

const fieldsOf = (state: OutboundState): Record<string, unknown> => {
  const { target, content, schedule, external_id } = state;
  return {
    ...target,
    ...(content.subject !== undefined && { subject: content.subject }),
    link_ids: content.link_ids,
    ...(schedule.not_before !== undefined && { not_before: iso(schedule.not_before) }),
    not_after: iso(schedule.not_after),
    ...(external_id !== undefined && { external_id }),
  };
};
