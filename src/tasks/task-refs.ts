import { idempotencyKey } from '#contracts/fields.ts';
import { digestOf, nameOf } from '#src/writing/hash.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import type { Deps } from '#src/calls/call.ts';
import type { AgentCaller, TaskRef } from '#src/shared/call.ts';
import { streamOf } from '#src/writing/streams.ts';
import type { OperationRequest, TaskMessage, TaskRequest } from './task-request.ts';

const NAME_CHARS = 12;

/** Completes the id of a context of this agent. It contains a MAC, so it need not be stored. */
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
