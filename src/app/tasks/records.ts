import type { Handoff } from '#contracts/records/handoff.ts';
import type { Outbound } from '#contracts/records/outbound.ts';
import type { TaskRef } from '../pipeline/call.ts';
import { traceOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';
import { outboundOf } from '../outreach/requests.ts';
import { handoffOf } from '../records/streams.ts';
import type { Ask } from './ask.ts';
import { put, type Sending } from './put.ts';
import { rowIfReady, viewOfRow } from './read.ts';
import { messageIdTaken } from './refusals.ts';
import { keyFor } from './refs.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound } from './view.ts';

type Operation = Extract<Ask, { kind: 'operation' }>;

/**
 * Lets the operation make its record, in one append as over REST, and shows it as the task. A key
 * that was used before leads to the record that stands, and to the task of that one.
 */
export const makeRecord = async (
  deps: Deps,
  sending: Sending,
  { operation, input }: Operation,
  { task_id, context_id }: TaskRef,
): Promise<Outcome<TaskView>> => {
  const { call, message } = sending;
  const { caller } = call;
  const ref = { task_id, context_id };
  const given = input['idempotency_key'];
  const keyed = { ...input, idempotency_key: given ?? keyFor(message.messageId) };
  const outcome = await call.within(operation, keyed, { task: ref });
  if (!outcome.ok)
    return outcome.code === 'idempotency_key_reused' && given === undefined
      ? messageIdTaken()
      : outcome;
  const { replayOf } = outcome;
  const trace = traceOf(outcome);
  const record = outcome.value as Outbound | Handoff;
  const isNew = replayOf === undefined && input['revises'] === undefined;
  if (isNew) return done(viewOf(record, ref), trace);

  const owner = await taskOf(deps, caller.ownerId, record.id);
  if (!owner) return linked(deps, sending, ref, record, trace);
  if (owner.task_id !== ref.task_id && given === undefined && input['revises'] === undefined)
    return messageIdTaken();
  if (replayOf === undefined) return done(viewOf(record, owner), trace);
  const row = await rowIfReady(deps, caller, owner.task_id);
  const now = row && (await viewOfRow(deps, caller, row));
  return done(now ?? viewOf(record, owner), trace);
};

const viewOf = (record: Outbound | Handoff, ref: TaskRef): TaskView =>
  'kind' in record ? viewOfOutbound(record, ref) : viewOfHandoff(record, ref);

/** Which task made the record; undefined when it came over another interface. */
const taskOf = async (deps: Deps, ownerId: string, id: string): Promise<TaskRef | undefined> => {
  const state = await (id.startsWith('out_') ? outboundOf : handoffOf)(deps, ownerId, id);
  if (state?.task_id === undefined) return undefined;
  return { task_id: state.task_id, context_id: state.context_id ?? '' };
};

/** The record was there before: the task is a view of it from here on. */
const linked = async (
  deps: Deps,
  sending: Sending,
  ref: TaskRef,
  record: Outbound | Handoff,
  trace: { position?: number; replayOf?: string },
): Promise<Outcome<TaskView>> => {
  const { caller } = sending.call;
  const row = await rowIfReady(deps, caller, ref.task_id);
  if (row?.record !== record.id) {
    const skill = 'kind' in record ? 'coordinate_promotion' : 'prepare_handoff';
    const task = { ...ref, agent_id: caller.agentId, skill, record: record.id };
    const written = await put(deps, sending, ref.task_id, { type: 'Receive', task });
    if (!written.ok) return written;
    return done(viewOf(record, ref), { ...trace, ...traceOf(written) });
  }
  return done((await viewOfRow(deps, caller, row)) ?? viewOf(record, ref), trace);
};
