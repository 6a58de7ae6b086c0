/** Answers of A2A 1.0 over both bindings, and digests of each text that a model reads, as golden files. */
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { agentCard, skillsMarkdown } from '#src/interfaces/a2a/card.ts';
import type { TestApp } from '../../support/world/app.ts';
import { a2aApp, act, approve, BASE, HANDOFF, POST, VERSION } from '../../support/clients/a2a.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const messageParams = (messageId: string, part: object, over: object = {}) => ({
  message: { messageId, role: 'ROLE_USER', parts: [part], ...over },
});

/** Replaces ids, hashes and secrets, which differ from run to run, by numbered names. */
const settled = (output: string): string => {
  const text = output.replaceAll(/("nextPageToken": ")[^"]+/g, '$1<page>');
  const names = new Map<string, string>();
  const pattern =
    /(tsk|ctx|hnd|out|agt|prd)_[0-9a-z]{24}|[0-9a-f]{8}-[0-9a-f-]{27}|\/h\/[0-9a-f]{40}|"[0-9a-f]{64}"/g;
  return text.replaceAll(pattern, (id, prefix: string | undefined) => {
    const placeholder = names.get(id) ?? `<${prefix ?? 'random'} ${names.size + 1}>`;
    names.set(id, placeholder);
    return placeholder.startsWith('<random') && id.startsWith('"')
      ? `"${placeholder}"`
      : placeholder;
  });
};

type Step = [method: string, params: object];

const steps = (binding: string): Step[] => [
  ['SendMessage', messageParams(`${binding}-1`, { text: 'Promote the mugs' })],
  ['SendMessage', messageParams(`${binding}-2`, { data: HANDOFF })],
  ['SendMessage', messageParams(`${binding}-2`, { data: { ...HANDOFF, title: 'Else' } })],
  ['SendMessage', messageParams(`${binding}-3`, { data: POST })],
  ['SendMessage', messageParams(`${binding}-4`, { data: { skill: 'place_order' } })],
  ['SendMessage', messageParams(`${binding}-5`, { data: { ...POST, text: 5, price: 1 } })],
  ['SendMessage', messageParams(`${binding}-6`, { url: 'https://x.example/' })],
  ['GetTask', { id: 'tsk_000000000000000000000000' }],
  ['ListTasks', { pageSize: 2 }],
  ['ListTasks', { pageSize: 0 }],
  ['GetExtendedAgentCard', {}],
];

const overRpc = async ([method, params]: Step) =>
  app.send({
    method: 'POST',
    url: BASE,
    key,
    headers: VERSION,
    payload: { jsonrpc: '2.0', id: 7, method, params },
  });

const PATHS: Record<string, (params: Record<string, unknown>) => string> = {
  GetTask: ({ id }) => `/tasks/${String(id)}`,
  ListTasks: ({ pageSize }) => `/tasks?pageSize=${String(pageSize)}`,
  GetExtendedAgentCard: () => '/extendedAgentCard',
};

const overHttp = async ([method, params]: Step) => {
  const path = PATHS[method]?.(params as Record<string, unknown>);
  return path === undefined
    ? app.send({
        method: 'POST',
        url: `${BASE}/message:send`,
        key,
        headers: VERSION,
        payload: params,
      })
    : app.send({ method: 'GET', url: BASE + path, key, headers: VERSION });
};

describe('A2A 1.0', () => {
  it.each([
    ['json-rpc', overRpc],
    ['http-json', overHttp],
  ])('A2A 1.0 answers each request over %s as in its golden file', async (binding, send) => {
    const seen: object[] = [];
    for (const step of steps(binding)) {
      const { status, headers, body } = await send(step);
      const answer = JSON.parse(JSON.stringify(body)) as { signatures?: object; result?: object };
      for (const card of [answer, answer.result ?? {}])
        if ('signatures' in card) card.signatures = ['signed'];
      seen.push({ asked: step, status, type: headers['content-type'], body: answer });
    }
    const text = settled(JSON.stringify(seen, null, 2));
    await expect(`${text}\n`).toMatchFileSnapshot(`../../golden/a2a/${binding}.json`);
  });

  it('A2A 1.0 streams the end of a task as in its golden file', async () => {
    const task = await overRpc(['SendMessage', messageParams('stream-1', { data: POST })]);
    const { result } = task.body as {
      result: { task: { id: string; metadata: { record: string } } };
    };
    const stream = app.service.server.inject({
      method: 'GET',
      url: `${BASE}/tasks/${result.task.id}:subscribe`,
      headers: { ...VERSION, authorization: `Bearer ${key}` },
    });
    // The stream is open once another reader of the same task has its first event: both read the same log.
    await act(app, 'acme', result.task.metadata.record, approve);
    await act(app, 'acme', result.task.metadata.record, (_sha, at) => ({
      type: 'Cancel',
      at,
      by: 'anna',
    }));
    const { body } = await stream;
    const last = body.split('\n\n').at(-2) ?? '';
    expect(last).toContain('TASK_STATE_CANCELED');
    await expect(`${settled(last)}\n`).toMatchFileSnapshot('../../golden/a2a/stream.txt');
  });

  it('A2A 1.0 changes no text that a model reads without a change of the golden file', async () => {
    const digest = (value: unknown) => hash('sha256', JSON.stringify(value), 'hex');
    const words = {
      card: digest(agentCard('https://t.example')),
      docs: digest(skillsMarkdown('https://t.example')),
      ...Object.fromEntries(Object.values(SKILLS).map((skill) => [skill.id, digest(skill)])),
    };
    await expect(`${JSON.stringify(words, null, 2)}\n`).toMatchFileSnapshot(
      '../../golden/a2a/words.json',
    );
  });
});
