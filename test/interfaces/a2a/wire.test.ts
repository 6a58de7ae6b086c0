import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  act,
  approve,
  BASE,
  errorOf,
  HANDOFF,
  message,
  POST,
  rpc,
  sent,
  VERSION,
} from '../../support/clients/a2a.ts';
import type { WireError, WireTask } from '../../support/clients/a2a.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const raw = (
  payload: unknown,
  headers: Record<string, string> = {},
  by: string | undefined = key,
) =>
  app.send({
    method: 'POST',
    url: BASE,
    key: by,
    headers: { 'content-type': 'application/json', ...VERSION, ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });
const http = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  payload?: object,
  headers: Record<string, string> = {},
  by: string | undefined = key,
) =>
  app.send({
    method,
    url: BASE + path,
    key: by,
    headers: { ...VERSION, ...headers },
    ...(payload && { payload }),
  });

describe('An A2A request', () => {
  it.each([
    ['invalid JSON', '{', -32700],
    ['a batch', [], -32600],
    ['no version of JSON-RPC', { id: 1, method: 'GetTask' }, -32600],
    ['no id', { jsonrpc: '2.0', method: 'GetTask' }, -32600],
    ['a null id', { jsonrpc: '2.0', id: null, method: 'GetTask' }, -32600],
    ['no method', { jsonrpc: '2.0', id: 1 }, -32600],
    ['a duplicate name', '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"GetTask"}', -32600],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'message/send' }, -32601],
    ['no params', { jsonrpc: '2.0', id: 1, method: 'GetTask' }, -32602],
    ['a list as params', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] }, -32602],
  ])('An A2A request with %s is answered with an error of JSON-RPC', async (_what, body, code) => {
    const { status, body: answer, headers } = await raw(body);
    expect(headers['content-type']).toBe('application/json');
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code } });
    expect(status).toBe(code === -32700 || code === -32600 ? 400 : 200);
    expect((answer as { error: WireError }).error.data[0]).toMatchObject({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    });
  });

  it('An invalid A2A request is refused under its id if the id is valid', async () => {
    const body = '"jsonrpc":"2.0","method":"GetTask","params":{"id":"\\ud800"}';
    expect((await raw(`{${body},"id":7}`)).body).toMatchObject({
      id: 7,
      error: { code: -32600, data: [{}, { fieldViolations: [{ field: 'params.id' }] }] },
    });
    const large = await raw(`{"id":9007199254740993,${body}}`);
    expect(large.body).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('An A2A request is answered under its id, with and without a slash at the end of the URL', async () => {
    for (const url of [BASE, `${BASE}/`]) {
      const answer = await app.send({
        method: 'POST',
        url,
        key,
        headers: VERSION,
        payload: { jsonrpc: '2.0', id: 'x-1', method: 'ListTasks', params: {} },
      });
      expect(answer.body).toMatchObject({
        jsonrpc: '2.0',
        id: 'x-1',
        result: { nextPageToken: '' },
      });
    }
  });

  it.each([
    [{}, false],
    [{ 'a2a-version': '' }, false],
    [{ 'a2a-version': '0.3' }, false],
    [{ 'a2a-version': '2.0' }, false],
    [{ 'a2a-version': '1.0' }, true],
    [{ 'a2a-version': '1.0.1' }, true],
  ])('An A2A request with the headers %j is accepted: %s', async (headers, passes) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} };
    const over = { 'content-type': 'application/json', ...headers };
    const answer = await app.send({ method: 'POST', url: BASE, key, headers: over, payload: body });
    const rest = await app.send({ method: 'GET', url: `${BASE}/tasks`, key, headers });
    expect(rest.status).toBe(passes ? 200 : 400);
    if (passes) return expect(answer.body).toHaveProperty('result');
    expect(answer.body).toMatchObject({
      id: 1,
      error: { code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED' }] },
    });
  });

  it('An A2A request can name its version in the query', async () => {
    const answer = await app.send({ method: 'GET', url: `${BASE}/tasks?A2A-Version=1.0`, key });
    expect(answer.status).toBe(200);
  });

  it.each([
    ['no key', undefined, 401, 40100, 'Bearer realm="affiliate"'],
    ['an invalid key', 'nonsense', 401, 40100, 'Bearer realm="affiliate", error="invalid_token"'],
  ])(
    'An A2A request with %s is refused before its body is read',
    async (_what, by, status, code, challenge) => {
      const { headers, ...answer } = await raw('{', {}, by ?? '');
      expect(answer.status).toBe(status);
      if (by) expect(headers['www-authenticate']).toBe(challenge);
      expect(answer.body).toMatchObject({ error: { code } });
      const rest = await app.send({
        method: 'GET',
        url: `${BASE}/tasks`,
        key: by,
        headers: VERSION,
      });
      expect(rest.status).toBe(status);
      expect(rest.headers['www-authenticate']).toBe(challenge);
      expect(rest.body).toMatchObject({ error: { code: status, status: 'UNAUTHENTICATED' } });
    },
  );

  it('An A2A request from a browser page of another site is refused, and GET is answered with 405', async () => {
    const { status } = await raw('{}', { origin: 'https://evil.example' });
    expect(status).toBe(403);
    expect((await raw('{}', { origin: 'https://t.example' })).status).toBe(400);
    const get = await app.send({ method: 'GET', url: BASE });
    expect([get.status, get.headers['allow']]).toEqual([405, 'POST']);
  });

  it('An A2A request has the media type application/json or application/a2a+json, and any other is refused', async () => {
    const payload = JSON.stringify({ message: message(HANDOFF) });
    const send = (type: string, accept: string) =>
      app.send({
        method: 'POST',
        url: `${BASE}/message:send`,
        key,
        headers: { ...VERSION, 'content-type': type, accept },
        payload,
      });
    const own = await send('application/a2a+json', '*/*');
    expect([own.status, own.headers['content-type']]).toEqual([200, 'application/a2a+json']);
    const plain = await send('application/json', 'application/json');
    expect([plain.status, plain.headers['content-type']]).toEqual([200, 'application/json']);
    expect(await send('text/plain', '*/*')).toMatchObject({
      status: 415,
      body: { error: { details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } },
    });
    const overRpc = await app.send({
      method: 'POST',
      url: BASE,
      key,
      headers: { ...VERSION, 'content-type': 'text/plain' },
      payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} }),
    });
    expect(overRpc).toMatchObject({ status: 415, body: { error: { code: -32005 } } });
  });
});

describe('An A2A message', () => {
  it.each([
    ['no parts', { parts: [] }, -32602],
    ['no role', { role: undefined }, -32602],
    ['the role of the agent', { role: 'ROLE_AGENT' }, -32602],
    ['no id', { messageId: '' }, -32602],
    ['an id that is too long', { messageId: 'a'.repeat(256) }, -32602],
    ['two data parts', { parts: [{ data: {} }, { data: {} }] }, -32602],
    ['data that is a list', { parts: [{ data: [] }] }, -32602],
    ['an empty part', { parts: [{}] }, -32602],
    ['a file', { parts: [{ raw: 'AAAA', mediaType: 'image/png' }] }, -32005],
    ['a file by its address', { parts: [{ url: 'https://x.example/' }] }, -32005],
    ['an unknown task', { taskId: 'tsk_000000000000000000000000' }, -32001],
    ['an invalid task id', { taskId: '../../x' }, -32001],
  ])('An A2A message with %s is refused', async (_what, over, code) => {
    const error = await errorOf(app, key, 'SendMessage', { message: message(HANDOFF, over) });
    expect(error.code).toBe(code);
  });

  it('An A2A message that contains a credential is refused, and the answer does not repeat the credential', async () => {
    const error = await errorOf(app, key, 'SendMessage', {
      message: message({ ...HANDOFF, title: key }),
    });
    expect(error.code).toBe(-32602);
    expect(JSON.stringify(error)).not.toContain(key);
  });

  it('An A2A message is visible to a read that presents the consistency token of its answer', async () => {
    const { headers, result } = await rpc<{ task: WireTask }>(app, key, 'SendMessage', {
      message: message(HANDOFF),
    });
    const token = headers['consistency-token'] ?? '';
    const got = await rpc<WireTask>(
      app,
      key,
      'GetTask',
      { id: result.task.id },
      {
        'consistency-token': token,
      },
    );
    expect(got.result.id).toBe(result.task.id);
    const bad = await rpc(app, key, 'ListTasks', {}, { 'consistency-token': 'bm9wZQ' });
    expect(bad.error.code).toBe(-32602);
  });
});

describe('A2A push notification configurations', () => {
  const HOOK = 'https://hook.example/in';

  it('A2A push notification configurations are created, read, listed and deleted over JSON-RPC', async () => {
    const { id: taskId } = await sent(app, key, message(POST));
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const config = { taskId, id: 'mine', url: HOOK };
    const shown = { ...config, authentication: { scheme: 'Bearer' } };
    const call = async (method: string, params: object) =>
      (await rpc<unknown>(app, key, `${method}TaskPushNotificationConfig`, params)).result;
    const created = await call('Create', { ...config, token: 't', authentication, tenant: '' });
    expect(created).toEqual(shown);
    const one = { taskId, id: 'mine' };
    expect(await call('Get', one)).toEqual(shown);
    const list = 'ListTaskPushNotificationConfigs';
    const listed = await rpc(app, key, list, { taskId, pageSize: 0, pageToken: '' });
    expect(listed.result).toEqual({ configs: [shown], nextPageToken: '' });
    for (let times = 0; times < 2; times += 1) expect(await call('Delete', one)).toEqual({});
    const gone = await errorOf(app, key, 'GetTaskPushNotificationConfig', one);
    expect(gone).toMatchObject({ code: -32001, data: [{ reason: 'TASK_NOT_FOUND' }] });
  });

  it('A2A push notification configurations are created, read, listed and deleted over HTTP+JSON', async () => {
    const { id: taskId } = await sent(app, key, message(POST));
    const configs = `/tasks/${taskId}/pushNotificationConfigs`;
    // Empty members are absent ones in the JSON of protobuf; the path names the task.
    const body = { tenant: '', id: '', taskId: 'tsk_other', url: HOOK, token: '' };
    const created = await http('POST', configs, body);
    expect(created.status).toBe(200);
    const { id } = created.body as { id: string };
    expect(created.body).toEqual({ taskId, id, url: HOOK });
    expect((await http('GET', `${configs}/${id}`)).body).toEqual(created.body);
    expect((await http('GET', `${configs}?pageSize=1`)).body).toEqual({
      configs: [created.body],
      nextPageToken: '',
    });
    expect((await http('DELETE', `${configs}/${id}`)).status).toBe(200);
    expect((await http('GET', `${configs}/${id}`)).status).toBe(404);
    const unknown = `/tasks/tsk_000000000000000000000000/pushNotificationConfigs`;
    for (const method of ['POST', 'GET', 'DELETE'] as const) {
      const path = method === 'DELETE' ? `${unknown}/x` : unknown;
      const answer = await http(method, path, method === 'POST' ? { url: HOOK } : undefined);
      expect(answer.status, method).toBe(404);
    }
  });

  it('A2A push notification configurations are refused with each of their faults and a way forward, even in a message', async () => {
    const { id: taskId } = await sent(app, key, message(POST));
    const create = 'CreateTaskPushNotificationConfig';
    const internal = await errorOf(app, key, create, { taskId, url: 'https://10.0.0.1/' });
    expect(internal.code).toBe(-32602);
    expect(internal.data[1]).toMatchObject({
      fieldViolations: [{ field: 'url', reason: 'ADDRESS_NOT_PUBLIC' }],
    });
    const digest = { scheme: 'Digest', credentials: 'x' };
    for (const fault of [{ url: '' }, { token: 'a\nb' }, { authentication: digest }, { id: '/' }])
      expect(await errorOf(app, key, create, { taskId, url: HOOK, ...fault })).toMatchObject({
        code: -32602,
      });
    const configuration = { taskPushNotificationConfig: { url: 'http://hook.example/' } };
    const params = { message: message(HANDOFF), configuration };
    const { data } = await errorOf(app, key, 'SendMessage', params);
    expect(data[1]).toMatchObject({
      fieldViolations: [
        {
          field: 'configuration.taskPushNotificationConfig.url',
          reason: 'SCHEME_NOT_ALLOWED',
        },
      ],
    });
  });
});

describe('The A2A method ListTasks', () => {
  it('The A2A method ListTasks lists tasks by their last change, newest first, in pages and by its filters', async () => {
    const { key: by } = await app.agent('acme');
    const first = await sent(app, by, message(POST));
    const { contextId } = first;
    const second = await sent(app, by, message(HANDOFF, { contextId }));
    const third = await sent(app, by, message('hm'));
    type Page = { tasks: WireTask[]; nextPageToken: string; pageSize: number; totalSize: number };
    const list = async (params: object) => (await rpc<Page>(app, by, 'ListTasks', params)).result;
    const ids = async (params: object) => (await list(params)).tasks.map(({ id }) => id);
    expect(await ids({})).toEqual([third.id, second.id, first.id]);
    await act(app, 'acme', first.metadata.record ?? '', approve);
    expect(await ids({})).toEqual([first.id, third.id, second.id]);
    expect(await ids({ contextId })).toEqual([first.id, second.id]);
    expect(await ids({ status: 'TASK_STATE_WORKING' })).toEqual([first.id]);
    expect(await ids({ status: 'TASK_STATE_COMPLETED' })).toEqual([second.id]);
    const page = await list({ pageSize: 2 });
    expect(page).toMatchObject({ pageSize: 2, totalSize: 3 });
    expect(page.tasks.every((task) => !('artifacts' in task))).toBe(true);
    const rest = await list({ pageSize: 2, pageToken: page.nextPageToken });
    expect(rest.tasks.map(({ id }) => id)).toEqual([second.id]);
    expect(rest.nextPageToken).toBe('');
    const whole = await list({ includeArtifacts: true, status: 'TASK_STATE_COMPLETED' });
    expect(whole.tasks[0]?.artifacts).toHaveLength(1);
    expect(await ids({ statusTimestampAfter: '2027-01-01T00:00:00Z' })).toEqual([]);

    const other = await errorOf(app, key, 'ListTasks', { pageToken: page.nextPageToken });
    expect(other.code).toBe(-32602);
    for (const bad of [{ pageSize: 0 }, { pageSize: 101 }, { status: 'DONE' }, { pageToken: 'x' }])
      expect((await errorOf(app, by, 'ListTasks', bad)).code).toBe(-32602);
    const path = `/tasks?pageSize=1&status=TASK_STATE_COMPLETED&includeArtifacts=true&contextId=${contextId}`;
    const over = await http('GET', path, undefined, {}, by);
    expect(over.body).toMatchObject({ totalSize: 1, tasks: [{ id: second.id }] });
    expect((await http('GET', '/tasks?pageSize=x')).status).toBe(400);
  });
});
