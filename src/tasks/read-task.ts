/** Reads, lists and cancels tasks. */
import type { z } from 'zod';
import { idempotencyKey } from '#contracts/fields.ts';
import type { TaskOperation } from '#contracts/operation.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import { allows } from '#contracts/scopes.ts';
import type { TaskOperationId, TaskOperations } from '#contracts/tasks/operations.ts';
import { SKILLS, type AttributionAnswer } from '#contracts/tasks/skills.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { showHandoff } from '#src/handoffs/render-handoff.ts';
import { handoffWithOutcome } from '#src/leads/observe-rfq.ts';
import { outbound, type OutboundState, statusAt } from '#src/outreach/outbound.decider.ts';
import { renderOutbound } from '#src/outreach/requests.ts';
import type { FoldEvent, StoredEvent } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { readCursor, writeCursor, listing } from '#src/reading/lists.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import type { AgentCaller, TaskRef, TaskCall } from '#src/shared/call.ts';
import { type Refusal, refuse, type Outcome, done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import {
  foldOf,
  digestOf,
  nameOf,
  streamOf,
  recordOfStream,
  streamOfRecord,
} from '#src/writing/streams.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import {
  type OperationRequest,
  type TaskMessage,
  type TaskRequest,
  type TaskView,
  viewOfHandoff,
  viewOfOutbound,
  viewOfTask,
} from './task-view.ts';
import {
  task,
  type TaskRow,
  tasksScope,
  isTerminal,
  type TaskRejection,
  TASK_STATUS_OF,
  type TaskStatus,
} from './task.decider.ts';

const NAME_CHARS = 12;

/** Completes the id of one of this agent's contexts. It contains a MAC, so it need not be stored. */
const contextIdOf = ({ secrets }: Deps, { ownerId, agentId }: AgentCaller, name: string): string =>
  `ctx_${name}${secrets.mac('task-context', digestOf(ownerId, agentId, name)).slice(0, NAME_CHARS)}`;

export const isContextOf = (deps: Deps, caller: AgentCaller, contextId: string): boolean => {
  const [, name] = /^ctx_([0-9a-z]{12})[0-9a-f]{12}$/.exec(contextId) ?? [];
  return name !== undefined && contextId === contextIdOf(deps, caller, name);
};

/** Id of the task that a first message starts; the same message gives the same id. */
export const taskIdFor = ({ ownerId, agentId }: AgentCaller, messageId: string): string =>
  `tsk_${nameOf('task', ownerId, agentId, messageId)}`;

/** The task that a first message starts, in its context or in a new one. */
export const refFor = (
  deps: Deps,
  caller: AgentCaller,
  { messageId, contextId }: TaskMessage,
): TaskRef => {
  const context = nameOf('context', caller.ownerId, caller.agentId, messageId);
  return {
    task_id: taskIdFor(caller, messageId),
    context_id: contextId ?? contextIdOf(deps, caller, context.slice(0, NAME_CHARS)),
  };
};

/** Idempotency key of the operation: the one in the data part, or the messageId, hashed if it is no valid key. */
export const keyOf = ({ messageId }: TaskMessage, { input }: OperationRequest): string => {
  const given = input['idempotency_key'];
  if (typeof given === 'string') return given;
  return idempotencyKey.safeParse(messageId).success ? messageId : `msg.${digestOf(messageId)}`;
};

/** Id of the record that the message makes, or has made; undefined when it makes none. */
export const recordIdFor = (
  caller: AgentCaller,
  message: TaskMessage,
  request: TaskRequest,
): string | undefined => {
  if (request.kind !== 'operation' || request.operation === 'getPerformance') return undefined;
  const idem = idemOf(caller, request.operation, keyOf(message, request));
  return request.operation === 'createHandoff'
    ? `hnd_${nameOf('handoff', idem)}`
    : `out_${nameOf('outbound', idem)}`;
};

export const taskStream = (ownerId: string, taskId: string): string =>
  streamOf(ownerId, 'task', taskId);

const TASK_ID = /^tsk_[0-9a-z]{24}$/;

/** Row of the caller's own task; undefined for tasks of other owners and other agents. */
export const rowOf = async (
  { readModels }: Deps,
  { ownerId, agentId }: Pick<AgentCaller, 'ownerId' | 'agentId'>,
  taskId: string,
): Promise<TaskRow | undefined> =>
  TASK_ID.test(taskId)
    ? readModels.get<TaskRow>('tasks', tasksScope(ownerId, agentId), taskId)
    : undefined;

/** The same for a write, which must not fail while the read model is being rebuilt: undefined then. */
export const rowIfReady = async (
  ...query: Parameters<typeof rowOf>
): Promise<TaskRow | undefined> => {
  try {
    return await rowOf(...query);
  } catch (error) {
    if (error instanceof ReadModelRebuilding) return undefined;
    throw error;
  }
};

type TaskIdentity = Pick<TaskRow, 'task_id' | 'context_id' | 'record'>;

/** View of the task as its record is now; undefined when the record does not exist. */
export const viewOfRow = async (
  deps: Deps,
  caller: AgentCaller,
  row: TaskIdentity,
): Promise<TaskView | undefined> => {
  const view = await readView(deps, caller.ownerId, { row });
  return view && permitted(caller, view);
};

/** The same before the caller's scopes are applied; as of an event of the record, or of the task without one. */
export const readView = async (
  deps: Deps,
  ownerId: string,
  { row, event }: { row: TaskIdentity; event?: Pick<FoldEvent, 'revision' | 'at'> },
): Promise<TaskView | undefined> => {
  const { task_id, record } = row;
  const stream =
    record === undefined ? taskStream(ownerId, task_id) : streamOfRecord(ownerId, record);
  const stored = (await deps.log.readStream(stream)).slice(0, event && event.revision + 1);
  const at = event?.at ?? deps.clock.now();
  if (record === undefined) {
    const state = foldOf(task, stored);
    if (state?.record === undefined) return state && viewOfTask(state);
    return readView(deps, ownerId, { row: { ...row, record: state.record } });
  }
  if (record.startsWith('out_')) {
    const state = foldOf(outbound, stored);
    return state && viewOfOutbound(renderOutbound(ownerId, state, at), row);
  }
  const state = foldOf(handoff, stored);
  if (!state) return undefined;
  // The view of an event shows the handoff as it was then.
  const shown = event ? state : await handoffWithOutcome(deps, ownerId, state);
  return viewOfHandoff(await showHandoff(maskingDeps(deps), shown, { ownerId, at }), row);
};

/** The task as of one event of its own stream, or of its record's stream. */
export const readChange = (
  deps: Deps,
  ownerId: string,
  {
    row: { task_id, context_id },
    event,
  }: { row: TaskIdentity; event: Pick<FoldEvent, 'stream' | 'revision' | 'at'> },
): Promise<TaskView | undefined> => {
  const row = { task_id, context_id, ...present({ record: recordOfStream(event.stream) }) };
  return readView(deps, ownerId, { row, event });
};

/** Removes the artifacts that the caller's scopes do not allow; the task itself stays visible. */
export const permitted = ({ scopes }: Pick<AgentCaller, 'scopes'>, view: TaskView): TaskView =>
  view.skill === undefined || allows(SKILLS[view.skill].scope, scopes)
    ? view
    : { ...view, artifacts: [] };

/**
 * Reads the events that changed a task, in log order: those of its own stream and of its record. Their number only grows,
 * so the number of the newest change names only one change. Reads two streams.
 */
export const changesOf = async (
  { log }: Pick<Deps, 'log'>,
  ownerId: string,
  { task_id, record }: Pick<TaskRow, 'task_id' | 'record'>,
): Promise<StoredEvent[]> => {
  const own = await log.readStream(taskStream(ownerId, task_id));
  if (record === undefined) return own;
  const stored = await log.readStream(streamOfRecord(ownerId, record));
  // A handoff completes its task at once; what its buyer does later is no change of the task.
  const changing = record.startsWith('hnd_') ? stored.slice(0, 1) : stored;
  return [...own, ...changing].sort((a, b) => a.position - b.position);
};

/* Refusals for which A2A defines a `reason`. */

export const taskNotFound = (): Refusal =>
  refuse('resource_not_found', 'There is no such task.', { extra: { reason: 'TASK_NOT_FOUND' } });

export const taskEnded = (): Refusal =>
  refuse('state_conflict', 'The task accepts no message in its state.', {
    extra: { reason: 'UNSUPPORTED_OPERATION' },
  });

const notCancelable = (): Refusal =>
  refuse('state_conflict', 'The task cannot be canceled in its state.', {
    extra: { reason: 'TASK_NOT_CANCELABLE' },
  });

export const messageIdTaken = (): Refusal =>
  refuse('idempotency_key_reused', 'This messageId was first used for another message.', {
    extra: { reason: 'MESSAGE_ID_CONFLICT' },
    errors: [
      { pointer: '/message/messageId', code: 'conflict', detail: 'belongs to another message' },
    ],
  });

export const contextUnknown = (): Refusal =>
  refuse('parameter_invalid', 'The contextId is not the one of the task, or not one of yours.', {
    extra: { reason: 'CONTEXT_MISMATCH' },
    errors: [
      {
        pointer: '/message/contextId',
        code: 'not_found',
        detail: 'leave it out, or send the one that a task of yours shows',
      },
    ],
  });

/** What each operation answers, before the protocol gives it its form. */
type Answers = {
  sendMessage: TaskView;
  getTask: TaskView;
  subscribeToTask: TaskView;
  listTasks: TaskPage;
  cancelTask: TaskView;
  createPushConfig: PushConfig;
  getPushConfig: PushConfig;
  listPushConfigs: { configs: PushConfig[]; nextPageToken: string };
  deletePushConfig: object;
  answerAttributionQuestion: AttributionAnswer;
};

/** A push notification configuration, in the form of A2A and without its secrets. */
export type PushConfig = {
  taskId: string;
  id: string;
  url: string;
  authentication?: { scheme: string };
};

export type TaskInput<Id extends TaskOperationId> = z.output<TaskOperations[Id]['input']>;

export type TaskHandler<Id extends TaskOperationId> = (
  deps: Deps,
  input: TaskInput<Id>,
  call: TaskCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
export type TaskHandlers = { [Id in TaskOperationId]: TaskHandler<Id> };

export type TaskActor = {
  caller: AgentCaller;
  operation: TaskOperation;
  call: TaskCall;
  deps: Deps;
};

export type TaskPipeline = Pipeline<SignaturesOf<TaskHandlers>, TaskActor>;

export const getTask: TaskHandler<'getTask'> = async (deps, { id }, { caller }) => {
  const row = await rowOf(deps, caller, id);
  const view = row && (await viewOfRow(deps, caller, row));
  return view ? done(view) : taskNotFound();
};

/** Reads the caller's task; refuses one that has ended, because it has no more events to follow. */
export const subscribeToTask: TaskHandler<'subscribeToTask'> = async (deps, input, call) => {
  const read = await getTask(deps, input, call);
  return read.ok && isTerminal(read.value.status) ? taskEnded() : read;
};

/** Cancels what has not been sent. A canceled task stays canceled. */
export const cancelTask: TaskHandler<'cancelTask'> = async (deps, { id }, call) => {
  const row = await rowOf(deps, call.caller, id);
  if (!row) return taskNotFound();
  if (!row.record?.startsWith('out_')) return cancelOwn(deps, call, row);
  // One key for each task: repeated cancellations are the same request.
  const outcome = await call.within('cancelOutboundRequest', {
    outbound_id: row.record,
    idempotency_key: `a2a-cancel:${row.task_id}`,
  });
  if (!outcome.ok) return outcome.code === 'state_conflict' ? notCancelable() : outcome;
  return { ...outcome, value: viewOfOutbound(outcome.value as Outbound, row) };
};

const REFUSALS: Record<TaskRejection, () => Refusal> = {
  task_unknown: taskNotFound,
  task_ended: notCancelable,
};

const cancelOwn = async (deps: Deps, call: TaskCall, row: TaskRow): Promise<Outcome<TaskView>> => {
  if (row.record !== undefined) return notCancelable();
  const written = await decideAndAppend(deps, call, {
    stream: taskStream(call.ownerId, row.task_id),
    decider: task,
    command: () => issue({ type: 'Cancel' as const }),
  });
  if (!written.ok) return 'rejected' in written ? REFUSALS[written.rejected]() : written;
  return done(viewOfTask(written.state), traceOf(written));
};

type TaskQuery = TaskInput<'listTasks'>;

type TaskPage = {
  tasks: TaskView[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
};

/** Limit of the tasks read for one answer, the newest; older ones are still found by their id. */
const ROWS_SCANNED_MAX = 10_000;
const ROWS_PAGE = 1_000;

/**
 * Lists the caller's tasks, the last changed first. The read model sorts them by creation, which never changes, so
 * they are sorted here: O(n log n) for at most ROWS_SCANNED_MAX rows.
 */
export const listTasks: TaskHandler<'listTasks'> = async (deps, query, { caller }) => {
  const { ownerId, agentId } = caller;
  const { contextId = '', status = '', changedAfter = 0, pageToken = '' } = query;
  const binding = [ownerId, agentId, 'a2a:ListTasks', contextId, status, String(changedAfter)];
  let before = Infinity;
  if (pageToken !== '') {
    const read = readCursor(deps, binding, pageToken);
    if (!read.ok) return read;
    before = read.place;
  }
  const rows = await matchingRows(deps, caller, query);
  const rest = rows.filter(({ changed }) => changed < before);
  const shown = rest.slice(0, query.pageSize);
  const last = shown.at(-1);
  const more = rest.length > shown.length && last !== undefined;
  const views = await Promise.all(shown.map((row) => viewOfRow(deps, caller, row)));
  return done({
    tasks: views
      .filter((view) => view !== undefined)
      .map((view) => (query.includeArtifacts ? view : { ...view, artifacts: [] })),
    nextPageToken: more ? writeCursor(deps, binding, last.changed) : '',
    pageSize: query.pageSize,
    totalSize: rows.length,
  });
};

const matchingRows = async (
  deps: Deps,
  { ownerId, agentId }: AgentCaller,
  { contextId, status, changedAfter }: TaskQuery,
): Promise<TaskRow[]> => {
  const pages = listing<TaskRow>(deps.readModels, 'tasks', {
    scope: tasksScope(ownerId, agentId),
    limit: ROWS_PAGE,
  });
  const rows: TaskRow[] = [];
  let scanned = 0;
  for await (const page of pages) {
    for (const { row } of page)
      if (
        (contextId === undefined || row.context_id === contextId) &&
        (changedAfter === undefined || row.changed_at > changedAfter) &&
        (status === undefined || (await statusOf(deps, ownerId, row)) === status)
      )
        rows.push(row);
    scanned += page.length;
    if (scanned >= ROWS_SCANNED_MAX) break;
  }
  return rows.sort((a, b) => b.changed - a.changed);
};

const statusOf = async (deps: Deps, ownerId: string, row: TaskRow): Promise<TaskStatus> => {
  const { record, status } = row;
  if (record === undefined) return status;
  if (record.startsWith('hnd_')) return 'COMPLETED';
  const state = await deps.readModels.get<OutboundState>('outbound', ownerId, record);
  return state ? TASK_STATUS_OF[statusAt(state, deps.clock.now())] : status;
};
