/** Sends every example of the documents unchanged to a service with the demo data. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { killAll, serve, type Server } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-examples-');
let server: Server;
beforeAll(async () => {
  server = await serve(directory.fresh(), '--demo');
});
afterAll(() => {
  killAll([server]);
  directory.removeAll();
});

type Json = Record<string, unknown>;
type Request = { method: string; path: string; headers?: Record<string, string>; body?: string };

const send = async ({ method, path, headers = {}, body }: Request) => {
  const response = await fetch(server.ready.url + path, {
    method,
    headers: { authorization: `Bearer ${server.ready.api_key}`, ...headers },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, text: await response.text() };
};

const page = async (path: string): Promise<string> => (await send({ method: 'GET', path })).text;
const asJson = { 'content-type': 'application/json' };

/** Returns the code blocks of a page in this language, with the text between them. */
const blocksIn = (markdown: string, language: string): { lead: string; block: string }[] =>
  [...markdown.matchAll(/([^`]*(?:`[^`]+`[^`]*)*)```(\w+)\n([^]*?)\n```/g)]
    .filter(([, , named]) => named === language)
    .map(([, lead = '', , block = '']) => ({ lead, block }));

/** Values that differ by service, time or owner. */
const plain = (answer: string): unknown =>
  JSON.parse(
    answer
      .replaceAll(/"owner_id":"\w+"/g, '"owner_id":"…"')
      .replaceAll(/\b(lnk|hnd|led|agt|out)_[0-9a-z]{24}\b/g, '$1_…')
      .replaceAll(/https?:\/\/[^/"]+/g, '…')
      .replaceAll(/\/h\/[^"]+/g, '/h/…')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…')
      .replaceAll(/"position":\d+/g, '"position":0')
      // A product of the demo has a picture, and came with two feeds.
      .replaceAll(/"image_url":"[^"]*",/g, '')
      .replaceAll(/("status":"published","revision":|"product_revision":)\d+/g, '$10'),
  );

/** Parts of an answer that later calls use. */
type Made = { id?: string; short_url?: string };

/** Replaces ids in a call by those of an earlier answer, where the text before it says so. */
const answering = (exampleOf: (name: string) => Made) => {
  const answered = new Map<string, Made>();
  return {
    keep(name: string, made: Made): void {
      if (!answered.has(name)) answered.set(name, made);
    },
    putIn(lead: string, shown: string): string {
      const before = /\(call (\w+) first, and put in what it answered\)/.exec(lead)?.[1];
      if (before === undefined) {
        expect(shown).not.toMatch(/\b(lnk|hnd|led|out)_[0-9a-z]{24}\b/);
        return shown;
      }
      let text = shown;
      for (const field of ['id', 'short_url'] as const) {
        const [there, got] = [exampleOf(before)[field], answered.get(before)?.[field]];
        if (there !== undefined) text = text.replaceAll(there, got ?? '');
      }
      return text;
    },
  };
};

const exampleOfOperation = (id: string): Made =>
  operations[id as keyof typeof operations].examples[0]?.output as Made;

/** Operations whose answer depends on earlier acts of the owner. */
const TELLING = ['getConnection', 'listLeads', 'getPerformance'];

const expectAnswer = (id: string, shown: unknown, text: string): void => {
  if (!TELLING.includes(id)) expect(plain(text), id).toEqual(plain(JSON.stringify(shown)));
};

describe('openapi.json', () => {
  type Examples = Record<string, { summary: string; value: unknown }>;
  type Parameter = { name: string; in: string; examples?: Examples };
  type Body = { content: { 'application/json': { examples: Examples } } };
  type Operation = {
    operationId: string;
    parameters?: Parameter[];
    requestBody?: Body;
    responses: Record<string, Partial<Body>>;
  };

  it('`openapi.json` has examples whose requests get the answers it shows', async () => {
    const { paths } = JSON.parse(await page('/api/affiliate/openapi.json')) as {
      paths: Record<string, Record<string, Operation>>;
    };
    const sent: string[] = [];
    const calls = answering(exampleOfOperation);
    for (const [path, item] of Object.entries(paths))
      for (const [method, operation] of Object.entries(item)) {
        const { operationId, parameters = [], requestBody, responses } = operation;
        const [status = ''] = Object.entries(responses).find(([, { content }]) => content) ?? [];
        // An amended lead answers 200, a new one 201; the example shows a new one.
        const expected = operationId === 'submitLead' ? '201' : status;
        const answers = responses[expected]?.content?.['application/json'].examples ?? {};
        for (const [key, { summary, value: shown }] of Object.entries(answers)) {
          const valued = parameters.flatMap(({ examples, ...at }) =>
            examples?.[key] ? [{ ...at, value: String(examples[key].value) }] : [],
          );
          const pairsIn = (place: string) =>
            valued.filter((at) => at.in === place).map(({ name, value }) => [name, value]);
          const body = requestBody?.content['application/json'].examples[key]?.value;
          const query = new URLSearchParams(pairsIn('query')).toString();
          const fields = Object.fromEntries(pairsIn('path')) as Record<string, string>;
          const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => fields[name] ?? '');
          const call: Request = {
            method: method.toUpperCase(),
            path: query === '' ? filled : `${filled}?${query}`,
            headers: { ...Object.fromEntries(pairsIn('header')), ...(requestBody && asJson) },
            ...(requestBody && { body: JSON.stringify(body) }),
          };
          const sure = JSON.parse(calls.putIn(summary, JSON.stringify(call))) as Request;
          const { status: got, text } = await send(sure);
          calls.keep(operationId, JSON.parse(text) as Made);
          expect(String(got), `${operationId}: ${text}`).toBe(expected);
          expectAnswer(operationId, shown, text);
          sent.push(operationId);
        }
      }
    expect([...new Set(sent)].sort()).toEqual(Object.keys(operations).sort());
  });
});

describe('docs/rest.md', () => {
  it('`docs/rest.md` has requests that get the answers it shows', async () => {
    const markdown = await page('/docs/rest.md');
    const requests = blocksIn(markdown, 'http');
    const ids = Object.values(operations).flatMap(({ id, examples }) => examples.map(() => id));
    expect(requests).toHaveLength(ids.length);
    const answers = blocksIn(markdown, 'json');
    const calls = answering(exampleOfOperation);
    for (const [at, { lead: before, block }] of requests.entries()) {
      const id = ids[at] ?? '';
      const [head = '', body] = calls.putIn(before, block).split('\n\n');
      const [first = '', ...fields] = head.split('\n');
      const [method = '', path = ''] = first.split(' ');
      const headers = Object.fromEntries(fields.map((field) => field.split(': ')));
      expect(headers['Authorization']).toBe('Bearer <API_KEY>');
      delete headers['Authorization'];
      const { lead = '', block: shown = '' } = answers[at] ?? {};
      const { status, text } = await send({ method, path, headers, ...(body && { body }) });
      expect(lead).toContain(`answers ${status}:`);
      expectAnswer(id, JSON.parse(shown), text);
      calls.keep(id, JSON.parse(text) as Made);
    }
  });
});

describe('docs/mcp.md', () => {
  type Call = { name: string; arguments: Json };
  type Result = { isError?: true; structuredContent?: Made; _meta: { requestId: string } };
  const exampleOf = (tool: string): Made =>
    Object.values(agentOperations).find((one) => toolName(one) === tool)?.examples[0]
      ?.output as Made;

  it('`docs/mcp.md` has calls that succeed, with ids of earlier answers where the page says so', async () => {
    const blocks = blocksIn(await page('/docs/mcp.md'), 'json');
    const called: string[] = [];
    const calls = answering(exampleOf);
    let written: string | undefined;
    for (const { lead, block } of blocks) {
      const params = JSON.parse(calls.putIn(lead, block)) as Call;
      // The id of a request is beside its answer, and not in it. The other writes repeat those of REST.
      if (params.name === 'get_receipt') params.arguments['request_id'] = written ?? '';
      const { text: answer } = await send({
        method: 'POST',
        path: '/api/affiliate/mcp',
        headers: { ...asJson, 'mcp-protocol-version': '2025-11-25' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      const { result } = JSON.parse(answer) as { result?: Result };
      expect(result?.isError, `${lead} ${answer}`).toBeUndefined();
      if (result?.structuredContent) calls.keep(params.name, result.structuredContent);
      if (params.name === 'update_link') written ??= result?._meta.requestId;
      called.push(params.name);
    }
    expect([...new Set(called)]).toEqual(Object.values(agentOperations).map(toolName));
  });
});

describe('The examples of skills', () => {
  /** Outreach waits for people; every other skill completes at once. */
  const stateOf = (skill: unknown) =>
    skill === 'coordinate_promotion' ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_COMPLETED';
  let messages = 0;

  const expectTask = async (body: string, skill: unknown): Promise<void> => {
    const { text } = await send({
      method: 'POST',
      path: '/api/affiliate/a2a',
      headers: { ...asJson, 'a2a-version': '1.0' },
      body,
    });
    const { result } = JSON.parse(text) as { result?: { task: { status: { state: string } } } };
    expect(result?.task.status.state, `${String(skill)} ${text}`).toBe(stateOf(skill));
  };

  const hasSkill = (data: Json): boolean => 'skill' in data;

  const expectPart = async (data: Json): Promise<void> => {
    messages += 1;
    const message = { messageId: `example-${messages}`, role: 'ROLE_USER', parts: [{ data }] };
    const params = { message };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
    await expectTask(body, data['skill']);
  };

  it('The examples of skills in the agent card are messages that make tasks', async () => {
    const { skills } = JSON.parse(await page('/.well-known/agent-card.json')) as {
      skills: { id: string; examples: string[] }[];
    };
    expect(skills.map(({ id }) => id)).toEqual(Object.keys(SKILLS));
    for (const { examples } of skills) {
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) await expectPart(JSON.parse(example) as Json);
    }
  });

  it('The examples of skills in docs/a2a.md are messages that make tasks, including the complete message', async () => {
    const [whole, ...parts] = blocksIn(await page('/docs/a2a.md'), 'json');
    await expectTask(whole?.block ?? '', 'prepare_handoff');
    // The registration of a receiver names a task and a URL of the reader.
    const examples = parts.map(({ block }) => JSON.parse(block) as Json).filter(hasSkill);
    expect(examples.length).toBeGreaterThanOrEqual(Object.keys(SKILLS).length);
    for (const example of examples) await expectPart(example);
  });
});
