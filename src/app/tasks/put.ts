import type { EventData } from '#contracts/events/index.ts';
import type { TaskCommand } from '#src/domain/task.ts';
import { task } from '#src/domain/task.ts';
import type { AgentCall, AgentCaller } from '../pipeline/call.ts';
import { awaitOwnWrite } from '../pipeline/consistency.ts';
import type { Written } from '../events/decide-and-append.ts';
import { createOnce, decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import { fingerprintOf } from '../events/hash.ts';
import { idemOf } from '../pipeline/idempotency.ts';
import type { Outcome } from '../pipeline/outcome.ts';
import { done } from '../pipeline/outcome.ts';
import type { TaskMessage } from './ask.ts';
import { permitted, rowIfReady, viewOfRow } from './read.ts';
import { messageIdTaken, taskEnded } from './refusals.ts';
import { taskStream } from './refs.ts';
import type { TaskView } from './view.ts';
import { viewOfTask } from './view.ts';

/** A message on its way, with who sent it. */
export type Sending = {
  caller: AgentCaller;
  requestId: string;
  message: TaskMessage;
  consistencyToken?: string | undefined;
};

export const SEND = 'a2a:SendMessage';

export const callFor = (
  deps: Pick<Deps, 'clock'>,
  { caller, requestId }: Pick<Sending, 'caller' | 'requestId'>,
  operation: string,
): AgentCall => ({
  caller,
  ownerId: caller.ownerId,
  actor: caller.agentId,
  keyId: caller.keyId,
  surface: 'a2a',
  operation,
  requestId,
  at: deps.clock.now(),
});

/** Once per agent and message; its words go into the hash and nowhere else. */
const keyed = ({ caller, message }: Sending): { idem: string; fingerprint: string } => {
  const { messageId, taskId, contextId, data, otherParts } = message;
  const asked = {
    otherParts,
    ...(data && { data }),
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
  };
  return {
    idem: idemOf(caller, SEND, messageId),
    fingerprint: fingerprintOf(SEND, asked),
  };
};

/** Writes what no record says of a task; the same message again finds it there. */
export const put = async (
  deps: Deps,
  sending: Sending,
  taskId: string,
  command: Exclude<TaskCommand, { type: 'Cancel' }>,
): Promise<Outcome<TaskView>> => {
  const { caller, message } = sending;
  const call = { ...callFor(deps, sending, SEND), ...keyed(sending) };
  const target = { stream: taskStream(caller.ownerId, taskId), decider: task };
  const isFirst = message.taskId === undefined;
  const written = isFirst
    ? await createOnce(deps, call, { ...target, command })
    : await decideAndAppend(deps, call, { ...target, command: () => command });
  if (!written.ok) {
    if ('rejected' in written) return taskEnded();
    return written.code === 'idempotency_key_reused' ? messageIdTaken() : written;
  }
  return shown(deps, sending, written);
};

const shown = async (
  deps: Deps,
  { caller }: Sending,
  written: Written<Parameters<typeof viewOfTask>[0]>,
): Promise<Outcome<TaskView>> => {
  await awaitOwnWrite(deps, written.position);
  return done(permitted(caller, viewOfTask(written.state)), traceOf(written));
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
  const { caller } = sending;
  const { idem, fingerprint } = keyed(sending);
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
