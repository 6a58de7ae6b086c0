import type { Outbound } from '#contracts/outreach/outbound.records.ts';
import { isTerminal, task, type TaskRejection, type TaskRow } from './task.decider.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import type { TaskCall } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { rowOf, viewOfRow } from './read-task.ts';
import { notCancelable, taskEnded, taskNotFound } from './refusals.ts';
import { taskStream } from './task-refs.ts';
import type { TaskHandler } from './task-handler.ts';
import { type TaskView, viewOfOutbound, viewOfTask } from './task-view.ts';

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
