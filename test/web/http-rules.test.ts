/** HTTP as RFC 9110 has it, for every route: preconditions, OPTIONS, unknown methods, and the links of lists. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
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
      // A tag counts more than a time (RFC 9110, 13.1.3).
      expect(await since(later, { 'if-none-match': '"x"' })).toBe(200);
    },
  );

  it('The agent card has the time of its last change', async () => {
    expect((await get(DOCUMENTS[0] ?? '')).headers['last-modified']).toMatch(/GMT$/);
  });
});

describe('OPTIONS', () => {
  const paths = [
    ...Object.values(operations).map(({ http }) => AGENT_BASE + http.path),
    ...Object.values(deskOperations).map(({ http }) => DESK_BASE + http.path),
    ...DOCUMENTS,
  ].map((path) => path.replaceAll(/\{(\w+)\}/g, '$1'));

  it('OPTIONS answers 204 with Allow for every path of REST, of the desk and of documents, without a key', async () => {
    for (const url of new Set(paths)) {
      const { status, headers, text } = await app.send({ method: 'OPTIONS', url });
      expect([url, status, text]).toEqual([url, 204, '']);
      const allowed = headers['allow']?.split(', ') ?? [];
      expect([url, allowed.includes('OPTIONS'), allowed.length > 1]).toEqual([url, true, true]);
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
});
