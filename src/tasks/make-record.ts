import type { EventData } from '#contracts/registries/events.ts';
import type { Handoff } from '#contracts/handoffs/handoff.records.ts';
import type { Outbound } from '#contracts/outreach/outbound.records.ts';
import { PROMOTIONS } from '#contracts/tasks/skills.ts';
import { outbound } from '#src/outreach/outbound.decider.ts';
import type { OutboundState } from '#src/outreach/outbound-state.decider.ts';
import { traceOf } from '#src/writing/decide-and-append.ts';
import { foldOf } from '#src/writing/fold.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import { outboundOf } from '#src/outreach/requests.ts';
import type { Deps } from '#src/calls/call.ts';
import type { TaskRef } from '#src/shared/call.ts';
import { done, type Outcome } from '#src/shared/outcome.ts';
import { handoffOf, streamOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';
import { rowIfReady, viewOfRow } from './read-task.ts';
import { messageIdTaken } from './refusals.ts';
import { type Sending, storeTask } from './stored-task.ts';
import { keyOf } from './task-refs.ts';
import { type OperationRequest, requestOf, type TaskRequest } from './task-request.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound } from './task-view.ts';

type TaskRecord = Outbound | Handoff;

/**
 * Performs the operation that makes the task's record, in one append as over REST, and answers the task. A key
 * that was used before leads to the record that exists, and to the task of that record.
 */
export const makeRecord = async (
  sending: Sending,
  request: OperationRequest,
  { task_id, context_id }: TaskRef,
): Promise<Outcome<TaskView>> => {
  const { deps, call, message } = sending;
  const { operation, input } = request;
  const ref = { task_id, context_id };
  const hasOwnKey = input['idempotency_key'] !== undefined;
  const isRevision = input['revises'] !== undefined;
  const keyed = { idempotency_key: keyOf(message, request), ...input };
  const outcome = await call.within(operation, keyed, { task: ref });
  if (!outcome.ok)
    return outcome.code === 'idempotency_key_reused' && !hasOwnKey ? messageIdTaken() : outcome;
  const trace = traceOf(outcome);
  const record = outcome.value as TaskRecord;
  const isReplay = outcome.replayOf !== undefined;
  if (!isReplay && !isRevision) return done(viewOf(record, ref), trace);

  const maker = await taskOf(deps, call.caller.ownerId, record.id);
  if (!maker) return linkRecord(sending, { ref, record, trace });
  if (maker.task_id !== ref.task_id && !hasOwnKey && !isRevision) return messageIdTaken();
  const row = isReplay ? await rowIfReady(deps, call.caller, maker.task_id) : undefined;
  const current = row && (await viewOfRow(deps, call.caller, row));
  return done(current ?? viewOf(record, maker), trace);
};

const viewOf = (record: TaskRecord, ref: TaskRef): TaskView =>
  'kind' in record ? viewOfOutbound(record, ref) : viewOfHandoff(record, ref);

/** The task that made a record; undefined when the record came over another interface. */
const taskOf = async (deps: Deps, ownerId: string, id: string): Promise<TaskRef | undefined> => {
  const state = await (id.startsWith('out_') ? outboundOf : handoffOf)(deps, ownerId, id);
  if (state?.task_id === undefined) return undefined;
  return { task_id: state.task_id, context_id: state.context_id ?? '' };
};

/** Makes the task a view of a record that existed before it. */
const linkRecord = async (
  sending: Sending,
  { ref, record, trace }: { ref: TaskRef; record: TaskRecord; trace: ReturnType<typeof traceOf> },
): Promise<Outcome<TaskView>> => {
  const { deps, call } = sending;
  const row = await rowIfReady(deps, call.caller, ref.task_id);
  if (row?.record === record.id)
    return done((await viewOfRow(deps, call.caller, row)) ?? viewOf(record, ref), trace);
  const skill = 'kind' in record ? 'coordinate_promotion' : 'prepare_handoff';
  const stored = await storeTask(sending, ref, (identity) => ({
    type: 'Receive',
    task: { ...identity, skill, record: record.id },
  }));
  return stored.ok ? done(viewOf(record, ref), { ...trace, ...traceOf(stored) }) : stored;
};

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
  const idem = idemOf(caller, request.operation, keyOf(message, request));
  // A retry must make the same request again: it builds on the state before the first one.
  const first = stored.findIndex(({ meta }) => meta.idem === idem);
  const state = foldOf(outbound, first < 1 ? stored : stored.slice(0, first));
  if (!state) return undefined;
  // A request of another kind is refused, but not for fields that the message does not have.
  const unchanged = PROMOTIONS[state.kind] === request.operation ? fieldsOf(state) : {};
  return { ...request, input: { ...unchanged, ...request.input, revises: record } };
};

const fieldsOf = ({ target, content, schedule, external_id }: OutboundState): object => ({
  ...target,
  link_ids: content.link_ids,
  not_after: iso(schedule.not_after),
  ...present({
    subject: content.subject,
    not_before: schedule.not_before && iso(schedule.not_before),
    external_id,
  }),
});
