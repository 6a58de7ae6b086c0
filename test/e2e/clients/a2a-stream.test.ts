/** Task streams over sockets: their events, their time limit, and how they end. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  act,
  approve,
  BASE,
  confirmed,
  dispatched,
  HANDOFF,
  message,
  POST,
  sent,
  VERSION,
} from '../../support/clients/a2a.ts';
import type { WireTask } from '../../support/clients/a2a.ts';
import { asAgent } from '../../support/world/outreach.ts';

let app: TestApp;
let url: string;
let key: string;
beforeAll(async () => {
  app = await a2aApp({ PUBLIC_URL: '' });
  url = await app.service.listen();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
  vi.useRealTimers();
});

type Event = {
  task?: WireTask;
  statusUpdate?: { taskId: string; status: WireTask['status'] };
  artifactUpdate?: { artifact: { name: string } };
};

/** Opens a stream; `next` returns its events one by one, and undefined at its end. */
const subscribe = async (id: string, by = key, at = url) => {
  const leave = new AbortController();
  cleanups.push(() => leave.abort());
  const response = await fetch(`${at}${BASE}/tasks/${id}:subscribe`, {
    headers: { ...VERSION, authorization: `Bearer ${by}`, accept: 'text/event-stream' },
    signal: leave.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Event | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (event.startsWith('data: ')) return JSON.parse(event.slice(6)) as Event;
        continue;
      }
      const { value, done } = (await reader?.read()) ?? { done: true };
      if (done) return undefined;
      text += value;
    }
  };
  return { response, next, leave: () => leave.abort() };
};

const stateOf = (event: Event | undefined): string | undefined =>
  (event?.task ?? event?.statusUpdate)?.status.state;
const recordOf = ({ metadata }: WireTask): string => metadata.record ?? '';

describe('A task stream', () => {
  it('A task stream begins with the task, sends each step, and has the headers of a read', async () => {
    const task = await sent(app, key, message(POST));
    const { response, next } = await subscribe(task.id);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('consistency-token')).toBeTruthy();
    expect(response.headers.get('ratelimit-policy')).toContain('"read"');
    expect((await next())?.task).toEqual(task);
    await act(app, 'acme', recordOf(task), approve);
    expect(stateOf(await next())).toBe('TASK_STATE_WORKING');
  });

  it('A task stream sends the steps that messages cause, and the artifact before the final state', async () => {
    const task = await sent(app, key, message('words'));
    const { next } = await subscribe(task.id);
    expect(stateOf(await next())).toBe('TASK_STATE_INPUT_REQUIRED');
    await sent(app, key, message({ skill: 'prepare_handoff' }, { taskId: task.id }));
    expect(stateOf(await next())).toBe('TASK_STATE_INPUT_REQUIRED');
    await sent(app, key, message(HANDOFF, { taskId: task.id }));
    expect((await next())?.artifactUpdate?.artifact.name).toBe('handoff');
    expect(stateOf(await next())).toBe('TASK_STATE_COMPLETED');
    expect(await next()).toBeUndefined();
  });

  it('A task stream sends the steps of a record that was not created by a task', async () => {
    const { skill: _skill, kind: _kind, ...input } = { ...POST, idempotency_key: freshKey() };
    await asAgent(app, key, 'requestSocialPost', input);
    const task = await sent(app, key, message({ ...POST, ...input }));
    const { next } = await subscribe(task.id);
    expect(stateOf(await next())).toBe('TASK_STATE_AUTH_REQUIRED');
    await act(app, 'acme', recordOf(task), approve);
    expect(stateOf(await next())).toBe('TASK_STATE_WORKING');
  });

  it('A task stream sends every step, even if two are appended together', async () => {
    const { deps } = app.service;
    const task = await sent(app, key, message(POST));
    const { next } = await subscribe(task.id);
    await next();
    const stream = `acme-outbound_${recordOf(task).slice(4)}`;
    const [first] = await deps.log.readStream(stream);
    if (!first) throw new Error('the request has no events');
    const proposed = first.data as EventData<'OutboundProposed'>;
    const { outbound_id, agent_id, revision, content_sha256 } = proposed;
    const named = { outbound_id, agent_id, task_id: task.id, by: 'anna' };
    const { idem: _idem, ...meta } = first.meta;
    const event = (type: string, data: object) => ({ id: deps.ids.uuid(), type, data, meta });
    await deps.log.append(stream, 0, [
      event('OutboundApproved', {
        ...named,
        name: 'Anna',
        person_id: 'anna',
        role: 'owner',
        revision,
        content_sha256,
      }),
      event('OutboundCanceled', named),
    ]);
    expect(stateOf(await next())).toBe('TASK_STATE_WORKING');
    expect(stateOf(await next())).toBe('TASK_STATE_CANCELED');
    expect(await next()).toBeUndefined();
  });

  it('A task stream ends at a state that waits for somebody, if a message opened it', async () => {
    for (const [content, state] of [
      [{ data: POST }, 'AUTH_REQUIRED'],
      [{ text: 'words' }, 'INPUT_REQUIRED'],
    ] as const) {
      const sending = await fetch(`${url}${BASE}/message:stream`, {
        method: 'POST',
        headers: {
          ...VERSION,
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          message: { messageId: freshKey(), role: 'ROLE_USER', parts: [content] },
        }),
      });
      // The whole body: the stream ends before an answer to the question.
      const events = (await sending.text()).split('\n\n').filter((event) => event !== '');
      expect(events).toHaveLength(1);
      const { task } = JSON.parse(events[0]?.slice('data: '.length) ?? '') as Event;
      expect(task?.status.state).toBe(`TASK_STATE_${state}`);
      const { next } = await subscribe(task?.id ?? '');
      expect(stateOf(await next())).toBe(`TASK_STATE_${state}`);
    }
  });

  it('A task stream is refused with plain JSON before it begins', async () => {
    const done = await sent(app, key, message(HANDOFF));
    for (const [id, status] of [
      [done.id, 400],
      ['tsk_000000000000000000000000', 404],
    ] as const) {
      const { response } = await subscribe(id);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
    }
  });

  it('A task stream is limited per key, and a stream that ends allows another one', async () => {
    const { key: by } = await app.agent('acme');
    const task = await sent(app, by, message(POST));
    const open = [];
    for (let n = 0; n < LIMITS.STREAMS_PER_KEY_MAX; n++) open.push(await subscribe(task.id, by));
    const { response } = await subscribe(task.id, by);
    expect(response.status).toBe(429);
    // When the oldest stream reaches its time limit, if it is not closed before.
    const latestS = LIMITS.STREAM_MS_MAX / 1_000;
    const retryAfterS = Number(response.headers.get('retry-after'));
    expect(retryAfterS).toBeGreaterThan(latestS / 2);
    expect(retryAfterS).toBeLessThanOrEqual(latestS);
    open[0]?.leave();
    let again = 429;
    while (again === 429) again = (await subscribe(task.id, by)).response.status;
    expect(again).toBe(200);
    const refused = await subscribe('tsk_000000000000000000000000', key);
    expect(refused.response.status).toBe(404);
  });

  it('A task stream ends after its time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const task = await sent(app, key, message(POST));
    const { next } = await subscribe(task.id);
    await next();
    vi.advanceTimersByTime(LIMITS.STREAM_MS_MAX);
    expect(await next()).toBeUndefined();
  });

  it('A task stream shows what the current scopes allow, not the scopes at its beginning', async () => {
    const other = await app.agent('acme');
    const open = async () => {
      const task = await sent(app, other.key, message(POST));
      const { next } = await subscribe(task.id, other.key);
      await next();
      return { record: recordOf(task), next };
    };
    const deliver = async (record: string) => {
      for (const step of [approve, dispatched, confirmed]) await act(app, 'acme', record, step);
    };
    const [before, after] = [await open(), await open()];
    await deliver(before.record);
    for (const state of ['WORKING', 'WORKING'])
      expect(stateOf(await before.next())).toBe(`TASK_STATE_${state}`);
    expect((await before.next())?.artifactUpdate?.artifact.name).toBe('receipt');
    const narrowed = { scopes: ['products:read'], reason: 'No outreach' };
    const { status } = await app.desk('POST', `/agents/${other.agentId}/approve`, narrowed);
    expect(status).toBe(200);
    await deliver(after.record);
    for (const state of ['WORKING', 'WORKING', 'COMPLETED'])
      expect(stateOf(await after.next())).toBe(`TASK_STATE_${state}`);
    expect(await after.next()).toBeUndefined();
  });

  it('A task stream ends when its key is revoked', async () => {
    const other = await app.agent('acme');
    const task = await sent(app, other.key, message(POST));
    const { next } = await subscribe(task.id, other.key);
    await next();
    const { status } = await app.desk('POST', `/keys/${other.keyId}/revoke`, { reason: 'Leaked' });
    expect(status).toBe(200);
    await act(app, 'acme', recordOf(task), approve);
    expect(await next()).toBeUndefined();
  });
});

it('A task stream ends cleanly when the service stops', async () => {
  const own = await a2aApp({ PUBLIC_URL: '' });
  const at = await own.service.listen();
  const agent = await own.agent('acme');
  const task = await sent(own, agent.key, message(POST));
  const { next } = await subscribe(task.id, agent.key, at);
  expect(stateOf(await next())).toBe('TASK_STATE_AUTH_REQUIRED');
  const closed = own.close();
  expect(await next()).toBeUndefined();
  await closed;
});
