import type { ProblemCode } from '#contracts/problems.ts';
import { isTerminal, type TaskRow } from './task.decider.ts';
import type { EventData } from '#contracts/registries/events.ts';
import type { TaskCall, TaskRef } from '#src/shared/call.ts';
import { done, forbidden, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { KeyedQueue } from '#src/shared/keyed-queue.ts';
import { present } from '#src/shared/present.ts';
import { type PushTarget, refusePush, registerPush } from './register-push.ts';
import { makeRecord, revisionRequest } from './make-record.ts';
import { changesOf, rowIfReady, rowOf, viewOfRow } from './read-task.ts';
import { contextUnknown, messageIdTaken, taskEnded, taskNotFound } from './refusals.ts';
import { replayMessage, type Sending, storeTask } from './stored-task.ts';
import type { TaskHandler } from './task-handler.ts';
import { isContextOf, recordIdFor, refFor, taskIdFor } from './task-refs.ts';
import { requestOf, type TaskRequest } from './task-request.ts';
import type { TaskView } from './task-view.ts';

/** Limit of an answer that is stored with its task: the same as that of a tool's result. */
const ARTIFACT_BYTES_MAX = 32_768;

type Artifact = EventData<'TaskCompleted'>['artifact'];
type Input = Record<string, unknown>;

/**
 * Reads performance with as many rows as an artifact holds. A page that is too large is read again with fewer
 * rows, so that its cursor continues after the last row in it.
 */
const readDigest = async (call: TaskCall, input: Input): Promise<Outcome<Artifact>> => {
  let outcome = await call.within('getPerformance', input);
  for (let cut = false; outcome.ok; cut = true) {
    const { data } = outcome.value as { data: unknown[] };
    const content = JSON.stringify(outcome.value);
    const bytes = Buffer.byteLength(content);
    if (bytes <= ARTIFACT_BYTES_MAX) return done({ name: 'digest', ...(cut && { cut }), content });
    const limit = Math.floor((data.length * ARTIFACT_BYTES_MAX) / bytes);
    outcome = await call.within('getPerformance', { ...input, limit });
  }
  return outcome;
};

/** Explains an attribution; drops events from the end of the chain until the answer fits, and then says `cut`. */
const readAttribution = async (call: TaskCall, input: Input): Promise<Outcome<Artifact>> => {
  const outcome = await call.within('answerAttributionQuestion', input);
  if (!outcome.ok) return outcome;
  const answer = outcome.value as { chain: unknown[] };
  for (let { chain } = answer, cut = false; ; cut = true) {
    const content = JSON.stringify({ ...answer, chain });
    if (Buffer.byteLength(content) <= ARTIFACT_BYTES_MAX)
      return done({ name: 'attribution', content, ...(cut && { cut }) });
    if (chain.length === 0) throw new Error('an answer is too large to be stored');
    chain = chain.slice(0, Math.floor(chain.length * 0.75));
  }
};

type Result = Promise<Outcome<TaskView>>;

/** Refusals that end a task without a record: the same request would be refused again. */
const REJECTING: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'boundary_forbidden',
  'scope_missing',
  'channel_not_verified',
  'approver_missing',
]);

const handleMessage = async (sending: Sending): Result => {
  const { deps, call, message } = sending;
  const { taskId, contextId } = message;
  if (contextId !== undefined && !isContextOf(deps, call.caller, contextId))
    return contextUnknown();
  if (taskId === undefined) return startTask(sending);
  const row = await rowOf(deps, call.caller, taskId);
  if (!row) return taskNotFound();
  if (contextId !== undefined && contextId !== row.context_id) return contextUnknown();
  return continueTask(sending, row);
};

const startTask = async (sending: Sending): Result => {
  const { deps, call, message } = sending;
  const ref = refFor(deps, call.caller, message);
  const request = requestOf(message);
  const row = await rowIfReady(deps, call.caller, ref.task_id);
  if (!row || row.record === recordIdFor(call.caller, message, request))
    return fulfil(sending, request, ref);
  if (request.kind === 'operation') call.auditAs(request.operation);
  return (await replayMessage(sending, ref.task_id)) ?? messageIdTaken();
};

const continueTask = async (sending: Sending, row: TaskRow): Result => {
  const { call, message } = sending;
  const replayed = await replayMessage(sending, row.task_id);
  const { record, skill } = row;
  if (replayed && record === undefined) return replayed;
  if (record === undefined && isTerminal(row.status)) return taskEnded();
  const request = requestOf(message, { skill });
  // Either the task has no record yet, or this is the message that made it, sent again.
  if (record === undefined || record === recordIdFor(call.caller, message, request))
    return fulfil(sending, request, row);
  if (replayed) return replayed;
  return record.startsWith('out_') ? continueOutreach(sending, row, record) : taskEnded();
};

/** Handles a message to an outreach request: it proposes new content, or changes nothing. */
const continueOutreach = async (sending: Sending, row: TaskRow, record: string): Result => {
  const { deps, message, call } = sending;
  const request = await revisionRequest(sending, record);
  if (!request) return taskNotFound();
  if (request.kind === 'forbidden') return forbidden(request.boundary);
  const isNewContent = request.kind === 'operation' && request.skill === 'coordinate_promotion';
  if (message.data && !isNewContent) return taskEnded();
  if (request.kind === 'operation') return makeRecord(sending, request, row);
  // Text alone changes nothing; above all it approves nothing.
  const view = await viewOfRow(deps, call.caller, row);
  return view && !isTerminal(view.status) ? done(view) : taskEnded();
};

/** Does what a message asks for, and stores the task where no record holds it. */
const fulfil = async (sending: Sending, request: TaskRequest, ref: TaskRef): Result => {
  const { call } = sending;
  if (request.kind === 'forbidden') {
    const { boundary } = request;
    const refusal = forbidden(boundary);
    // The task is stored, and what it asks for is audited as refused.
    call.auditAs(call.operation, refusal);
    return storeTask(sending, ref, (identity) => ({
      type: 'Reject',
      task: { ...identity, code: refusal.code, boundary },
    }));
  }
  const { skill } = request;
  if (request.kind === 'incomplete') return requireInput(sending, ref, request);
  const refuseTask = (refusal: Refusal): Result => storeRefusal(sending, ref, { skill, refusal });
  if (request.kind === 'operation' && request.operation !== 'getPerformance') {
    const made = await makeRecord(sending, request, ref);
    return made.ok ? made : refuseTask(made);
  }
  const read = request.kind === 'question' ? readAttribution : readDigest;
  const answer = await read(call, request.input);
  if (!answer.ok) return refuseTask(answer);
  return storeTask(sending, ref, (identity) => ({
    type: 'Complete',
    task: { ...identity, skill: request.skill, artifact: answer.value },
  }));
};

const requireInput = (
  sending: Sending,
  ref: TaskRef,
  { skill, missing }: { skill?: string | undefined; missing: string[] },
): Result =>
  storeTask(sending, ref, (identity) => ({
    type: 'Receive',
    task: { ...identity, ...present({ skill }), missing },
  }));

/** Stores a refusal as a task where A2A has a state for it; answers it as an error otherwise. */
const storeRefusal = async (
  sending: Sending,
  ref: TaskRef,
  { skill, refusal }: { skill: string | undefined; refusal: Refusal },
): Result => {
  const { code, errors = [] } = refusal;
  if (REJECTING.has(code))
    return storeTask(sending, ref, (identity) => ({
      type: 'Reject',
      task: { ...identity, ...present({ skill }), code },
    }));
  const isIncomplete = errors.length > 0 && errors.every((fault) => fault.code === 'required');
  if (!isIncomplete) return refusal;
  const missing = [...new Set(errors.map(({ pointer }) => pointer.split('/')[1] ?? ''))];
  return requireInput(sending, ref, { skill, missing });
};

const PUSH_PLACE = '/configuration/taskPushNotificationConfig';

/** Handles the message, and registers where the change that it makes and all later ones are sent. */
const handleWithPush = async (
  sending: Sending,
  registration: { taskId: string; target: PushTarget },
): Result => {
  const { deps, call, message } = sending;
  const refusal = await refusePush(deps, call, { ...registration, place: PUSH_PLACE });
  if (refusal) return refusal;
  const row =
    message.taskId === undefined ? undefined : await rowOf(deps, call.caller, message.taskId);
  const after = row ? (await changesOf(deps, call.ownerId, row)).length : 0;
  const outcome = await handleMessage(sending);
  if (!outcome.ok) return outcome;
  const registered = await registerPush(deps, call, {
    taskId: outcome.value.id,
    target: registration.target,
    after,
    isNew: outcome.replayOf !== undefined,
  });
  return registered.ok ? { ...outcome, ...present({ position: registered.position }) } : registered;
};

/**
 * Makes the handler of messages. It handles the messages of one task one after another, so that two concurrent
 * ones cannot both start it.
 */
export const messageHandler = (): TaskHandler<'sendMessage'> => {
  const queue = new KeyedQueue();
  return (deps, { push, ...message }, call) => {
    const { caller } = call;
    const taskId = message.taskId ?? taskIdFor(caller, message.messageId);
    const sending = { deps, call, message };
    return queue.run(`${caller.ownerId}/${taskId}`, () =>
      push ? handleWithPush(sending, { taskId, target: push }) : handleMessage(sending),
    );
  };
};
