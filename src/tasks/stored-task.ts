import type { EventData } from '#contracts/registries/events.ts';
import { task, type TaskCommand, type TaskRejection } from './task.decider.ts';
import { createOnce, decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import type { TaskCall, TaskRef } from '#src/shared/call.ts';
import { done, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { permitted, rowIfReady, viewOfRow } from './read-task.ts';
import { messageIdTaken, taskEnded, taskNotFound } from './refusals.ts';
import { taskStream } from './task-refs.ts';
import type { TaskMessage } from './task-request.ts';
import { type TaskView, viewOfTask } from './task-view.ts';

const REFUSALS: Record<TaskRejection, () => Refusal> = {
  task_unknown: taskNotFound,
  task_ended: taskEnded,
};

export type Sending = { deps: Deps; call: TaskCall; message: TaskMessage };

/** Appends to the task's own stream what no record holds. A repeated message finds it there. */
export const storeTask = async (
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
export const replayMessage = async (
  { deps, call }: Sending,
  taskId: string,
): Promise<Outcome<TaskView> | undefined> => {
  const { caller, idem, fingerprint } = call;
  const stored = await deps.log.readStream(taskStream(caller.ownerId, taskId));
  const first = stored.find(({ meta }) => meta.idem === idem);
  if (!first) return undefined;
  if (first.meta.fingerprint !== fingerprint) return messageIdTaken();
  const { context_id, record } = first.data as EventData<'TaskReceived'>;
  const own = { task_id: taskId, context_id, ...present({ record }) };
  const view = await viewOfRow(deps, caller, (await rowIfReady(deps, caller, taskId)) ?? own);
  if (!view) throw new Error(`${taskId} has events but no view`);
  return done(view, { replayOf: first.meta.request, position: first.position });
};
