/** A service whose requests would wait too long: who is refused, how, and what the log gets. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { pino } from 'pino';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { serverOver } from '../support/world/server-over.ts';

const AGENT = '/api/affiliate/v1';
/** One line in this interval is about refusals. */
const LINE_EVERY_MS = 10_000;
let app: TestApp;
let server: FastifyInstance;
let key: string;
let redirect: string;
let review: string;
let eventLoopMs = 0;
let waiting = () => 16;
let logLines: string[] = [];

const post = async (path: string, payload: object): Promise<Record<string, string>> => {
  const headers = { 'idempotency-key': freshKey() };
  return (await app.send({ method: 'POST', url: AGENT + path, key, payload, headers })).body;
};

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  ({ key } = await app.agent('acme'));
  const link = await post('/links', { target: { kind: 'search', ref: 'mug' } });
  redirect = new URL(link['short_url'] ?? '').pathname;
  const line_items = [{ sku: 'MUG-1', quantity: 48 }];
  const handoff = await post('/handoffs', { title: 'Mugs', line_items });
  review = new URL(handoff['review_url'] ?? '').pathname;
  const waits = {
    eventLoop: () => eventLoopMs,
    reads: () => 0,
    appends: () => 0,
    calls: {
      get count() {
        return waiting();
      },
    },
  };
  const log = pino({ level: 'warn' }, { write: (line: string) => void logLines.push(line) });
  const limits = { ...app.service.deps.limits, admissionWaitMs: 250 };
  server = serverOver({ ...app.service.deps, waits, limits }, log);
});
beforeEach(() => {
  eventLoopMs = 0;
  waiting = () => 16;
  logLines = [];
});
afterAll(() => app.close());

const ask = (url: string, more: InjectOptions = {}) =>
  server.inject({ url, ...more, headers: { authorization: `Bearer ${key}`, ...more.headers } });

describe('A service in which a request would wait for more than 250 ms', () => {
  it('An overloaded service refuses reads and writes with 503 overloaded and Retry-After', async () => {
    eventLoopMs = 251;
    const write = { method: 'POST' as const, payload: {}, headers: { 'idempotency-key': 'k' } };
    for (const answer of [await ask(`${AGENT}/leads`), await ask(`${AGENT}/leads`, write)]) {
      expect(answer.statusCode).toBe(503);
      expect(answer.json()).toMatchObject({ code: 'overloaded', recovery: { retryable: true } });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      // A refusal costs the caller nothing.
      expect(answer.headers).not.toHaveProperty('ratelimit');
    }
  });

  it('An overloaded service refuses calls over MCP and A2A before their bodies are parsed', async () => {
    eventLoopMs = 251;
    for (const url of ['/api/affiliate/mcp', '/api/affiliate/a2a']) {
      const answer = await ask(url, {
        method: 'POST',
        payload: '{',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      });
      expect(answer.body, url).toContain('overloaded');
      expect(answer.headers['retry-after'], url).toBeDefined();
    }
  });

  it.each(['before the body is read', 'once the tool is known'])(
    'An overloaded service answers a tool call %s with a tool error that says when to call again',
    async (when) => {
      let asked = 0;
      const late = when !== 'before the body is read';
      eventLoopMs = 251;
      waiting = () => (late && asked++ === 0 ? 15 : 16);
      const ofTool = (name: string) => ({
        method: 'POST' as const,
        payload: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name } }),
        headers: { 'content-type': 'application/json' },
      });
      const answer = await ask('/api/affiliate/mcp', ofTool('get_connection'));
      expect([answer.statusCode, Number(answer.headers['retry-after'])]).toEqual([
        200,
        expect.any(Number),
      ]);
      const { id, result } = answer.json<{
        id: number;
        result: { isError: boolean; content: [{ text: string }] };
      }>();
      expect([id, result.isError]).toEqual([7, true]);
      expect(JSON.parse(result.content[0].text)).toMatchObject({
        code: 'overloaded',
        recovery: { retryable: true, retry_after_s: expect.any(Number) },
      });
      const { payload, ...rest } = ofTool('x');
      asked = 0;
      const other = await ask('/api/affiliate/mcp', {
        ...rest,
        payload: payload.replace('tools/call', 'tools/list'),
      });
      expect([other.statusCode, other.json<{ error: object }>().error]).toMatchObject([
        503,
        { code: 50300 },
      ]);
    },
  );

  it('A service with fewer than 16 waiting calls is not overloaded, however long they wait', async () => {
    eventLoopMs = 60_000;
    waiting = () => 15;
    expect((await ask(`${AGENT}/leads`)).statusCode).toBe(200);
  });

  it('An overloaded service never refuses health, and shows buyers a page that says so', async () => {
    eventLoopMs = 10_000;
    expect((await ask('/livez')).statusCode).toBe(200);
    expect((await ask('/readyz')).statusCode).toBe(200);
    const page = await server.inject({ url: review, headers: { accept: 'text/html' } });
    expect(page.statusCode).toBe(503);
    expect(page.headers['retry-after']).toBeDefined();
    expect(page.body).toContain('Too busy just now');
  });

  it('An overloaded service refuses redirects last', async () => {
    eventLoopMs = 1_000;
    expect((await server.inject({ url: redirect })).statusCode).toBe(302);
    eventLoopMs += 1;
    expect((await server.inject({ url: redirect })).statusCode).toBe(503);
  });

  it('An overloaded service stores one audit event for all refusals of a key, and logs one line in ten seconds', async () => {
    const { log, audit } = app.service.deps;
    await audit.flush();
    const { position } = await log.head();
    eventLoopMs = 251;
    const since = performance.now();
    for (let calls = 0; calls < 1_000; calls += 1) await ask(`${AGENT}/leads`);
    expect((await log.head()).position).toBe(position);
    await audit.flush();
    const events = await log.readAll({ after: position, limit: 10 });
    expect(events).toMatchObject([
      {
        type: 'ActivityRecorded',
        data: { entries: [{ operation: 'listLeads', code: 'overloaded', count: 1_000 }] },
      },
    ]);
    const intervals = Math.ceil((performance.now() - since) / LINE_EVERY_MS);
    expect(logLines.length).toBeLessThanOrEqual(intervals);
  });
});
