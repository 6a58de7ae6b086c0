/** A2A 0.3: the same tasks under the names of the version that most frameworks speak. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TASK_STATUSES } from '#contracts/tasks/operations.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { legacyResult } from '#src/interfaces/a2a/legacy.ts';
import {
  a2aApp,
  BASE,
  HANDOFF,
  message,
  POST,
  rpc,
  sent,
  taskOf,
  type WireTask,
} from '../../support/clients/a2a.ts';
import { feedProduct, freshKey, type TestApp } from '../../support/world/app.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

type Json = Record<string, unknown>;
type LegacyTask = {
  kind: string;
  id: string;
  contextId: string;
  status: { state: string; message: { kind: string; role: string; parts: Json[] } };
  artifacts?: { parts: Json[] }[];
  metadata: { skill?: string };
};

/** Calls a method as a client of 0.3 does: without a version. */
const call = async (method: string, params: object, headers: Record<string, string> = {}) => {
  const answer = await app.send({
    method: 'POST',
    url: BASE,
    key,
    headers,
    payload: { jsonrpc: '2.0', id: 'call-1', method, params },
  });
  return {
    text: answer.text,
    ...(answer.body as { result: LegacyTask; error: { code: number; message: string } }),
  };
};

const legacyMessage = (part: object, over: object = {}) => ({
  kind: 'message',
  messageId: freshKey(),
  role: 'user',
  parts: [part],
  ...over,
});
const data = (value: object) => ({ kind: 'data', data: value });
const textOf = (value: object | string) => ({
  kind: 'text',
  text: typeof value === 'string' ? value : JSON.stringify(value),
});

const eventsOf = (text: string): Json[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => (JSON.parse(event.slice('data: '.length)) as { result: Json }).result);

describe('A2A 0.3', () => {
  it('A2A 0.3 has the members of its card in the card of 1.0', async () => {
    const { body } = await app.send({ method: 'GET', url: '/.well-known/agent-card.json' });
    expect(body).toMatchObject({
      protocolVersion: '0.3.0',
      url: `https://t.example${BASE}`,
      preferredTransport: 'JSONRPC',
      securitySchemes: { apiKey: { type: 'http', scheme: 'Bearer' } },
    });
  });

  it.each(['', '0.3', '0.3.0'])(
    'A2A 0.3 sends, reads and cancels a task with the version %j',
    async (version) => {
      const headers: Record<string, string> = version === '' ? {} : { 'a2a-version': version };
      const asked = { message: legacyMessage(data(POST)), configuration: { blocking: true } };
      const { result: task } = await call('message/send', asked, headers);
      expect(task).toMatchObject({
        kind: 'task',
        status: {
          state: 'auth-required',
          message: { kind: 'message', role: 'agent', parts: [{ kind: 'text' }, { kind: 'data' }] },
        },
        metadata: { skill: 'coordinate_promotion' },
      });
      expect((await call('message/send', asked, headers)).result.id).toBe(task.id);
      expect((await call('tasks/get', { id: task.id, historyLength: 0 }, headers)).result).toEqual(
        task,
      );
      expect((await taskOf(app, key, task.id)).contextId).toBe(task.contextId);
      const { result: canceled } = await call('tasks/cancel', { id: task.id }, headers);
      expect(canceled).toMatchObject({ kind: 'task', status: { state: 'canceled' } });
      expect((await call('tasks/cancel', { id: task.id }, headers)).error?.code).toBeUndefined();
    },
  );

  it.each(['user', 'USER', 'ROLE_USER'])(
    'A2A 0.3 accepts the role %s, which also is what a refusal of another role asks for',
    async (role) => {
      const { result } = await call('message/send', {
        message: legacyMessage(data(HANDOFF), { role }),
      });
      expect(result.status.state).toBe('completed');
    },
  );

  it('A2A 0.3 answers artifacts with the kinds of their parts', async () => {
    const { result } = await call('message/send', { message: legacyMessage(data(HANDOFF)) });
    expect(result.artifacts?.[0]?.parts).toMatchObject([{ kind: 'data' }]);
    expect(JSON.stringify(result)).not.toMatch(/TASK_STATE|ROLE_|mediaType/);
  });

  it('A2A 0.3 streams a task, and its changes when it subscribes again', async () => {
    const streamed = await call('message/stream', { message: legacyMessage(data(POST)) });
    const [first] = eventsOf(streamed.text) as [LegacyTask];
    expect(first).toMatchObject({ kind: 'task', status: { state: 'auth-required' } });
    const watching = call('tasks/resubscribe', { id: first.id });
    await call('tasks/cancel', { id: first.id });
    const events = eventsOf((await watching).text);
    expect(events.at(0)).toMatchObject({ kind: 'task', id: first.id });
    expect(events.at(-1)).toMatchObject({ status: { state: 'canceled' } });
    for (const event of events.slice(1))
      expect(event).toMatchObject({ kind: 'status-update', taskId: first.id, final: true });
  });

  it.each<[string, string, object, number]>([
    ['an unknown task', 'tasks/get', { id: 'tsk_0' }, -32001],
    [
      'a file',
      'message/send',
      { message: legacyMessage({ kind: 'file', file: { uri: 'https://a.example' } }) },
      -32005,
    ],
    ['a notification', 'tasks/pushNotificationConfig/set', { taskId: 't' }, -32003],
    [
      'a notification for a message',
      'message/send',
      {
        message: legacyMessage(data(POST)),
        configuration: { pushNotificationConfig: { url: 'https://a.example' } },
      },
      -32003,
    ],
    [
      'a message of the agent',
      'message/send',
      { message: legacyMessage(data(POST), { role: 'agent' }) },
      -32602,
    ],
    ['a message without parts', 'message/send', { message: { messageId: 'm' } }, -32602],
    ['no message', 'message/send', {}, -32602],
    ['a list for a message', 'message/send', { message: [] }, -32602],
    ['an unknown method', 'tasks/none', {}, -32601],
    ['a method of an object', 'constructor', {}, -32601],
    ['a method of 1.0', 'SendMessage', { message: message(POST) }, -32009],
  ])('A2A 0.3 refuses %s with the code of the standard', async (_what, method, params, code) => {
    expect((await call(method, params)).error.code).toBe(code);
  });

  it('A2A 0.3 has no methods in version 1.0, and no HTTP+JSON', async () => {
    const { error } = await call(
      'message/send',
      { message: legacyMessage(data(POST)) },
      { 'a2a-version': '1.0' },
    );
    expect(error.code).toBe(-32601);
    const { status } = await app.send({ method: 'GET', url: `${BASE}/tasks`, key });
    expect(status).toBe(400);
  });

  it('A2A 0.3 has a name for every state of a task', () => {
    const states = TASK_STATUSES.map((state) => {
      const status = { state: `TASK_STATE_${state}`, message: { parts: [] } };
      return (legacyResult({ id: 't', status }) as LegacyTask).status.state;
    });
    const known =
      'submitted working input-required completed canceled failed rejected auth-required unknown';
    expect(states.filter((state) => !known.split(' ').includes(state))).toEqual([]);
  });

  it('A2A 0.3 accepts null and the names of Python for what is absent', async () => {
    const asked = {
      message: { ...legacyMessage(data(HANDOFF)), task_id: null, contextId: null, metadata: null },
      configuration: { blocking: null, pushNotificationConfig: null, history_length: 1 },
      metadata: null,
    };
    expect((await call('message/send', asked)).result.metadata.skill).toBe('prepare_handoff');
  });
});

describe('A text part with a request', () => {
  const EXAMPLES = Object.values(SKILLS).flatMap(({ examples }) => examples);
  const inOneZero = async (value: string) => sent(app, key, message(value));

  it('A text part with a request starts the skill as data does, for each example of the card', async () => {
    expect(EXAMPLES.length).toBeGreaterThan(5);
    await app.publish([feedProduct('KIT-101')]);
    const outcomeOf = async (part: object) => {
      const { result, error } = await call('message/send', { message: legacyMessage(part) });
      return [result?.metadata.skill, result?.status.state, error?.code];
    };
    let started = 0;
    for (const example of EXAMPLES) {
      const text = JSON.stringify(example);
      const expected = await outcomeOf(data(example));
      if (expected[0] === example.skill) started += 1;
      for (const spelled of [
        text,
        JSON.stringify(example, null, 2),
        `\`\`\`json\n${text}\n\`\`\``,
      ]) {
        expect([spelled, ...(await outcomeOf(textOf(spelled)))]).toEqual([spelled, ...expected]);
        const { result, error } = await rpc<{ task: WireTask }>(app, key, 'SendMessage', {
          message: message(spelled),
        });
        expect([result?.task.metadata.skill, error?.code]).toEqual([expected[0], expected[2]]);
      }
    }
    expect(started).toBeGreaterThan(3);
  });

  it.each([
    'Please make a list.',
    '{"title":"Shelf"}',
    '{"skill":"prepare_handoff"',
    `Do this: ${JSON.stringify(HANDOFF)}`,
    `${JSON.stringify(HANDOFF)} ${JSON.stringify(HANDOFF)}`,
    '{"skill":"prepare_handoff","skill":"coordinate_promotion"}',
    `{"skill":${'['.repeat(10_000)}`,
    JSON.stringify([HANDOFF]),
    '{"skill":"prepare_handoff","title":"\\ud800"}',
  ])('A text part that is no request starts nothing: %.60s', async (text) => {
    const { status, metadata } = await inOneZero(text);
    expect([status.state, metadata.skill]).toEqual(['TASK_STATE_INPUT_REQUIRED', undefined]);
  });

  it('A text part with a forbidden act is refused as that act', async () => {
    const { status } = await inOneZero('{"skill":"accept_quotation"}');
    expect(status.state).toBe('TASK_STATE_REJECTED');
  });

  it('A text part beside a data part is not read, and two requests are too many', async () => {
    const text = JSON.stringify(POST);
    const parts = [{ data: HANDOFF }, { text }];
    expect((await sent(app, key, message('', { parts }))).metadata.skill).toBe('prepare_handoff');
    const { error } = await rpc(app, key, 'SendMessage', {
      message: message('', { parts: [{ text }, { text }] }),
    });
    expect(error.code).toBe(-32602);
  });
});
