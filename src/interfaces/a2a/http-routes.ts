import type { FastifyRequest } from 'fastify';
import type { MethodName } from './methods.ts';
import { listParams, taskParams } from './wire.ts';
import { kindsOf, readQuery } from '../rest/request.ts';

type HttpRoute = {
  method: 'GET' | 'POST' | 'DELETE';
  /** As fastify has it: two colons are one. */
  url: string;
  name: MethodName;
  params(request: FastifyRequest): unknown;
};

const KINDS = new Map([...kindsOf({ input: listParams }), ...kindsOf({ input: taskParams })]);

const bodyOf = ({ body }: FastifyRequest): unknown => body ?? {};
const pathIdOf = ({ params }: FastifyRequest): { id: string } => params as { id: string };
const queryOf = ({ query }: FastifyRequest): object =>
  readQuery(KINDS, query as Record<string, unknown>);
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
