import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverOver } from '../../support/world/server-over.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  artifactOf,
  BASE,
  errorOf,
  HANDOFF,
  message,
  POST,
  rpc,
  sent,
  taskOf,
  VERSION,
} from '../../support/clients/a2a.ts';
import type { WireTask } from '../../support/clients/a2a.ts';
import { asAgent } from '../../support/world/outreach.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const { skill: _skill, ...handoff } = HANDOFF;
const DIGEST = { skill: 'performance_digest', granularity: 'total' };
const events = async () =>
  (await app.service.deps.log.readOwner('acme', { after: 0, limit: 10_000 })).filter(
    ({ type }) => type !== 'ActivityRecorded',
  );

const conflict = async (sentMessage: object) => {
  const { code, data } = await errorOf(app, key, 'SendMessage', { message: sentMessage });
  expect(code).toBe(-32602);
  return data[0]?.reason;
};

describe('A repeated A2A message', () => {
  it.each([
    ['a handoff', HANDOFF],
    ['outreach', POST],
    ['a digest', DIGEST],
    ['text only', 'Hello'],
    ['missing fields', { skill: 'prepare_handoff' }],
    ['a forbidden act', { skill: 'place_order' }],
  ])(
    'A repeated A2A message returns the same task when the message has %s',
    async (_what, data) => {
      const sentMessage = message(data);
      const first = await rpc<{ task: WireTask }>(app, key, 'SendMessage', {
        message: sentMessage,
      });
      const before = (await events()).length;
      const again = await rpc<{ task: WireTask }>(app, key, 'SendMessage', {
        message: sentMessage,
      });
      expect(again.result).toEqual(first.result);
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(await events()).toHaveLength(before);
    },
  );

  it('A repeated A2A message creates one task when both copies arrive at once, and one of two different messages with its id is refused', async () => {
    const sentMessage = message(HANDOFF);
    const both = await Promise.all([sent(app, key, sentMessage), sent(app, key, sentMessage)]);
    expect(both[0]?.id).toBe(both[1]?.id);
    const messageId = freshKey();
    const two = await Promise.all(
      [HANDOFF, POST].map((data) =>
        rpc(app, key, 'SendMessage', { message: message(data, { messageId }) }),
      ),
    );
    expect(two.map(({ error }) => error?.data[0]?.reason)).toEqual([
      undefined,
      'MESSAGE_ID_CONFLICT',
    ]);
  });

  it.each([
    ['other fields', HANDOFF, { ...HANDOFF, title: 'Else' }],
    ['another skill', HANDOFF, POST],
    ['text after data', HANDOFF, 'Hello'],
    ['data after text', 'Hello', HANDOFF],
    ['another text', 'Hello', 'Hello you'],
    ['a digest of other days', DIGEST, { ...DIGEST, granularity: 'day' }],
    ['a digest after outreach', POST, DIGEST],
    ['an idempotency key of its own', HANDOFF, { ...HANDOFF, idempotency_key: 'its-own' }],
  ])(
    'A repeated A2A message is refused when the same id comes with %s',
    async (_what, first, second) => {
      const messageId = freshKey();
      const task = await sent(app, key, message(first, { messageId }));
      expect(await conflict(message(second, { messageId }))).toBe('MESSAGE_ID_CONFLICT');
      expect(await taskOf(app, key, task.id)).toEqual(task);
    },
  );

  it('A repeated A2A message creates another task when another agent sends it', async () => {
    const other = await app.agent('acme');
    const sentMessage = message(HANDOFF);
    expect((await sent(app, other.key, sentMessage)).id).not.toBe(
      (await sent(app, key, sentMessage)).id,
    );
  });

  it('A repeated A2A message can have any text as its id', async () => {
    const sentMessage = message(HANDOFF, { messageId: 'größe 1/2 {"a"}' });
    expect((await sent(app, key, sentMessage)).id).toBe((await sent(app, key, sentMessage)).id);
  });

  it('A repeated A2A message continues its task once, and its id cannot be used for another task', async () => {
    const one = await sent(app, key, message('one'));
    const two = await sent(app, key, message('two'));
    const sentMessage = message(HANDOFF, { taskId: one.id });
    const completed = await sent(app, key, sentMessage);
    expect(completed.id).toBe(one.id);
    expect(await sent(app, key, sentMessage)).toEqual(completed);
    expect(await conflict({ ...sentMessage, taskId: two.id })).toBe('MESSAGE_ID_CONFLICT');
    expect((await taskOf(app, key, two.id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });
});

describe('An idempotency_key in the data part of an A2A message', () => {
  it('An idempotency_key in the data part of an A2A message names the same write as over REST, whichever request comes first', async () => {
    const idempotency_key = freshKey();
    const rest = (body: object) =>
      app.send({
        method: 'POST',
        url: '/api/affiliate/v1/handoffs',
        key,
        headers: { 'idempotency-key': idempotency_key },
        payload: body,
      });
    const created = await rest(handoff);
    const sentMessage = message({ ...HANDOFF, idempotency_key });
    const task = await sent(app, key, sentMessage);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(artifactOf(task, 'handoff')).toEqual(created.body);
    expect(await sent(app, key, sentMessage)).toEqual(task);
    expect(await taskOf(app, key, task.id)).toEqual(task);
    expect(await conflict(message({ ...HANDOFF, title: 'Else', idempotency_key }))).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );

    const second = freshKey();
    const first = await sent(app, key, message({ ...HANDOFF, idempotency_key: second }));
    const answer = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/handoffs',
      key,
      headers: { 'idempotency-key': second },
      payload: handoff,
    });
    expect(answer.headers['idempotent-replayed']).toBe('true');
    expect(answer.body).toEqual(artifactOf(first, 'handoff'));
  });

  it('An idempotency_key in the data part of an A2A message maps two messages to one task', async () => {
    const data = { ...HANDOFF, idempotency_key: freshKey() };
    const first = await sent(app, key, message(data));
    expect((await sent(app, key, message(data))).id).toBe(first.id);
  });

  it('An idempotency_key in the data part of an A2A message creates a task for an outreach request that was proposed over MCP', async () => {
    const { skill: _s, kind: _k, ...input } = { ...POST, idempotency_key: freshKey() };
    const proposed = await asAgent(app, key, 'requestSocialPost', input);
    if (!proposed.ok) throw new Error(proposed.code);
    const { id } = proposed.value as { id: string };
    const task = await sent(app, key, message({ ...POST, ...input }));
    expect(task).toMatchObject({
      metadata: { record: id },
      status: { state: 'TASK_STATE_AUTH_REQUIRED' },
    });
    const canceled = await rpc<WireTask>(app, key, 'CancelTask', { id: task.id });
    expect(canceled.result.status.state).toBe('TASK_STATE_CANCELED');
    const listed = await rpc<{ tasks: WireTask[] }>(app, key, 'ListTasks', {
      status: 'TASK_STATE_CANCELED',
    });
    expect(listed.result.tasks.map((one) => one.id)).toContain(task.id);
  });
});

describe('While the read model of tasks is rebuilt', () => {
  it('An A2A message creates its task exactly once while the read model of tasks is rebuilt', async () => {
    const { deps } = app.service;
    const get = async (name: string, ...rest: [string, string]) => {
      if (name === 'tasks') throw new ReadModelRebuilding('tasks');
      return deps.readModels.get(name, ...rest);
    };
    const readModels = { ...deps.readModels, get: get as typeof deps.readModels.get };
    const server = serverOver({ ...deps, readModels });
    const send = async (payload: object, path = '/message:send') => {
      const headers = { ...VERSION, authorization: `Bearer ${key}` };
      const answer = await server.inject({ method: 'POST', url: BASE + path, headers, payload });
      return { status: answer.statusCode, body: answer.json<{ task: WireTask }>() };
    };
    for (const data of [HANDOFF, POST, DIGEST, 'Hello']) {
      const sentMessage = { message: message(data) };
      const first = await send(sentMessage);
      expect(first.status).toBe(200);
      expect(await send(sentMessage)).toEqual(first);
      const { id } = first.body.task;
      expect((await send({}, `/tasks/${id}:cancel`)).status).toBe(503);
    }
    await server.close();
  });
});
