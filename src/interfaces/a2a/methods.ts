/** The methods of A2A, each as an operation on tasks. */
import type { z } from 'zod';
import { agentOperations } from '#contracts/registries/agents.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import type { AgentApp } from '#src/registries/app.ts';
import { agentBudget } from '#src/calls/rules.ts';
import type { Admission, AgentCaller, Budget } from '#src/shared/call.ts';
import { readInput } from '#src/calls/input.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { requestOf, type TaskView } from '#src/tasks/task-view.ts';
import { extendedCard } from './card.ts';
import {
  anyParams,
  listParams,
  pushIdParams,
  pushListParams,
  pushParams,
  readProtoJson,
  sendParams,
  type SendParams,
  taskOf,
  taskParams,
} from './wire.ts';

/** What a method works with. */
export type Context = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  consistencyToken: string | undefined;
};

/** Result of a method: a JSON answer, or a task to be followed on a stream. */
export type MethodResult = { value: object; follow?: Followed };

type Followed = { taskId: string; endsWhenInterrupted: boolean };

export type A2aMethod<Params = never> = {
  /** Name in the audit record. */
  id: string;
  params: z.ZodType<Params>;
  budget(params: Params): Budget;
  run(context: Context, params: Params): Promise<Outcome<MethodResult>>;
};

const define = <Params>(method: A2aMethod<Params>): A2aMethod => method as unknown as A2aMethod;

const answered = <Value>(
  outcome: Outcome<Value>,
  make: (value: Value) => MethodResult,
): Outcome<MethodResult> => (outcome.ok ? { ...outcome, value: make(outcome.value) } : outcome);

/** Outreach has a budget of its own, which messages with data to an existing task also use. */
const budgetOfMessage = ({ message }: SendParams): Budget => {
  const request = requestOf(message);
  if (request.kind === 'operation') return agentBudget(agentOperations[request.operation]);
  if (request.kind === 'question') return 'read';
  return message.taskId !== undefined && message.data ? 'outreach' : 'write';
};

const partRefused = ({ index, code }: { index: number; code: string }): Refusal =>
  code === 'content_type'
    ? refuse('validation_failed', 'Send data parts or text parts; files are not supported.', {
        extra: { reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
      })
    : refuse('validation_failed', 'Send at most one data part, an object, beside text parts.', {
        errors: [{ pointer: `/message/parts/${index}`, code, detail: 'is not supported' }],
      });

const send = async (
  { app, admission, consistencyToken }: Context,
  { push, unsupported: [part], message }: SendParams,
): Promise<Outcome<TaskView>> => {
  if (part) return partRefused(part);
  const input = present({ ...message, push: push && present(push) });
  return app.tasks.perform(admission, 'sendMessage', { input, consistencyToken });
};

const follow =
  (endsWhenInterrupted: boolean) =>
  ({ id: taskId }: TaskView): MethodResult => ({
    value: {},
    follow: { taskId, endsWhenInterrupted },
  });

const sending = (id: string, make: (view: TaskView) => MethodResult): A2aMethod =>
  define({
    id,
    params: sendParams,
    budget: budgetOfMessage,
    run: async (context, params: SendParams) => answered(await send(context, params), make),
  });

/** A method that performs the operation it is named after on one task. */
const onTask = (
  operation: 'getTask' | 'cancelTask' | 'subscribeToTask',
  budget: Budget,
  make: (view: TaskView) => MethodResult,
): A2aMethod =>
  define({
    id: taskOperations[operation].id,
    params: taskParams,
    budget: () => budget,
    run: async ({ app, admission, consistencyToken }, { id }: z.output<typeof taskParams>) =>
      answered(
        await app.tasks.perform(admission, operation, { input: { id }, consistencyToken }),
        make,
      ),
  });

const listTasks = define({
  id: taskOperations.listTasks.id,
  params: listParams,
  budget: () => 'read',
  async run({ app, admission, consistencyToken }, params: z.output<typeof listParams>) {
    const { statusTimestampAfter, historyLength: _length, ...query } = params;
    const changedAfter =
      statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter);
    const input = present({ ...query, changedAfter });
    const listed = await app.tasks.perform(admission, 'listTasks', { input, consistencyToken });
    return answered(listed, ({ tasks, ...page }) => ({
      value: { tasks: tasks.map(taskOf), ...page },
    }));
  },
});

/** A method that performs the operation it is named after on push notification configurations. */
const onPush = <Params extends object>(
  operation: `${'create' | 'get' | 'delete'}PushConfig` | 'listPushConfigs',
  params: z.ZodType<Params>,
): A2aMethod =>
  define({
    id: taskOperations[operation].id,
    params,
    budget: () => (taskOperations[operation].kind === 'query' ? 'read' : 'write'),
    run: async ({ app, admission, consistencyToken }, given: Params) =>
      answered<object>(
        await app.tasks.perform(admission, operation, { input: present(given), consistencyToken }),
        (value) => ({ value }),
      ),
  });

const getExtendedAgentCard = define({
  id: 'a2a:GetExtendedAgentCard',
  params: anyParams,
  budget: () => 'read',
  run: async ({ app, admission }) => done({ value: extendedCard(app, admission.caller.scopes) }),
});

/** The methods of A2A 1.0, by the names that JSON-RPC gives them. */
export const METHODS = {
  // Answers the task as it is now: a person may take days to decide.
  SendMessage: sending(taskOperations.sendMessage.id, (view) => ({
    value: { task: taskOf(view) },
  })),
  SendStreamingMessage: sending('a2a:SendStreamingMessage', follow(true)),
  GetTask: onTask('getTask', 'read', (view) => ({ value: taskOf(view) })),
  ListTasks: listTasks,
  CancelTask: onTask('cancelTask', 'write', (view) => ({ value: taskOf(view) })),
  SubscribeToTask: onTask('subscribeToTask', 'read', follow(false)),
  CreateTaskPushNotificationConfig: onPush('createPushConfig', pushParams),
  GetTaskPushNotificationConfig: onPush('getPushConfig', pushIdParams),
  ListTaskPushNotificationConfigs: onPush('listPushConfigs', pushListParams),
  DeleteTaskPushNotificationConfig: onPush('deletePushConfig', pushIdParams),
  GetExtendedAgentCard: getExtendedAgentCard,
} as const satisfies Record<string, A2aMethod>;

export type MethodName = keyof typeof METHODS;

export const isMethod = (name: string): name is MethodName => Object.hasOwn(METHODS, name);

/** A method's parameters, or every fault of them by its place. */
export const readParams = (
  method: A2aMethod,
  params: unknown,
): { ok: true; params: never } | Refusal => {
  const read = readInput(method.params, readProtoJson(params));
  if ('value' in read) return { ok: true, params: read.value };
  return refuse('parameter_invalid', 'Some parameters are not valid.', { errors: read.faults });
};
