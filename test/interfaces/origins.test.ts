/** Pages of the origins that ORIGINS names may call MCP and A2A; no page of another origin may, and none calls REST. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import { HTTP_ROUTES } from '#src/interfaces/a2a/routes.ts';
import { a2aApp, BASE, message, POST } from '../support/clients/a2a.ts';
import { MCP } from '../support/clients/mcp.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

const NAMED = 'https://inspector.example';
const OTHERS = [
  'https://other.example',
  'http://inspector.example',
  'https://inspector.example:8443',
  'https://inspector.example.evil.example',
  'https://sub.inspector.example',
  'null',
];

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp({ ORIGINS: `${NAMED}, http://localhost:6274/` });
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

/** The addresses of MCP and A2A, with an id for each part of a path. */
const ADDRESSES = [
  MCP,
  BASE,
  ...new Set(
    HTTP_ROUTES.map(({ url }) =>
      (BASE + url)
        .replaceAll('::', '\0')
        .replaceAll(/:\w+(?:\([^)]*\))?/g, 'id')
        .replaceAll('\0', ':'),
    ),
  ),
];

const preflight = (url: string, origin: string, over = app) =>
  over.send({
    method: 'OPTIONS',
    url,
    headers: { origin, 'access-control-request-method': 'POST' },
  });
const ALLOW = 'access-control-allow-origin';

const call = (
  url: string,
  origin: string,
  withKey: string | undefined = key,
  method = 'tools/list',
) =>
  app.send({
    method: 'POST',
    url,
    key: withKey,
    headers: { origin, ...(url === BASE && { 'a2a-version': '1.0' }) },
    payload: { jsonrpc: '2.0', id: 1, method, params: {} },
  });

describe('A page of an origin that ORIGINS names', () => {
  it('A page of a named origin gets a preflight answer at every address of MCP and A2A', async () => {
    expect(ADDRESSES.length).toBeGreaterThan(8);
    for (const url of ADDRESSES)
      for (const origin of [NAMED, 'http://localhost:6274']) {
        const { status, headers } = await preflight(url, origin);
        expect([url, status, headers[ALLOW]]).toEqual([url, 204, origin]);
        expect(headers['access-control-allow-headers']).toContain('Authorization');
        expect(headers['vary']).toContain('Origin');
      }
  });

  it('A page of a named origin may read answers, errors and streams', async () => {
    const tools = await call(MCP, NAMED);
    expect([tools.status, tools.headers[ALLOW]]).toEqual([200, NAMED]);
    const tasks = await call(BASE, NAMED, key, 'ListTasks');
    expect([tasks.status, tasks.headers[ALLOW]]).toEqual([200, NAMED]);
    for (const url of [MCP, BASE]) {
      const refused = await call(url, NAMED, 'wrong');
      expect([url, refused.status, refused.headers[ALLOW]]).toEqual([url, 401, NAMED]);
      expect(refused.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
    }
    const stream = await app.send({
      method: 'POST',
      url: `${BASE}/message:stream`,
      key,
      headers: { origin: NAMED, 'a2a-version': '1.0' },
      payload: { message: message(POST) },
    });
    expect([stream.status, stream.headers[ALLOW]]).toEqual([200, NAMED]);
  });
});

describe('A page of another origin', () => {
  it.each(OTHERS)(
    'A page of the origin %s, which nobody named, can call nothing',
    async (origin) => {
      for (const url of ADDRESSES)
        expect([url, (await preflight(url, origin)).headers[ALLOW]]).toEqual([url, undefined]);
      for (const url of [MCP, BASE]) {
        const { status, headers, text } = await call(url, origin);
        expect([url, status, headers[ALLOW]]).toEqual([url, 403, undefined]);
        expect(text).toContain('ORIGINS');
      }
    },
  );

  it('A page of any origin cannot call REST and the desk', async () => {
    const paths = [
      ...Object.values(operations).map(({ http }) => AGENT_BASE + http.path),
      ...Object.values(deskOperations).map(({ http }) => DESK_BASE + http.path),
    ];
    for (const url of paths) {
      const { headers } = await preflight(url.replaceAll(/[{}]/g, ''), NAMED);
      expect([url, headers[ALLOW]]).toEqual([url, undefined]);
    }
  });

  it('A page of another origin can call nothing where ORIGINS is not set', async () => {
    const plain = await testApp();
    expect((await preflight(MCP, NAMED, plain)).headers).not.toHaveProperty(ALLOW);
    await plain.close();
  });
});
