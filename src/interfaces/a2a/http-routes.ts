import type { FastifyRequest } from 'fastify';
import type { MethodName } from './methods.ts';

export type HttpRoute = {
  method: 'GET' | 'POST' | 'DELETE';
  /** As fastify has it, and as a 405 shows it. */
  url: string;
  path: string;
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

// Two colons are one in a path of fastify's.
const TASK = { url: '/tasks/:id', path: '/tasks/{id}' };
const acted = (act: string) => ({
  url: `/tasks/:id(^[^:/]+)::${act}`,
  path: `/tasks/{id}:${act}`,
});
const CONFIGS = {
  url: '/tasks/:id/pushNotificationConfigs',
  path: '/tasks/{id}/pushNotificationConfigs',
};
const CONFIG = { url: `${CONFIGS.url}/:config`, path: `${CONFIGS.path}/{config}` };

/** A2A 1.0 over HTTP+JSON (11.3), below the base of the interface. */
export const HTTP_ROUTES: readonly HttpRoute[] = [
  {
    method: 'POST',
    url: '/message::send',
    path: '/message:send',
    name: 'SendMessage',
    params: bodyOf,
  },
  {
    method: 'POST',
    url: '/message::stream',
    path: '/message:stream',
    name: 'SendStreamingMessage',
    params: bodyOf,
  },
  { method: 'GET', url: '/tasks', path: '/tasks', name: 'ListTasks', params: queryOf },
  {
    method: 'GET',
    ...TASK,
    name: 'GetTask',
    params: (request) => ({ ...queryOf(request), ...idOf(request) }),
  },
  { method: 'POST', ...acted('cancel'), name: 'CancelTask', params: idOf },
  // The standard says GET; its JavaScript client says POST.
  { method: 'GET', ...acted('subscribe'), name: 'SubscribeToTask', params: idOf },
  { method: 'POST', ...acted('subscribe'), name: 'SubscribeToTask', params: idOf },
  { method: 'POST', ...CONFIGS, name: 'CreateTaskPushNotificationConfig', params: none },
  { method: 'GET', ...CONFIGS, name: 'ListTaskPushNotificationConfigs', params: none },
  { method: 'GET', ...CONFIG, name: 'GetTaskPushNotificationConfig', params: none },
  { method: 'DELETE', ...CONFIG, name: 'DeleteTaskPushNotificationConfig', params: none },
  {
    method: 'GET',
    url: '/extendedAgentCard',
    path: '/extendedAgentCard',
    name: 'GetExtendedAgentCard',
    params: none,
  },
];
