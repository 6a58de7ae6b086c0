/** The methods of A2A, each as an operation on tasks, and their routes in both bindings. */
import type { FastifyReply, FastifyRequest, FastifyInstance } from 'fastify';
import { boundaryOf } from '#contracts/boundaries.ts';
import { clientIn, readInput } from '#src/calls/input.ts';
import type { AgentApp } from '#src/registries/app.ts';
import type { Admission, AgentCaller, Budget } from '#src/shared/call.ts';
import { isRecord, present } from '#src/shared/json.ts';
import { type Refusal, forbidden, refuse, done, type Outcome } from '#src/shared/outcome.ts';
import { arrivalOf } from '#src/web/http.ts';
import { webAccess } from '#src/web/origin.ts';
import { rememberFailure, problemHeaders } from '#src/web/problem.ts';
import { A2A_BASE, A2A_VERSION, cardRoutes, extendedCard } from './card.ts';
import { legacyCall, legacyResult, LEGACY_VERSION } from './legacy.ts';
import { taskStreams, type TaskStreams } from './streams.ts';
import {
  a2aFaultOf,
  httpError,
  readProtoJson,
  rpcError,
  anyParams,
  listParams,
  pushIdParams,
  pushListParams,
  pushParams,
  sendParams,
  type SendParams,
  taskOf,
  taskParams,
} from './wire.ts';
import type { z } from 'zod';
import { agentOperations } from '#contracts/registries/agents.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { agentBudget } from '#src/calls/rules.ts';
import { requestOf, type TaskView } from '#src/tasks/task-view.ts';

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

/** How a binding sends an answer, an error and an event of a stream. */
type Binding = {
  send(reply: FastifyReply, value: object): FastifyReply;
  refuse(reply: FastifyReply, refusal: Refusal, origin: string): FastifyReply;
  event(reply: FastifyReply): (event: object) => object;
};

const JSON_TYPE = 'application/json';
const A2A_TYPE = 'application/a2a+json';

const write = (reply: FastifyReply, type: string, value: object): FastifyReply =>
  // A buffer: fastify adds a charset to a text, and these media types have none.
  reply.header('content-type', type).send(Buffer.from(JSON.stringify(value)));

const fail = (reply: FastifyReply, refusal: Refusal, origin: string) => {
  const requestId = reply.request.id;
  rememberFailure(reply.request, refusal.code, refusal.cause);
  reply.headers({ ...problemHeaders(refusal, origin), 'request-id': requestId });
  return { fault: a2aFaultOf(refusal), about: { origin, requestId } };
};

/** The id of the request; null when it has no valid one, as JSON-RPC requires. */
const idOf = ({ request: { body } }: FastifyReply): string | number | null => {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
};

const rpcBinding: Binding = {
  send: (reply, result) =>
    write(reply.code(200), JSON_TYPE, { jsonrpc: '2.0', id: idOf(reply), result }),
  refuse(reply, refusal, origin) {
    const { fault, about } = fail(reply, refusal, origin);
    return write(reply.code(fault.rpcHttp), JSON_TYPE, rpcError(fault, idOf(reply), about));
  },
  event: (reply) => {
    const id = idOf(reply);
    return (result) => ({ jsonrpc: '2.0', id, result });
  },
};

/** Answers of 0.3: the same envelope around results of another form. */
const legacyBinding: Binding = {
  ...rpcBinding,
  send: (reply, result) => rpcBinding.send(reply, legacyResult(result)),
  event: (reply) => {
    const wrap = rpcBinding.event(reply);
    return (event) => wrap(legacyResult(event));
  },
};

/** The media type of A2A, or plain JSON when the client accepts only that. */
const typeFor = ({ request }: FastifyReply): string => {
  const accept = request.headers.accept ?? '';
  return accept.includes(JSON_TYPE) && !accept.includes(A2A_TYPE) ? JSON_TYPE : A2A_TYPE;
};

const httpBinding: Binding = {
  send: (reply, value) => write(reply.code(200), typeFor(reply), value),
  refuse(reply, refusal, origin) {
    const { fault, about } = fail(reply, refusal, origin);
    return write(reply.code(fault.http), JSON_TYPE, httpError(fault, about));
  },
  event: () => (event) => event,
};

type HttpRoute = {
  method: 'GET' | 'POST' | 'DELETE';
  /** As fastify has it: two colons are one. */
  url: string;
  name: MethodName;
  params(request: FastifyRequest): unknown;
};

const bodyOf = ({ body }: FastifyRequest): unknown => body ?? {};
const pathIdOf = ({ params }: FastifyRequest): { id: string } => params as { id: string };
const queryOf = ({ query }: FastifyRequest): object => readProtoJson(query) as object;
const none = (): object => ({});
/** The task and the configuration that a path names. */
const configOf = ({ params }: FastifyRequest): object => {
  const { id: taskId, config } = params as { id: string; config?: string };
  return { taskId, ...(config !== undefined && { id: config }) };
};

const TASK = '/tasks/:id';
const acted = (act: string): string => `/tasks/:id(^[^:/]+)::${act}`;
const CONFIGS = `${TASK}/pushNotificationConfigs`;
const CONFIG = `${CONFIGS}/:config`;

/** A2A 1.0 over HTTP+JSON (11.3), below the base of the interface. */
export const HTTP_ROUTES: readonly HttpRoute[] = [
  { method: 'POST', url: '/message::send', name: 'SendMessage', params: bodyOf },
  { method: 'POST', url: '/message::stream', name: 'SendStreamingMessage', params: bodyOf },
  { method: 'GET', url: '/tasks', name: 'ListTasks', params: queryOf },
  {
    method: 'GET',
    url: TASK,
    name: 'GetTask',
    params: (it) => ({ ...queryOf(it), ...pathIdOf(it) }),
  },
  { method: 'POST', url: acted('cancel'), name: 'CancelTask', params: pathIdOf },
  // The standard says GET; its JavaScript client says POST.
  { method: 'GET', url: acted('subscribe'), name: 'SubscribeToTask', params: pathIdOf },
  { method: 'POST', url: acted('subscribe'), name: 'SubscribeToTask', params: pathIdOf },
  {
    method: 'POST',
    url: CONFIGS,
    name: 'CreateTaskPushNotificationConfig',
    params: (it) => ({ ...(bodyOf(it) as object), ...configOf(it) }),
  },
  {
    method: 'GET',
    url: CONFIGS,
    name: 'ListTaskPushNotificationConfigs',
    params: (it) => ({ ...queryOf(it), ...configOf(it) }),
  },
  { method: 'GET', url: CONFIG, name: 'GetTaskPushNotificationConfig', params: configOf },
  { method: 'DELETE', url: CONFIG, name: 'DeleteTaskPushNotificationConfig', params: configOf },
  { method: 'GET', url: '/extendedAgentCard', name: 'GetExtendedAgentCard', params: none },
];

/** What a JSON-RPC request is audited as before its method is known. */
const RPC_EXCHANGE = 'a2a:JSONRPC';

type MethodCall = { name: MethodName; params: unknown };

type Admissions = WeakMap<FastifyRequest, Admission<AgentCaller>>;
type A2aInterface = {
  app: AgentApp;
  admissions: Admissions;
  streams: TaskStreams;
  access: ReturnType<typeof webAccess>;
};

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, A2A-Version, A2A-Extensions, Last-Event-ID, Consistency-Token';
const EXPOSED_HEADERS =
  'WWW-Authenticate, Retry-After, Consistency-Token, Request-Id, Idempotent-Replayed, Original-Request-Id';

/** A2A 1.0 over JSON-RPC and over HTTP+JSON: the same methods, performed in the same way. */
export const a2aRoutes = (
  server: FastifyInstance,
  app: AgentApp,
  { webOrigins }: { webOrigins: readonly string[] },
): void => {
  const access = webAccess({
    own: app.origin,
    named: webOrigins,
    headers: ALLOWED_HEADERS,
    exposed: EXPOSED_HEADERS,
  });
  const streams = taskStreams(server, app);
  const a2a: A2aInterface = { app, admissions: new WeakMap(), streams, access };
  for (const url of new Set(['', ...HTTP_ROUTES.map((route) => route.url)]))
    server.route({ method: 'OPTIONS', url: A2A_BASE + url, handler: access.preflight });
  cardRoutes(server, app);
  server.route({
    ...routeOf(a2a, rpcBinding, RPC_EXCHANGE),
    method: 'POST',
    url: A2A_BASE,
    handler: async (request, reply) => {
      const isLegacy = versionOf(request) === LEGACY_VERSION;
      const binding = isLegacy ? legacyBinding : rpcBinding;
      const call = rpcCallOf(request.body, isLegacy);
      if ('refusal' in call) return refuseRequest({ a2a, reply, binding }, call.id, call.refusal);
      return perform({ a2a, reply, binding }, call);
    },
  });
  for (const { method, url, name, params } of HTTP_ROUTES)
    server.route({
      ...routeOf(a2a, httpBinding, METHODS[name].id),
      method,
      url: A2A_BASE + url,
      handler: async (request, reply) =>
        perform({ a2a, reply, binding: httpBinding }, { name, params: params(request) }),
    });
};

/** The route up to its handler: admission, and the protocol version. */
const routeOf = (a2a: A2aInterface, binding: Binding, exchange: string) => ({
  exposeHeadRoute: false,
  config: {
    refuse: (reply: FastifyReply, refusal: Refusal) =>
      refuseRequest({ a2a, reply, binding }, exchange, refusal),
  },
  async onRequest(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    reply.header('cache-control', 'no-store');
    acceptMediaType(request);
    const { app, admissions, access } = a2a;
    access.allow(request, reply);
    const foreign = access.refusal(request);
    const admitted = foreign ?? (await app.agents.admit(arrivalOf(request, 'a2a'), { exchange }));
    if (!admitted.ok) return binding.refuse(reply, admitted, app.origin());
    admissions.set(request, admitted.value);
    return undefined;
  },
  // After the body is parsed: over JSON-RPC the refusal carries the request's id.
  preHandler(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    const version = versionRefusal(request, binding === rpcBinding);
    if (version) refuseRequest({ a2a, reply, binding }, exchange, version);
    else next();
  },
});

/** A request that is answered over one of the bindings. */
type Exchange = { a2a: A2aInterface; reply: FastifyReply; binding: Binding };

/** Answers a request that is refused before a method runs; audits it once the caller is known. */
const refuseRequest = (
  { a2a: { app, admissions }, reply, binding }: Exchange,
  exchange: string,
  refusal: Refusal,
): FastifyReply => {
  const admission = admissions.get(reply.request);
  const answered = (admission && app.agents.charge(admission, 'read')) ?? refusal;
  if (admission) {
    reply.headers(admission.headers);
    app.agents.conclude(admission, exchange, answered);
  }
  return binding.refuse(reply, answered, app.origin());
};

/** Keeps with a request the client that its metadata, or that of its message, names. */
const nameClient = ({ arrival }: Admission<AgentCaller>, params: unknown): void => {
  if (!isRecord(params)) return;
  const { metadata, message } = params;
  for (const said of [metadata, isRecord(message) ? message['metadata'] : undefined])
    if (isRecord(said))
      Object.assign(arrival, present({ client: clientIn(said['clientInfo'], said['model']) }));
};

const perform = async (
  { a2a: { app, admissions, streams }, reply, binding }: Exchange,
  { name, params: raw }: MethodCall,
): Promise<FastifyReply> => {
  const { request } = reply;
  const admission = admissions.get(request);
  if (!admission) throw new Error(`${name} was reached without an admission`);
  const method: A2aMethod = METHODS[name];
  const fail = (refusal: Refusal): FastifyReply => {
    app.agents.conclude(admission, method.id, refusal);
    return binding.refuse(reply, refusal, app.origin());
  };
  const revoked = app.agents.confirm(admission);
  if (revoked) return fail(revoked);
  nameClient(admission, raw);
  const read = readParams(method, raw);
  const overLimit = app.agents.charge(admission, read.ok ? method.budget(read.params) : 'read');
  reply.headers(admission.headers);
  if (overLimit) return fail(overLimit);
  if (!read.ok) return fail(read);
  const place = isStream(name) ? streams.reserve(admission.caller) : undefined;
  if (place && !place.ok) return fail(place);
  const release = place?.value ?? (() => undefined);
  try {
    const token = request.headers['consistency-token'];
    const consistencyToken = token === undefined ? undefined : String(token);
    const outcome = await method.run({ app, admission, consistencyToken }, read.params);
    if (!outcome.ok) {
      release();
      return fail(outcome);
    }
    app.agents.conclude(admission, method.id, outcome);
    const { value, replayOf } = outcome;
    reply.header('consistency-token', app.tokenFor(outcome));
    if (replayOf !== undefined)
      reply.headers({ 'idempotent-replayed': 'true', 'original-request-id': replayOf });
    const { value: result, follow } = value;
    if (!follow) return binding.send(reply, result);
    streams.open(reply, { admission, ...follow, wrap: binding.event(reply), release });
    return reply;
  } catch (error) {
    release();
    throw error;
  }
};

const isStream = (name: MethodName): boolean =>
  name === 'SendStreamingMessage' || name === 'SubscribeToTask';

/** Accepts the media type of A2A as JSON, and requests without a body that have a content type. */
const acceptMediaType = ({ raw: { headers } }: FastifyRequest): void => {
  const type = headers['content-type'];
  const isEmpty =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (type === undefined) return;
  if (isEmpty) delete headers['content-type'];
  else headers['content-type'] = type.replace(/^application\/a2a\+json/i, 'application/json');
};

/** The version that a request asks for, without its patch; one that names none is of 0.3. */
const versionOf = ({ headers, query }: FastifyRequest): string => {
  const { 'A2A-Version': inQuery } = query as Record<string, string | undefined>;
  const asked = String(headers['a2a-version'] ?? inQuery ?? '').trim() || LEGACY_VERSION;
  return /^\d+\.\d+(?=(?:\.\d+)?$)/.exec(asked)?.[0] ?? asked;
};

const versionRefusal = (request: FastifyRequest, isRpc: boolean): Refusal | undefined => {
  const version = versionOf(request);
  if (version === A2A_VERSION || (isRpc && version === LEGACY_VERSION)) return undefined;
  return refuse(
    'version_unsupported',
    `Send A2A-Version: ${A2A_VERSION}; without it, the version is ${LEGACY_VERSION}, which only JSON-RPC has.`,
  );
};

type RefusedCall = { refusal: Refusal; id: string };

/** Reads the method call of a JSON-RPC body. A method named after a forbidden act is refused as that act. */
const rpcCallOf = (body: unknown, isLegacy: boolean): MethodCall | RefusedCall => {
  const malformed = (detail: string): RefusedCall => ({
    refusal: refuse('malformed_request', detail),
    id: RPC_EXCHANGE,
  });
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return malformed('Send one JSON-RPC object; batches are not supported.');
  const { jsonrpc, id, method, params } = body as Record<string, unknown>;
  if (jsonrpc !== '2.0') return malformed('jsonrpc must be "2.0".');
  if (typeof id !== 'string' && !Number.isInteger(id))
    return malformed('id must be a string or a whole number.');
  if (typeof method !== 'string') return malformed('method must be a string.');
  if (!isLegacy && isMethod(method)) return { name: method, params: params ?? {} };
  const call = isLegacy ? legacyCall(method, params) : undefined;
  if (call) return 'name' in call ? call : { refusal: call, id: RPC_EXCHANGE };
  const boundary = boundaryOf(method);
  if (boundary) return { refusal: forbidden(boundary), id: `boundary:${boundary}` };
  const refusal =
    isLegacy && isMethod(method)
      ? refuse(
          'version_unsupported',
          `Send A2A-Version: ${A2A_VERSION} for the methods of ${A2A_VERSION}.`,
        )
      : refuse('route_not_found', 'No method has this name.');
  return { refusal, id: RPC_EXCHANGE };
};
