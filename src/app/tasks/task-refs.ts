import { idempotencyKey } from '#contracts/fields.ts';
import type { OperationId } from '#contracts/index.ts';
import type { AgentCaller, TaskRef } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { digestOf, nameOf } from '../events/hash.ts';
import { idemOf } from '../events/idempotency.ts';
import { streamOf } from '../records/streams.ts';

const NAME_CHARS = 12;

const macOf = ({ secrets }: Pick<Deps, 'secrets'>, caller: AgentCaller, name: string): string =>
  secrets.mac('task-context', digestOf(caller.ownerId, caller.agentId, name)).slice(0, NAME_CHARS);

/** Makes the id of a context of this agent from its first message. It contains a MAC, so it need not be stored. */
export const contextFor = (
  deps: Pick<Deps, 'secrets'>,
  caller: AgentCaller,
  messageId: string,
): string => {
  const name = nameOf('context', caller.ownerId, caller.agentId, messageId).slice(0, NAME_CHARS);
  return `ctx_${name}${macOf(deps, caller, name)}`;
};

export const isContextOf = (
  deps: Pick<Deps, 'secrets'>,
  caller: AgentCaller,
  contextId: string,
): boolean => {
  const [, name = ''] = /^ctx_([0-9a-z]{12})[0-9a-f]{12}$/.exec(contextId) ?? [];
  return name !== '' && contextId === `ctx_${name}${macOf(deps, caller, name)}`;
};

/** Id of the task that a first message starts; the same message gives the same id. */
export const taskIdFor = ({ ownerId, agentId }: AgentCaller, messageId: string): string =>
  `tsk_${nameOf('task', ownerId, agentId, messageId)}`;

export const refFor = (
  deps: Pick<Deps, 'secrets'>,
  caller: AgentCaller,
  { messageId, contextId }: { messageId: string; contextId?: string | undefined },
): TaskRef => ({
  task_id: taskIdFor(caller, messageId),
  context_id: contextId ?? contextFor(deps, caller, messageId),
});

/** Idempotency key of a message id, which may be any text: one that is no valid key is hashed. */
export const keyFor = (messageId: string): string =>
  idempotencyKey.safeParse(messageId).success ? messageId : `msg.${digestOf(messageId)}`;

/** Id of the record that an operation makes under a key. */
export const recordFor = (caller: AgentCaller, operation: OperationId, key: string): string => {
  const idem = idemOf(caller, operation, key);
  return operation === 'createHandoff'
    ? `hnd_${nameOf('handoff', idem)}`
    : `out_${nameOf('outbound', idem)}`;
};

export const taskStream = (ownerId: string, taskId: string): string =>
  streamOf(ownerId, 'task', taskId);
