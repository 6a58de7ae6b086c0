import { z } from 'zod';
import { line } from '../fields.ts';
import { defineTaskOperation } from '../operation.ts';
import { agentOperations } from '../index.ts';
import { attributionAnswer, attributionQuestion } from '../skills.ts';

/*
 * What an agent can do to its tasks over A2A. A task is a thin state over the operations of the agents'
 * registry: those make its records, under their own scopes. The ids are stored in audit records.
 */

const TASK_PROBLEMS = ['resource_not_found', 'parameter_invalid', 'state_conflict'] as const;

/** Whatever the operations behind a message may answer. */
const MESSAGE_PROBLEMS = [
  ...new Set(Object.values(agentOperations).flatMap(({ problems }) => problems)),
  ...TASK_PROBLEMS,
  'idempotency_key_reused',
  'boundary_forbidden',
] as const;

const TASK_WRITES = ['TaskReceived', 'TaskCompleted', 'TaskRejected', 'RequestBound'] as const;

/** A task as the application knows it; the protocol's own form of it is made by its interface. */
const taskView = z.looseObject({ id: z.string(), status: z.string() });
const taskId = z.strictObject({ id: z.string() });

/** Takes a message: begins a task or continues one. Its idempotency key is the messageId. */
const sendMessage = defineTaskOperation({
  id: 'a2a:SendMessage',
  kind: 'command',
  idempotency: 'key',
  scope: null,
  input: z.strictObject({
    messageId: z.string(),
    taskId: z.string().optional(),
    contextId: z.string().optional(),
    data: z.record(z.string(), z.unknown()).optional(),
    /** Hash of the parts that are not data. */
    otherParts: z.string(),
  }),
  output: taskView,
  problems: MESSAGE_PROBLEMS,
  writes: TASK_WRITES,
});

const getTask = defineTaskOperation({
  id: 'a2a:GetTask',
  kind: 'query',
  idempotency: 'none',
  scope: null,
  input: taskId,
  output: taskView,
  problems: TASK_PROBLEMS,
});

/** The same as getTask, refused for a task that has ended. */
const subscribeToTask = defineTaskOperation({
  ...getTask,
  id: 'a2a:SubscribeToTask',
});

const listTasks = defineTaskOperation({
  id: 'a2a:ListTasks',
  kind: 'query',
  idempotency: 'none',
  scope: null,
  input: z.strictObject({
    contextId: line(200).optional(),
    status: z.string().optional(),
    pageSize: z.int(),
    pageToken: z.string().optional(),
    /** Epoch milliseconds. */
    changedAfter: z.number().optional(),
    includeArtifacts: z.boolean(),
  }),
  output: z.looseObject({ tasks: z.array(taskView), totalSize: z.int() }),
  problems: ['cursor_invalid', 'parameter_invalid'],
});

/** Cancels what has not been sent; a canceled task stays canceled. */
const cancelTask = defineTaskOperation({
  id: 'a2a:CancelTask',
  kind: 'command',
  idempotency: 'state',
  scope: null,
  input: taskId,
  output: taskView,
  problems: MESSAGE_PROBLEMS,
  writes: ['TaskCanceled'],
});

/** Answers why a click, a handoff or a lead is attributed as it is. */
const answerAttributionQuestion = defineTaskOperation({
  id: 'a2a:attribution_question',
  kind: 'query',
  idempotency: 'none',
  scope: agentOperations.getPerformance.scope,
  input: attributionQuestion,
  output: attributionAnswer,
  problems: ['scope_missing', 'parameter_invalid', 'resource_not_found'],
});

/** Everything that an agent can do to its tasks. */
export const taskOperations = {
  sendMessage,
  getTask,
  subscribeToTask,
  listTasks,
  cancelTask,
  answerAttributionQuestion,
} as const;

export type TaskOperations = typeof taskOperations;
export type TaskOperationId = keyof TaskOperations;
