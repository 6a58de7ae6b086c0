import { allows } from '#contracts/scopes.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { outbound } from '#src/outreach/outbound.decider.ts';
import { task, type TaskRow, tasksScope } from './task.decider.ts';
import type { FoldEvent, StoredEvent } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { foldOf } from '#src/writing/fold.ts';
import { showHandoff } from '#src/handoffs/render-handoff.ts';
import { handoffWithOutcome } from '#src/leads/observe-rfq.ts';
import type { Deps } from '#src/calls/call.ts';
import type { AgentCaller } from '#src/shared/call.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import { recordOfStream, streamOfRecord } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { taskStream } from './task-refs.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound, viewOfTask } from './task-view.ts';
import { renderOutbound } from '#src/outreach/requests.ts';

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

/** The task as of one event of its own stream, or of the stream of its record. */
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
 * so the number of the newest change names one change only. Reads two streams.
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
