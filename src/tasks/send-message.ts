/**
 * Performs a message of A2A: finds its task, and makes the record that it asks for. Before it, how the rules of calls over A2A
 * differ from those of other calls of agents.
 */
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { ProblemCode } from '#contracts/problems.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { PROMOTIONS } from '#contracts/tasks/skills.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { outbound, type OutboundState } from '#src/outreach/outbound.decider.ts';
import { outboundOf } from '#src/outreach/requests.ts';
import type { TaskCall, TaskRef, AgentCaller } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal, forbidden } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import { KeyedQueue } from '#src/shared/work.ts';
import { createOnce, decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { foldOf, handoffOf, streamOf, fingerprintsOf } from '#src/writing/streams.ts';
import { idemOf, isSameRequest } from '#src/writing/idempotency.ts';
import { type PushTarget, refusePush, registerPush } from './push.ts';
import {
  permitted,
  rowIfReady,
  viewOfRow,
  messageIdTaken,
  taskEnded,
  taskNotFound,
  taskStream,
  keyOf,
  changesOf,
  rowOf,
  contextUnknown,
  type TaskHandler,
  isContextOf,
  recordIdFor,
  refFor,
  taskIdFor,
  type TaskActor,
} from './read-task.ts';
import {
  type TaskMessage,
  type TaskView,
  viewOfTask,
  type OperationRequest,
  requestOf,
  type TaskRequest,
  viewOfHandoff,
  viewOfOutbound,
} from './task-view.ts';
import {
  task,
  type TaskCommand,
  type TaskRejection,
  isTerminal,
  type TaskRow,
  tasksScope,
} from './task.decider.ts';
import type { OperationId } from '#contracts/registries/agents.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { parseFields } from '#src/calls/input.ts';
import {
  type ActorRules,
  type AgentActor,
  agentCall,
  type Incoming,
  type Trail,
} from '#src/calls/rules.ts';

const QUESTION = 'answerAttributionQuestion';

/** Performs operations inside a call. */
type Inside<Id> = {
  performInside(id: Id, incoming: Incoming<AgentCaller>): Promise<Outcome<unknown>>;
};

type Pipelines = { agents: Inside<OperationId>; tasks(): Inside<typeof QUESTION> };

/** The messageId is a message's key, and the fingerprint covers the rest of the message, without a receiver's secrets. */
const keyOfMessage = (
  { secrets }: Pick<Deps, 'secrets'>,
  { caller, operation, input }: { caller: AgentCaller; operation: string; input: object },
) => {
  const { messageId, push: _push, ...message } = input as { messageId: string; push?: object };
  return {
    idem: idemOf(caller, operation, messageId),
    fingerprints: fingerprintsOf(secrets, operation, present(message)),
  };
};

/** Rules for agents over A2A: those of agents, with calls that perform operations of agents inside them. */
export const taskRules = (
  deps: Deps,
  agentRules: Pick<
    ActorRules<AgentActor>,
    | 'identify'
    | 'confirm'
    | 'authorize'
    | 'charge'
    | 'occupy'
    | 'currentCredential'
    | 'auditedCallerOf'
  >,
  { agents, tasks }: Pipelines,
): ActorRules<TaskActor> => {
  const within = (incoming: Incoming<AgentCaller>, trail: Trail): TaskCall['within'] => {
    const { caller, surface, requestId, client, consistencyToken } = incoming;
    const perform = (id: OperationId | typeof QUESTION, inner: Incoming<AgentCaller>) =>
      id === QUESTION ? tasks().performInside(id, inner) : agents.performInside(id, inner);
    return async (id, input, options) => {
      const inner = { caller, surface, requestId, client, consistencyToken, input, ...options };
      const outcome: Outcome<unknown> = await perform(id, inner);
      trail.inner ??= { id: id === QUESTION ? taskOperations[id].id : id, outcome };
      return outcome;
    };
  };
  const { identify, confirm, authorize, charge, occupy, currentCredential, auditedCallerOf } =
    agentRules;
  return {
    identify,
    authorize,
    charge,
    ...present({ confirm, occupy, currentCredential }),
    auditedCallerOf,
    budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'write'),
    parse: parseFields,
    callFor: (incoming, { operation, input, trail }): TaskCall => ({
      ...agentCall(deps, incoming, operation),
      ...(operation.idempotency === 'key' &&
        keyOfMessage(deps, { caller: incoming.caller, operation: operation.id, input })),
      within: within(incoming, trail),
      auditAs(audited, outcome) {
        if (outcome) trail.inner ??= { id: audited, outcome };
        else trail.operation = audited;
      },
    }),
    reads({ id }, { ownerId: owner, agentId }) {
      if (id === taskOperations.sendMessage.id) return undefined;
      return {
        owner,
        scope: id === taskOperations[QUESTION].id ? owner : tasksScope(owner, agentId),
      };
    },
    // Events of a task's own stream are not business events, so each call has an audit record.
    isAudited: () => true,
  };
};

const REFUSALS: Record<TaskRejection, () => Refusal> = {
  task_unknown: taskNotFound,
  task_ended: taskEnded,
};

type Sending = { deps: Deps; call: TaskCall; message: TaskMessage };

/** Appends to the task's own stream what no record holds. A repeated message finds it there. */
const storeTask = async (
  { deps, call, message }: Sending,
  { task_id, context_id }: TaskRef,
  commandFor: (identity: TaskRef & { agent_id: string }) => TaskCommand,
): Promise<Outcome<TaskView>> => {
  const command = commandFor({ task_id, context_id, agent_id: call.caller.agentId });
  const target = { stream: taskStream(call.ownerId, task_id), decider: task };
  const written =
    message.taskId === undefined
      ? await createOnce(deps, call, { ...target, command })
      : await decideAndAppend(deps, call, { ...target, command: () => issue(command) });
  if (written.ok) return done(permitted(call.caller, viewOfTask(written.state)), traceOf(written));
  if ('rejected' in written) return REFUSALS[written.rejected]();
  return written.code === 'idempotency_key_reused' ? messageIdTaken() : written;
};

/**
 * Replays a message that is stored in the task's own stream: the task as it is now. Refuses another message with
 * the same id; undefined when no message with this id is stored.
 */
const replayMessage = async (
  { deps, call }: Sending,
  taskId: string,
): Promise<Outcome<TaskView> | undefined> => {
  const { caller, idem } = call;
  const stored = await deps.log.readStream(taskStream(caller.ownerId, taskId));
  const first = stored.find(({ meta }) => meta.idem === idem);
  if (!first) return undefined;
  if (!isSameRequest(first, call)) return messageIdTaken();
  const { context_id, record } = first.data as EventData<'TaskReceived'>;
  const own = { task_id: taskId, context_id, ...present({ record }) };
  const view = await viewOfRow(deps, caller, (await rowIfReady(deps, caller, taskId)) ?? own);
  if (!view) throw new Error(`${taskId} has events but no view`);
  return done(view, { replayOf: first.meta.request, position: first.position });
};

type TaskRecord = Outbound | Handoff;

/**
 * Performs the operation that makes the task's record, in one append as over REST, and answers the task. A key
 * that was used before leads to the record that exists, and to the task of that record.
 */
const makeRecord = async (
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
const revisionRequest = async (
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
  const unchanged =
    state.kind !== 'handoff_delivery' && PROMOTIONS[state.kind] === request.operation
      ? fieldsOf(state)
      : {};
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
