import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { agentOperations } from '#contracts/index.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import { pointerOf } from '#src/app/pipeline/input-faults.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { done, refuse } from '#src/app/pipeline/outcome.ts';
import { askOf } from '#src/app/tasks/ask.ts';
import { cancelTask, getTask } from '#src/app/tasks/cancel.ts';
import { listTasks } from '#src/app/tasks/list.ts';
import type { taskIntake } from '#src/app/tasks/send.ts';
import type { TaskView } from '#src/app/tasks/view.ts';
import type { Policy } from '../http/gate.ts';
import { policyOf } from '../http/gate.ts';
import { extendedCard } from './card.ts';
import { pushUnsupported } from './faults.ts';
import type { SendParams } from './wire.ts';
import { anyParams, listParams, sendParams, taskOf, taskParams } from './wire.ts';

/** What a method works with. */
export type Context = {
  deps: Deps;
  intake: ReturnType<typeof taskIntake>;
  caller: AgentCaller;
  requestId: string;
  consistencyToken: string | undefined;
  reply: FastifyReply;
};

/** What a method gives: a JSON answer, or a task to be followed on a stream. */
export type Answer = { value: object; follow?: TaskView };

export type Method<Params = never> = {
  /** Name in the record of what was asked. */
  id: string;
  params: z.ZodType<Params>;
  policy(params: Params): Policy;
  run(context: Context, params: Params): Promise<Outcome<Answer>>;
};

const define = <Params>(method: Method<Params>): Method => method as unknown as Method;

const answered = (outcome: Outcome<TaskView>, make: (view: TaskView) => Answer): Outcome<Answer> =>
  outcome.ok ? { ...outcome, value: make(outcome.value) } : outcome;

/** Outreach has a budget of its own; so has what goes on with a task that may be one. */
const policyOfMessage = ({ message }: SendParams): Policy => {
  const ask = askOf(message);
  if (ask.kind === 'operation') return policyOf(agentOperations[ask.operation]);
  if (ask.kind === 'question') return 'read';
  return message.taskId !== undefined && message.data ? 'outreach' : 'write';
};

const SEND = 'a2a:SendMessage';

const noted = (context: Context, id: string, refusal: Refusal): Refusal => {
  note(context.deps, id, { ...context, surface: 'a2a' }, refusal);
  return refusal;
};

const send = async (context: Context, params: SendParams): Promise<Outcome<TaskView>> => {
  if (params.wantsPush) return noted(context, SEND, pushUnsupported());
  const [strange] = params.strange;
  if (strange) return noted(context, SEND, partRefused(strange));
  const { caller, requestId, consistencyToken } = context;
  return context.intake({ caller, requestId, consistencyToken, message: params.message });
};

const partRefused = ({ index, code }: { index: number; code: string }): Refusal =>
  code === 'content_type'
    ? refuse('validation_failed', 'Send data parts or text parts; files are not taken.', {
        extra: { reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
      })
    : refuse('validation_failed', 'Send at most one data part, an object, beside text parts.', {
        errors: [{ pointer: `/message/parts/${index}`, code, detail: 'is not taken' }],
      });

// The task is answered as it stands: what waits for a person waits for days, and no answer does.
const sendMessage = define({
  id: SEND,
  params: sendParams,
  policy: policyOfMessage,
  run: async (context, params: SendParams) =>
    answered(await send(context, params), (view) => ({ value: { task: taskOf(view) } })),
});

const sendStreamingMessage = define({
  id: 'a2a:SendStreamingMessage',
  params: sendParams,
  policy: policyOfMessage,
  run: async (context, params: SendParams) =>
    answered(await send(context, params), (view) => ({ value: {}, follow: view })),
});

const getTaskMethod = define({
  id: 'a2a:GetTask',
  params: taskParams,
  policy: () => 'read',
  run: async (context, { id }: z.output<typeof taskParams>) =>
    answered(await getTask(context.deps, context, id), (view) => ({ value: taskOf(view) })),
});

const listTasksMethod = define({
  id: 'a2a:ListTasks',
  params: listParams,
  policy: () => 'read',
  async run(context, params: z.output<typeof listParams>) {
    const { deps, caller, consistencyToken } = context;
    const { statusTimestampAfter, ...query } = params;
    const changedAfter =
      statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter);
    const outcome = await listTasks(deps, caller, { ...query, changedAfter }, consistencyToken);
    note(deps, 'a2a:ListTasks', { ...context, surface: 'a2a' }, outcome);
    if (!outcome.ok) return outcome;
    const { tasks, ...page } = outcome.value;
    return done({ value: { tasks: tasks.map(taskOf), ...page } });
  },
});

const cancelTaskMethod = define({
  id: 'a2a:CancelTask',
  params: taskParams,
  policy: () => 'write',
  run: async (context, { id }: z.output<typeof taskParams>) =>
    answered(await cancelTask(context.deps, context, id), (view) => ({ value: taskOf(view) })),
});

const subscribeToTask = define({
  id: 'a2a:SubscribeToTask',
  params: taskParams,
  policy: () => 'read',
  run: async (context, { id }: z.output<typeof taskParams>) =>
    answered(
      await getTask(context.deps, context, id, { id: 'a2a:SubscribeToTask', isOpen: true }),
      (view) => ({ value: {}, follow: view }),
    ),
});

const pushConfig = (name: string): Method =>
  define({
    id: `a2a:${name}`,
    params: anyParams,
    policy: () => 'read',
    run: async (context) => noted(context, `a2a:${name}`, pushUnsupported()),
  });

const getExtendedAgentCard = define({
  id: 'a2a:GetExtendedAgentCard',
  params: anyParams,
  policy: () => 'read',
  async run(context) {
    const { deps, caller } = context;
    note(deps, 'a2a:GetExtendedAgentCard', { ...context, surface: 'a2a' }, done(null));
    return done({ value: extendedCard(deps, caller.scopes) });
  },
});

/** The methods of A2A 1.0, by the names that JSON-RPC gives them. */
export const METHODS = {
  SendMessage: sendMessage,
  SendStreamingMessage: sendStreamingMessage,
  GetTask: getTaskMethod,
  ListTasks: listTasksMethod,
  CancelTask: cancelTaskMethod,
  SubscribeToTask: subscribeToTask,
  CreateTaskPushNotificationConfig: pushConfig('CreateTaskPushNotificationConfig'),
  GetTaskPushNotificationConfig: pushConfig('GetTaskPushNotificationConfig'),
  ListTaskPushNotificationConfigs: pushConfig('ListTaskPushNotificationConfigs'),
  DeleteTaskPushNotificationConfig: pushConfig('DeleteTaskPushNotificationConfig'),
  GetExtendedAgentCard: getExtendedAgentCard,
} as const satisfies Record<string, Method>;

export type MethodName = keyof typeof METHODS;

export const isMethod = (name: string): name is MethodName => Object.hasOwn(METHODS, name);

/** A method's parameters, or every fault of them by its place. */
export const readParams = (
  method: Method,
  params: unknown,
): { ok: true; params: never } | Refusal => {
  const parsed = method.params.safeParse(params);
  if (parsed.success) return { ok: true, params: parsed.data };
  const errors = parsed.error.issues.map((issue) => ({
    pointer: pointerOf(issue.path),
    code: issue.code,
    // Of zod's words some repeat what was sent; the code and the place say enough.
    detail: issue.code === 'custom' ? issue.message : 'is missing or not valid',
  }));
  return refuse('parameter_invalid', 'Some parameters are not valid.', { errors });
};
