/** HTTP as RFC 9110 has it, for every route: preconditions, OPTIONS, unknown methods, and the links of lists. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import { A2A_BASE } from '#src/interfaces/a2a/card.ts';
import { HTTP_ROUTES } from '#src/interfaces/a2a/routes.ts';
import { MCP } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';

const DOCUMENTS = [
  '/.well-known/agent-card.json',
  '/.well-known/jwks.json',
  '/.well-known/api-catalog',
  '/api/affiliate/openapi.json',
  '/api/affiliate/mcp/status',
  '/llms.txt',
  '/docs/rest.md',
];

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2'), feedProduct('MUG-3')]);
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.send({ method: 'GET', url, headers });

describe('A public document', () => {
  it.each(DOCUMENTS)(
    'The document %s answers 412 for a failed If-Match, and 304 for a version that the client has',
    async (url) => {
      const { headers, status } = await get(url);
      const { etag = '', 'last-modified': modified } = headers;
      expect([status, etag === '']).toEqual([200, false]);
      for (const tag of [etag, etag.replace('W/', ''), `"x", ${etag}`, '*'])
        expect([tag, (await get(url, { 'if-match': tag })).status]).toEqual([tag, 200]);
      const failed = await get(url, { 'if-match': '"x"' });
      expect([failed.status, failed.body]).toMatchObject([412, { code: 'precondition_failed' }]);
      if (modified === undefined) return;
      const later = new Date(Date.parse(modified) + 1_000).toUTCString();
      const earlier = new Date(Date.parse(modified) - 1_000).toUTCString();
      const since = async (time: string, more = {}) =>
        (await get(url, { 'if-modified-since': time, ...more })).status;
      expect([await since(modified), await since(later)]).toEqual([304, 304]);
      expect([await since(earlier), await since('yesterday')]).toEqual([200, 200]);
      const unmodified = async (time: string, more = {}) =>
        (await get(url, { 'if-unmodified-since': time, ...more })).status;
      expect([await unmodified(modified), await unmodified(later)]).toEqual([200, 200]);
      expect([await unmodified(earlier), await unmodified('yesterday')]).toEqual([412, 200]);
      expect(await unmodified(earlier, { 'if-match': etag })).toBe(200);
      // A tag counts more than a time (RFC 9110, 13.1.3).
      expect(await since(later, { 'if-none-match': '"x"' })).toBe(200);
    },
  );

  it('The agent card has the time of its last change', async () => {
    expect((await get(DOCUMENTS[0] ?? '')).headers['last-modified']).toMatch(/GMT$/);
  });
});

/** A path of a fastify route, with a name for each parameter. */
const a2aPath = (url: string): string =>
  url.replaceAll(/::|:(\w+)(?:\(\^[^)]+\))?/g, (part, name?: string) => name ?? part.slice(1));

describe('OPTIONS', () => {
  const paths = [
    ...Object.values(operations).map(({ http }) => AGENT_BASE + http.path),
    ...Object.values(deskOperations).map(({ http }) => DESK_BASE + http.path),
    ...HTTP_ROUTES.map(({ url }) => A2A_BASE + a2aPath(url)),
    ...DOCUMENTS,
    A2A_BASE,
    MCP,
    '/',
    '/docs',
    '/problems',
    '/readyz',
    '/metrics',
    '/l/none',
    '/apply',
  ].map((path) => path.replaceAll(/\{(\w+)\}/g, '$1'));

  it('OPTIONS answers 204 with the methods that a 405 of the same path names, on every route and without a key', async () => {
    for (const url of new Set(paths)) {
      const { status, headers, text } = await app.send({ method: 'OPTIONS', url });
      expect([url, status, text]).toEqual([url, 204, '']);
      const other = await app.send({ method: 'PUT', url });
      expect([url, other.status]).toEqual([url, 405]);
      const allowed = other.headers['allow'] ?? '';
      expect([url, headers['allow']]).toEqual([url, `${allowed}, OPTIONS`]);
      expect(allowed).toMatch(/^(?:GET|POST|DELETE)/);
    }
    expect((await app.send({ method: 'OPTIONS', url: '/api/affiliate/v1/none' })).status).toBe(404);
  });
});

describe('A list in JSON', () => {
  const nextOf = (link: string | undefined): string | undefined =>
    /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];

  it('A list in JSON has a link to its next page until the last one', async () => {
    const seen: string[] = [];
    let url: string | undefined = `${AGENT_BASE}/products?limit=1&sort=updated`;
    while (url !== undefined) {
      const { body, headers, status } = await app.send({ method: 'GET', url, key });
      expect([url, status]).toEqual([url, 200]);
      seen.push(...(body as { data: { sku: string }[] }).data.map(({ sku }) => sku));
      url = nextOf(headers['link']);
    }
    expect(seen.toSorted()).toEqual(['MUG-1', 'MUG-2', 'MUG-3']);
  });

  it('A list in JSON at the desk has a link to its next page', async () => {
    for (let n = 0; n < 2; n++)
      await app.send({
        method: 'POST',
        url: `${AGENT_BASE}/links`,
        key,
        headers: { 'idempotency-key': freshKey() },
        payload: { target: { kind: 'product', ref: 'MUG-1' } },
      });
    const { headers, body } = await app.desk('GET', '/links?owner_id=acme&limit=1');
    const next = nextOf(headers['link']);
    expect(next).toContain(`before=${(body as { next_before: number }).next_before}`);
    const second = await app.desk('GET', (next ?? '').slice(DESK_BASE.length));
    expect((second.body as { data: object[] }).data).toHaveLength(1);
    expect(second.headers).not.toHaveProperty('link');
  });

  it('A write has no link to a next page', async () => {
    const { headers } = await app.send({
      method: 'POST',
      url: `${AGENT_BASE}/links`,
      key,
      headers: { 'idempotency-key': freshKey() },
      payload: { target: { kind: 'product', ref: 'MUG-1' } },
    });
    expect(headers).not.toHaveProperty('link');
  });
});

describe('A refused media type', () => {
  it.each(['text/plain', 'application/xml', 'multipart/form-data; boundary=x'])(
    'The media type %s is answered 415 with what is accepted',
    async (type) => {
      for (const url of [
        `${AGENT_BASE}/links`,
        `${DESK_BASE}/outreach-halt`,
        '/api/affiliate/mcp',
        '/api/affiliate/a2a',
      ]) {
        const { status, headers } = await app.send({
          method: 'POST',
          url,
          key: url.startsWith(DESK_BASE) ? app.deskToken : key,
          headers: { 'content-type': type, 'idempotency-key': freshKey(), 'a2a-version': '1.0' },
          payload: 'x',
        });
        expect([url, status, headers['accept']]).toEqual([url, 415, 'application/json']);
      }
    },
  );

  it('A coding of the content that is refused is answered 415 with the one that is accepted', async () => {
    const { status, headers } = await app.send({
      method: 'POST',
      url: `${AGENT_BASE}/links`,
      key,
      headers: { 'content-encoding': 'gzip', 'idempotency-key': freshKey() },
      payload: {},
    });
    expect([status, headers['accept-encoding']]).toEqual([415, 'identity']);
  });

  it('A media type that a page with a form refuses is answered 415 with that of forms', async () => {
    const { status, headers } = await app.send({
      method: 'POST',
      url: '/apply',
      headers: { 'content-type': 'application/json' },
      payload: {},
    });
    expect([status, headers['accept']]).toEqual([415, 'application/x-www-form-urlencoded']);
  });
});
