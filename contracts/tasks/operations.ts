/** Operations of A2A on tasks. */
import { TOKEN_PROBLEMS } from '#contracts/problems.ts';
import { z } from 'zod';
import { compared, exempt, line } from '#contracts/fields.ts';
import { defineTaskOperation } from '#contracts/operation.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { attributionAnswer, attributionQuestion } from './skills.ts';

/*
 * The operations of agents on their tasks over A2A. A task is a thin state over the operations of the agents'
 * registry, which create its records, under their own scopes. The ids are stored in audit records.
 */

const TASK_PROBLEMS = [
  'resource_not_found',
  'parameter_invalid',
  'state_conflict',
  ...TOKEN_PROBLEMS,
] as const;

/** Every problem of the operations that a message can call. */
const MESSAGE_PROBLEMS = [
  ...new Set(Object.values(agentOperations).flatMap(({ problems }) => problems)),
  ...TASK_PROBLEMS,
  'idempotency_key_reused',
  'boundary_forbidden',
] as const;

const TASK_WRITES = ['TaskReceived', 'TaskCompleted', 'TaskRejected', 'RequestBound'] as const;

/** The states of a task in A2A 1.0, without the prefix TASK_STATE_. */
export const TASK_STATUSES = [
  'SUBMITTED',
  'WORKING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'REJECTED',
  'INPUT_REQUIRED',
  'AUTH_REQUIRED',
] as const;

const headerText = (max: number) =>
  exempt(
    'encrypted',
    z
      .string()
      .max(max)
      .regex(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, {
        error: 'must be printable ASCII: it is sent in a header',
      }),
  );

/** Schemes whose credentials a sender can present without a challenge of the receiver. */
const PUSH_SCHEME = /^(bearer|basic)$/i;

/** Where a task's push notifications are sent, with the names that A2A gives the fields. */
export const pushConfig = {
  /** Chosen by the client, or by the service. A path of the HTTP binding has it. */
  id: z
    .string()
    .regex(/^[A-Za-z0-9._~:-]{1,100}$/, { error: 'must be 1 to 100 of A-Z a-z 0-9 . _ ~ : -' })
    .optional(),
  url: exempt('url', z.string().min(1).max(2_048)),
  token: headerText(1_024).optional(),
  authentication: z
    .object({
      scheme: z.string().regex(PUSH_SCHEME, {
        error: 'must be Bearer or Basic; others need a challenge of the receiver',
      }),
      credentials: headerText(4_096),
    })
    .optional(),
};

/** A task in the application's form; the A2A interface converts it to that of the protocol. */
const taskView = z.looseObject({ id: z.string(), status: z.string() });
const taskId = z.strictObject({ id: compared });

/** Starts or continues a task. The idempotency key is the messageId. */
const sendMessage = defineTaskOperation({
  id: 'a2a:SendMessage',
  kind: 'command',
  scope: null,
  input: z.strictObject({
    messageId: exempt('hashed', z.string()),
    taskId: compared.optional(),
    contextId: compared.optional(),
    data: z.record(z.string(), z.unknown()).optional(),
    /** Hash of the parts that are not data. */
    otherParts: exempt('hashed', z.string()),
    /** Where the task's changes are sent from now on. Not part of the message: a retry can have another one. */
    push: z.strictObject(pushConfig).optional(),
  }),
  output: taskView,
  problems: MESSAGE_PROBLEMS,
  writes: [...TASK_WRITES, 'PushConfigCreated'],
});

const getTask = defineTaskOperation({
  id: 'a2a:GetTask',
  kind: 'query',
  scope: null,
  input: taskId,
  output: taskView,
  problems: TASK_PROBLEMS,
});

/** Like getTask, but refuses a task that has ended. */
const subscribeToTask = defineTaskOperation({
  ...getTask,
  id: 'a2a:SubscribeToTask',
});

const listTasks = defineTaskOperation({
  id: 'a2a:ListTasks',
  kind: 'query',
  scope: null,
  input: z.strictObject({
    contextId: line(200).optional(),
    status: z.enum(TASK_STATUSES).optional(),
    pageSize: z.int(),
    pageToken: compared.optional(),
    /** Epoch milliseconds. */
    changedAfter: z.number().optional(),
    includeArtifacts: z.boolean(),
  }),
  output: z.looseObject({ tasks: z.array(taskView), totalSize: z.int() }),
  problems: ['cursor_invalid', 'parameter_invalid', ...TOKEN_PROBLEMS],
});

/** Cancels a task that has not been sent. Repeating the call changes nothing. */
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

/** A configuration without its secrets, with the names that A2A gives the fields. */
const pushConfigView = z.looseObject({ taskId: z.string(), id: z.string(), url: z.string() });
const pushConfigId = z.strictObject({ taskId: compared, id: compared });

/** Registers where a task's changes are sent. The same registration again changes nothing; another one replaces it. */
const createPushConfig = defineTaskOperation({
  id: 'a2a:CreateTaskPushNotificationConfig',
  kind: 'command',
  idempotency: 'state',
  scope: null,
  input: z.strictObject({ taskId: compared, ...pushConfig }),
  output: pushConfigView,
  problems: [...TASK_PROBLEMS, 'validation_failed'],
  writes: ['PushConfigCreated'],
});

const getPushConfig = defineTaskOperation({
  id: 'a2a:GetTaskPushNotificationConfig',
  kind: 'query',
  scope: null,
  input: pushConfigId,
  output: pushConfigView,
  problems: TASK_PROBLEMS,
});

const listPushConfigs = defineTaskOperation({
  id: 'a2a:ListTaskPushNotificationConfigs',
  kind: 'query',
  scope: null,
  input: z.strictObject({
    taskId: compared,
    pageSize: z.int(),
    pageToken: compared.optional(),
  }),
  output: z.looseObject({ configs: z.array(pushConfigView), nextPageToken: z.string() }),
  problems: [...TASK_PROBLEMS, 'cursor_invalid', 'cursor_expired'],
});

/** Removes a configuration, and the key of its secrets. Repeating the call changes nothing. */
const deletePushConfig = defineTaskOperation({
  id: 'a2a:DeleteTaskPushNotificationConfig',
  kind: 'command',
  idempotency: 'state',
  scope: null,
  input: pushConfigId,
  output: z.strictObject({}),
  problems: TASK_PROBLEMS,
  writes: ['PushConfigDeleted'],
});

/** Explains the attribution of a click, a handoff or a lead. */
const answerAttributionQuestion = defineTaskOperation({
  id: 'a2a:attribution_question',
  kind: 'query',
  scope: agentOperations.getPerformance.scope,
  input: attributionQuestion,
  output: attributionAnswer,
  problems: ['scope_missing', 'parameter_invalid', 'resource_not_found', ...TOKEN_PROBLEMS],
});

export const taskOperations = {
  sendMessage,
  getTask,
  subscribeToTask,
  listTasks,
  cancelTask,
  createPushConfig,
  getPushConfig,
  listPushConfigs,
  deletePushConfig,
  answerAttributionQuestion,
} as const;

export type TaskOperations = typeof taskOperations;
export type TaskOperationId = keyof TaskOperations;
