import { allows } from '#contracts/scopes.ts';
import { SKILLS } from '#contracts/skills.ts';
import { task, type TaskRow, tasksScope } from '#src/domain/task.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { renderOutbound } from '../outreach/render.ts';
import { outboundOf } from '../outreach/requests.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { handoffOf } from '../records/streams.ts';
import { taskStream } from './task-refs.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound, viewOfTask } from './task-view.ts';

const TASK_ID = /^tsk_[0-9a-z]{24}$/;

/** Row of the caller's own task; undefined for tasks of other owners and other agents. */
export const rowOf = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, agentId }: AgentCaller,
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
  const view = await wholeViewOfRow(deps, caller, row);
  return view && permitted(caller, view);
};

/** The same before the caller's scopes are applied. */
export const wholeViewOfRow = async (
  deps: Deps,
  { ownerId }: Pick<AgentCaller, 'ownerId'>,
  row: TaskIdentity,
): Promise<TaskView | undefined> => {
  const { record } = row;
  if (record === undefined) {
    const stream = taskStream(ownerId, row.task_id);
    const state = await stateOf(deps, { stream, decider: task });
    return state && viewOfTask(state);
  }
  if (record.startsWith('out_')) {
    const state = await outboundOf(deps, ownerId, record);
    const now = deps.clock.now();
    return state && viewOfOutbound(renderOutbound(ownerId, state, now), row);
  }
  const state = await handoffOf(deps, ownerId, record);
  if (!state) return undefined;
  const shown = await showHandoff(deps, state, { ownerId, at: deps.clock.now() });
  return viewOfHandoff(shown, row);
};

/** Removes the artifacts that the caller's scopes do not allow; the task itself stays visible. */
export const permitted = ({ scopes }: AgentCaller, view: TaskView): TaskView =>
  view.skill === undefined || allows(SKILLS[view.skill].scope, scopes)
    ? view
    : { ...view, artifacts: [] };
