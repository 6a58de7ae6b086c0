import type { Handoff } from '#contracts/records/handoff.ts';
import type { Outbound } from '#contracts/records/outbound.ts';
import { traceOf } from '../events/decide-and-append.ts';
import { outboundOf } from '../outreach/requests.ts';
import type { TaskRef } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';
import { handoffOf } from '../records/streams.ts';
import { rowIfReady, viewOfRow } from './read-task.ts';
import { messageIdTaken } from './refusals.ts';
import { type Sending, storeTask } from './stored-task.ts';
import { keyFor } from './task-refs.ts';
import type { OperationRequest } from './task-request.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound } from './task-view.ts';

type TaskRecord = Outbound | Handoff;
type Trace = ReturnType<typeof traceOf>;

/**
 * Performs the operation that makes the task's record, in one append as over REST, and answers the task. A key
 * that was used before leads to the record that exists, and to the task of that record.
 */
export const makeRecord = async (
  sending: Sending,
  { operation, input }: OperationRequest,
  { task_id, context_id }: TaskRef,
): Promise<Outcome<TaskView>> => {
  const { deps, call, message } = sending;
  const ref = { task_id, context_id };
  const given = input['idempotency_key'];
  const isRevision = input['revises'] !== undefined;
  const keyed = { ...input, idempotency_key: given ?? keyFor(message.messageId) };
  const outcome = await call.within(operation, keyed, { task: ref });
  if (!outcome.ok)
    return outcome.code === 'idempotency_key_reused' && given === undefined
      ? messageIdTaken()
      : outcome;
  const trace = traceOf(outcome);
  const record = outcome.value as TaskRecord;
  const isReplay = outcome.replayOf !== undefined;
  if (!isReplay && !isRevision) return done(viewOf(record, ref), trace);

  const maker = await taskOf(deps, call.caller.ownerId, record.id);
  if (!maker) return linkRecord(sending, { ref, record, trace });
  if (maker.task_id !== ref.task_id && given === undefined && !isRevision) return messageIdTaken();
  if (!isReplay) return done(viewOf(record, maker), trace);
  return done((await currentView(sending, maker.task_id)) ?? viewOf(record, maker), trace);
};

const viewOf = (record: TaskRecord, ref: TaskRef): TaskView =>
  'kind' in record ? viewOfOutbound(record, ref) : viewOfHandoff(record, ref);

const currentView = async (
  { deps, call: { caller } }: Sending,
  taskId: string,
): Promise<TaskView | undefined> => {
  const row = await rowIfReady(deps, caller, taskId);
  return row && viewOfRow(deps, caller, row);
};

/** The task that made a record; undefined when the record came over another interface. */
const taskOf = async (deps: Deps, ownerId: string, id: string): Promise<TaskRef | undefined> => {
  const state = await (id.startsWith('out_') ? outboundOf : handoffOf)(deps, ownerId, id);
  if (state?.task_id === undefined) return undefined;
  return { task_id: state.task_id, context_id: state.context_id ?? '' };
};

/** Makes the task a view of a record that existed before it. */
const linkRecord = async (
  sending: Sending,
  { ref, record, trace }: { ref: TaskRef; record: TaskRecord; trace: Trace },
): Promise<Outcome<TaskView>> => {
  const { deps, call } = sending;
  const { caller } = call;
  const row = await rowIfReady(deps, caller, ref.task_id);
  if (row?.record === record.id)
    return done((await viewOfRow(deps, caller, row)) ?? viewOf(record, ref), trace);
  const skill = 'kind' in record ? 'coordinate_promotion' : 'prepare_handoff';
  const task = { ...ref, agent_id: caller.agentId, skill, record: record.id };
  const stored = await storeTask(sending, ref.task_id, { type: 'Receive', task });
  return stored.ok ? done(viewOf(record, ref), { ...trace, ...traceOf(stored) }) : stored;
};
