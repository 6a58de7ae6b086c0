import type { FastifyRequest } from 'fastify';
import type { MethodName } from './methods.ts';

type HttpRoute = {
  method: 'GET' | 'POST' | 'DELETE';
  /** As fastify has it: two colons are one. */
  url: string;
  name: MethodName;
  params(request: FastifyRequest): unknown;
};

type Query = Record<string, unknown>;

const bodyOf = ({ body }: FastifyRequest): unknown => body ?? {};
const idOf = ({ params }: FastifyRequest): { id: string } => params as { id: string };

/** Text of a query as the type that its field has; what does not read stays text, and is refused. */
const typed = (query: Query): Query =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, read(name, String(value))]),
  );

const read = (name: string, value: string): unknown => {
  if (name === 'pageSize' || name === 'historyLength')
    return /^-?\d{1,9}$/.test(value) ? Number(value) : value;
  if (name === 'includeArtifacts' && (value === 'true' || value === 'false'))
    return value === 'true';
  return value;
};

const queryOf = ({ query }: FastifyRequest): Query => typed(query as Query);
const none = (): object => ({});

const TASK = '/tasks/:id';
const acted = (act: string): string => `/tasks/:id(^[^:/]+)::${act}`;
const CONFIGS = `${TASK}/pushNotificationConfigs`;
const CONFIG = `${CONFIGS}/:config`;

/** A2A 1.0 over HTTP+JSON (11.3), below the base of the interface. */
export const HTTP_ROUTES: readonly HttpRoute[] = [
  {
    method: 'POST',
    url: '/message::send',
    name: 'SendMessage',
    params: bodyOf,
  },
  {
    method: 'POST',
    url: '/message::stream',
    name: 'SendStreamingMessage',
    params: bodyOf,
  },
  { method: 'GET', url: '/tasks', name: 'ListTasks', params: queryOf },
  {
    method: 'GET',
    url: TASK,
    name: 'GetTask',
    params: (request) => ({ ...queryOf(request), ...idOf(request) }),
  },
  { method: 'POST', url: acted('cancel'), name: 'CancelTask', params: idOf },
  // The standard says GET; its JavaScript client says POST.
  { method: 'GET', url: acted('subscribe'), name: 'SubscribeToTask', params: idOf },
  { method: 'POST', url: acted('subscribe'), name: 'SubscribeToTask', params: idOf },
  { method: 'POST', url: CONFIGS, name: 'CreateTaskPushNotificationConfig', params: none },
  { method: 'GET', url: CONFIGS, name: 'ListTaskPushNotificationConfigs', params: none },
  { method: 'GET', url: CONFIG, name: 'GetTaskPushNotificationConfig', params: none },
  { method: 'DELETE', url: CONFIG, name: 'DeleteTaskPushNotificationConfig', params: none },
  {
    method: 'GET',
    url: '/extendedAgentCard',
    name: 'GetExtendedAgentCard',
    params: none,
  },
];
