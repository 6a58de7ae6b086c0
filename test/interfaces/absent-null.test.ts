/** Null in requests of MCP and A2A, whose protocols say that it is the same as an absent member. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { METHODS as A2A_METHODS } from '#src/interfaces/a2a/routes.ts';
import { a2aApp, BASE, message, POST, rpc, sent, VERSION } from '../support/clients/a2a.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import type { TestApp } from '../support/world/app.ts';

type Json = Record<string, unknown>;
type Schema = { properties?: Record<string, Schema>; items?: Schema; anyOf?: Schema[] };

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const snakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The same value with the names that the protocol's definition has; the caller's own JSON is left as it is. */
const inSnakeCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value as Json);
  return Object.fromEntries(
    members.map(([name, member]) => [
      snakeCase(name),
      name === 'data' ? member : inSnakeCase(member),
    ]),
  );
};

/** The value with null for each member that its schema has and it has not. */
const withNulls = (value: unknown, schema: Schema): unknown => {
  if (Array.isArray(value)) return value.map((item) => withNulls(item, schema.items ?? {}));
  if (typeof value !== 'object' || value === null) return value;
  const given = value as Json;
  const { properties = schema.anyOf?.[0]?.properties ?? {} } = schema;
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    given[name] === undefined
      ? null
      : name === 'data'
        ? given[name]
        : withNulls(given[name], member),
  ]);
  return { ...given, ...(Object.fromEntries(members) as Json) };
};

const push = { id: 'own', url: 'https://hook.example/in', token: 'secret-of-the-receiver' };

describe('The parameters of A2A', () => {
  /** Parameters of every method, for a task. Names that are read in any spelling change the answer. */
  const callsOn = (taskId: string): [keyof typeof A2A_METHODS, Json][] => [
    ['SendMessage', { message: message(POST) }],
    ['GetTask', { id: taskId, historyLength: 1 }],
    ['ListTasks', { pageSize: 1, includeArtifacts: true, status: 'TASK_STATE_AUTH_REQUIRED' }],
    ['CreateTaskPushNotificationConfig', { taskId, ...push }],
    ['ListTaskPushNotificationConfigs', { taskId, pageSize: 1 }],
    ['GetTaskPushNotificationConfig', { taskId, id: 'own' }],
    ['DeleteTaskPushNotificationConfig', { taskId, id: 'own' }],
    ['GetExtendedAgentCard', {}],
    ['SubscribeToTask', { id: taskId }],
    ['CancelTask', { id: taskId }],
    ['SendStreamingMessage', { message: message(POST) }],
  ];
  const STREAMS = new Set(['SubscribeToTask', 'SendStreamingMessage']);
  const schemaOf = (method: keyof typeof A2A_METHODS): Schema =>
    z.toJSONSchema(A2A_METHODS[method].params, { io: 'input', unrepresentable: 'any' }) as Schema;

  it.each<[string, (params: Json, schema: Schema) => unknown]>([
    ['null for each absent member', withNulls],
    ['the names of the definition', inSnakeCase],
    ['both', (params, schema) => inSnakeCase(withNulls(params, schema))],
  ])('The parameters of A2A are read with %s, in every method', async (_what, spell) => {
    const { id } = await sent(app, key, message(POST));
    const calls = callsOn(id);
    expect(calls.map(([method]) => method).sort()).toEqual(Object.keys(A2A_METHODS).sort());
    for (const [method, params] of calls.filter(([name]) => !STREAMS.has(name))) {
      const spelled = spell(params, schemaOf(method)) as Json;
      const { result, error } = await rpc<Json>(app, key, method, spelled);
      expect([method, error]).toEqual([method, undefined]);
      if (method === 'ListTasks') expect(result['tasks']).toHaveLength(1);
    }
  });

  it.each(['context_id', 'contextId'])('The parameters of A2A gather tasks by %s', async (name) => {
    const { contextId } = await sent(app, key, message(POST));
    const second = await sent(app, key, message(POST, { [name]: contextId }));
    expect(second.contextId).toBe(contextId);
    const listed = await rpc<{ tasks: object[] }>(app, key, 'ListTasks', { [name]: contextId });
    expect(listed.result.tasks).toHaveLength(2);
    const { body } = await app.send({
      method: 'GET',
      url: `${BASE}/tasks?${name}=${contextId}&page_size=1`,
      key,
      headers: VERSION,
    });
    expect(body).toMatchObject({ tasks: [{ contextId }], totalSize: 2 });
  });

  it('The parameters of A2A may be null for a method without any', async () => {
    const { result } = await rpc<Json>(app, key, 'ListTasks', null as never);
    expect(result).toHaveProperty('tasks');
  });

  it('The parameters of A2A keep names and null in the data of a part', async () => {
    const asked = { ...POST, text: null };
    const { error } = await rpc(app, key, 'SendMessage', { message: message(asked) });
    expect(error.data[1]?.fieldViolations).toMatchObject([
      { field: 'text', reason: 'INVALID_TYPE' },
    ]);
  });
});

describe('The parameters of MCP', () => {
  const OPTIONAL: [string, Json][] = [
    ['tools/list', { cursor: null }],
    ['resources/list', { cursor: null }],
    ['resources/templates/list', { cursor: null }],
    ['prompts/list', { cursor: null }],
    ['tools/list', { cursor: '' }],
    ['resources/list', { cursor: '' }],
    ['resources/templates/list', { cursor: '' }],
    ['prompts/list', { cursor: '' }],
    ['tools/call', { name: 'get_connection', arguments: null }],
    ['prompts/get', { name: 'review_performance', arguments: null }],
    ['prompts/get', { name: 'review_performance', arguments: { days: null } }],
    ['prompts/get', { name: 'promote_product', arguments: { product: 'mug', campaign: null } }],
  ];

  it.each(OPTIONAL)(
    "The parameters of MCP's %s may be null where they are optional, or an empty cursor: %j",
    async (method, params) => {
      const agent = mcpAgent(app, key);
      for (const { body } of [
        await agent.legacy(method, { ...params, _meta: null }),
        await agent.legacy(method, { ...params, _meta: { progressToken: null } }),
        await agent.modern(method, params),
      ])
        expect(body.error).toBeUndefined();
    },
  );

  it('The parameters of MCP may be null as a whole', async () => {
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'ping']) {
      const { body } = await mcpAgent(app, key).raw({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: null,
      });
      expect([method, body.error]).toEqual([method, undefined]);
    }
  });

  it('The parameters of MCP must not be null where they are required', async () => {
    const agent = mcpAgent(app, key);
    for (const [method, params] of [
      ['tools/call', { name: null }],
      ['resources/read', { uri: null }],
      ['prompts/get', { name: 'promote_product', arguments: { product: null } }],
    ] as const)
      expect((await agent.legacy(method, params)).body.error?.code).toBe(-32602);
  });
});
