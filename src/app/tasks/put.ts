import type { EventData } from '#contracts/events/index.ts';
import { task, type TaskCommand } from '#src/domain/task.ts';
import { createOnce, decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import type { TaskCall } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';
import type { TaskMessage } from './ask.ts';
import { permitted, rowIfReady, viewOfRow } from './read.ts';
import { messageIdTaken, taskEnded } from './refusals.ts';
import { taskStream } from './refs.ts';
import { type TaskView, viewOfTask } from './view.ts';

/** A message, and the call that brought it. */
export type Sending = { call: TaskCall; message: TaskMessage };

/** Stores what no record says of a task; a repeated message finds it there. */
export const put = async (
  deps: Deps,
  sending: Sending,
  taskId: string,
  command: Exclude<TaskCommand, { type: 'Cancel' }>,
): Promise<Outcome<TaskView>> => {
  const { call, message } = sending;
  const target = { stream: taskStream(call.ownerId, taskId), decider: task };
  const isFirst = message.taskId === undefined;
  const written = isFirst
    ? await createOnce(deps, call, { ...target, command })
    : await decideAndAppend(deps, call, { ...target, command: () => command });
  if (!written.ok) {
    if ('rejected' in written) return taskEnded();
    return written.code === 'idempotency_key_reused' ? messageIdTaken() : written;
  }
  return done(permitted(call.caller, viewOfTask(written.state)), traceOf(written));
};

/**
 * The answer to a message that came before and left its trace on the task's own stream, as the task
 * stands now; a refusal when that was another message; undefined when it never came.
 */
export const received = async (
  deps: Deps,
  sending: Sending,
  taskId: string,
): Promise<Outcome<TaskView> | undefined> => {
  const { caller, idem, fingerprint } = sending.call;
  const stored = await deps.log.readStream(taskStream(caller.ownerId, taskId));
  const first = stored.find(({ meta }) => meta.idem === idem);
  if (!first) return undefined;
  if (first.meta.fingerprint !== fingerprint) return messageIdTaken();
  const { context_id, record } = first.data as EventData<'TaskReceived'>;
  const own = { task_id: taskId, context_id, ...(record !== undefined && { record }) };
  const row = await rowIfReady(deps, caller, taskId);
  const view = await viewOfRow(deps, caller, row ?? own);
  if (!view) throw new Error(`${taskId} has events, and is not there`);
  return done(view, { replayOf: first.meta.request, position: first.position });
};
