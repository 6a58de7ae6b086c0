import type { EventData } from '#contracts/events/index.ts';
import { PROMOTIONS } from '#contracts/skills.ts';
import { outbound } from '#src/domain/outbound.ts';
import type { OutboundState } from '#src/domain/outbound-state.ts';
import { foldOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { idemOf } from '../events/idempotency.ts';
import { streamOf } from '../records/streams.ts';
import { iso } from '../shared/time.ts';
import { type Ask, askOf } from './ask.ts';
import type { Sending } from './put.ts';
import { keyFor } from './refs.ts';

/**
 * What a message to an outreach request asks for: what it leaves out stays as it is. Undefined where
 * there is no such request.
 */
export const revision = async (
  deps: Pick<Deps, 'log'>,
  { call: { caller }, message }: Sending,
  record: string,
): Promise<{ ask: Ask } | undefined> => {
  const stored = await deps.log.readStream(streamOf(caller.ownerId, 'outbound', record));
  const [proposed] = stored;
  if (!proposed) return undefined;
  const { kind } = proposed.data as EventData<'OutboundProposed'>;
  const ask = askOf(message, { skill: 'coordinate_promotion', kind });
  if (ask.kind !== 'operation') return { ask };
  const given = ask.input['idempotency_key'];
  const key = typeof given === 'string' ? given : keyFor(message.messageId);
  const idem = idemOf(caller, ask.operation, key);
  // A retry must ask for the same again: it builds on what stood before its first time.
  const first = stored.findIndex(({ meta }) => meta.idem === idem);
  const state = foldOf(outbound, first < 1 ? stored : stored.slice(0, first));
  if (!state) return undefined;
  // Of another kind it is refused, and not for fields that nobody sent.
  const kept = PROMOTIONS[state.kind] === ask.operation ? fieldsOf(state) : {};
  const input = { ...kept, ...ask.input, revises: record };
  return { ask: { ...ask, input } };
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
