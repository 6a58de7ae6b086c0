import { allows } from '#contracts/scopes.ts';
import { SKILLS } from '#contracts/skills.ts';
import { task, type TaskRow, tasksScope } from '#src/domain/task.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { AgentCaller } from '../pipeline/call.ts';
import { stateOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { renderOutbound } from '../outreach/render.ts';
import { outboundOf } from '../outreach/requests.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { handoffOf } from '../records/streams.ts';
import { taskStream } from './refs.ts';
import { type TaskView, viewOfHandoff, viewOfOutbound, viewOfTask } from './view.ts';

const TASK_ID = /^tsk_[0-9a-z]{24}$/;

/** The caller's own task; nobody else's is there, not of another owner and not of another agent. */
export const rowOf = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, agentId }: AgentCaller,
  taskId: string,
): Promise<TaskRow | undefined> =>
  TASK_ID.test(taskId)
    ? readModels.get<TaskRow>('tasks', tasksScope(ownerId, agentId), taskId)
    : undefined;

/** The same for a write, which must not wait while the list is being filled: there is no row then. */
export const rowIfReady = async (
  ...asked: Parameters<typeof rowOf>
): Promise<TaskRow | undefined> => {
  try {
    return await rowOf(...asked);
  } catch (error) {
    if (error instanceof ReadModelRebuilding) return undefined;
    throw error;
  }
};

type Place = Pick<TaskRow, 'task_id' | 'context_id' | 'record'>;

/** The task as its record's events leave it now; undefined where the record is gone. */
export const viewOfRow = async (
  deps: Deps,
  caller: AgentCaller,
  row: Place,
): Promise<TaskView | undefined> => {
  const view = await wholeViewOfRow(deps, caller, row);
  return view && permitted(caller, view);
};

/** The same with all that is in it, for whoever asks later what may be shown. */
export const wholeViewOfRow = async (
  deps: Deps,
  { ownerId }: Pick<AgentCaller, 'ownerId'>,
  row: Place,
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
  const shown = await showHandoff(deps, ownerId, state, deps.clock.now());
  return viewOfHandoff(shown, row);
};

/** A scope that was taken away takes away what it opened; that there is a task stays known. */
export const permitted = ({ scopes }: AgentCaller, view: TaskView): TaskView =>
  view.skill === undefined || allows(SKILLS[view.skill].scope, scopes)
    ? view
    : { ...view, artifacts: [] };
