import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { facetValuesMax } from '#src/stores/sqlite/catalog/filter.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { verifies } from '../support/source/verifies.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const get = (url: string, headers = {}) => app.send({ method: 'GET', url, headers });

describe('A public document', () => {
  it.each([
    '/api/affiliate/openapi.json',
    '/llms.txt',
    '/api/affiliate/llms.txt',
    '/api/desk/openapi.json',
  ])(
    'The public document %s is served without a credential, and identically with an invalid one',
    async (url) => {
      verifies('service.8.openapi', 'service.8.llms', 'endpoints.rules.1', 'authentication.6');
      const plain = await get(url);
      const odd = await get(url, { authorization: 'Bearer nonsense' });
      expect(plain.status).toBe(200);
      expect(odd.text).toBe(plain.text);
      const cached = await get(url, { 'if-none-match': plain.headers['etag'] });
      expect(cached.status).toBe(304);
    },
  );

  it('A public document without a version in its address describes paths with the version', async () => {
    verifies('versioning.2');
    const { body } = await get('/api/affiliate/openapi.json');
    const { paths, servers } = body as {
      paths: Record<string, unknown>;
      servers: { url: string }[];
    };
    expect(Object.keys(paths)[0]).toMatch(/^\/api\/affiliate\/v1\//);
    expect(servers).toEqual([{ url: 'https://t.example' }]);
  });
});

describe('Every answer', () => {
  it.each([
    '/api/affiliate/openapi.json',
    '/api/affiliate/v1/connection',
    '/api/affiliate/v1/nothing',
    '/api/affiliate/mcp',
    '/api/desk/v1/agents',
    '/.well-known/agent-card.json',
    '/metrics',
    '/livez',
    '/llms.txt',
    '/assets/mark.svg',
    '/l/none',
    '/%',
  ])('Every answer of %s forbids browsers to guess another type', async (url) => {
    const { headers } = await get(url);
    expect(headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('An unknown route below v1', () => {
  it('An unknown route below v1 answers a problem with a stable code, recovery and links', async () => {
    verifies('errors.1', 'errors.2', 'errors.3', 'errors.4', 'resources.problem', 'versioning.3');
    const answer = await get('/api/affiliate/v1/quotations');
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.body).toMatchObject({
      type: 'https://t.example/problems/route_not_found',
      status: 404,
      code: 'route_not_found',
      recovery: { action: 'read_contract', retryable: false },
      links: {
        portal: 'https://t.example/',
        openapi: 'https://t.example/api/affiliate/openapi.json',
      },
    });
    expect((answer.body as { request_id: string }).request_id).toBe(answer.headers['request-id']);
  });

  it('An unknown route below v1 answers boundary_forbidden if its path names one of the five acts', async () => {
    for (const path of ['orders', 'rfqs', 'quotations/1/accept', 'reservations', 'payments']) {
      const answer = await app.send({ method: 'POST', url: `/api/affiliate/v1/${path}` });
      expect(answer, path).toMatchObject({
        status: 403,
        body: { code: 'boundary_forbidden', recovery: { action: 'hand_to_buyer' } },
      });
    }
  });

  it('An unknown route below v1 answers 405 with Allow if its path exists with another method', async () => {
    const answer = await app.send({ method: 'DELETE', url: '/api/affiliate/v1/links' });
    expect(answer).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(answer.headers['allow']).toBe('POST');
  });
});

describe('A credential', () => {
  it('A credential that is refused is answered with a problem whose code says why', async () => {
    verifies('errors.5', 'authentication.2', 'authentication.7');
    const { key, keyId } = await app.agent('acme', ['products:read']);
    const connection = (authorization?: string) =>
      get('/api/affiliate/v1/connection', authorization === undefined ? {} : { authorization });
    expect(await connection()).toMatchObject({ status: 401, body: { code: 'credential_missing' } });
    expect((await connection()).headers['www-authenticate']).toBe('Bearer realm="affiliate"');
    expect(await connection(`Bearer ${key}x`)).toMatchObject({
      status: 401,
      body: { code: 'credential_invalid' },
    });
    expect(await connection(`Bearer ${app.deskToken}`)).toMatchObject({
      body: { code: 'credential_invalid' },
    });
    expect((await connection(`Bearer ${key}`)).status).toBe(200);
    const inUrl = await get(`/api/affiliate/v1/connection?api_key=${key}`);
    expect(inUrl).toMatchObject({ status: 400, body: { code: 'credential_in_url' } });
    const scope = await get('/api/affiliate/v1/leads', { authorization: `Bearer ${key}` });
    expect(scope).toMatchObject({
      status: 403,
      body: { code: 'scope_missing', required_scope: 'leads:read' },
    });
    await app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' });
    expect(await connection(`Bearer ${key}`)).toMatchObject({
      status: 401,
      body: { code: 'credential_revoked' },
    });
  });

  it('A credential is issued only after an access review', async () => {
    verifies('authentication.3');
    const requested = await app.desk('POST', '/agents', {
      owner_id: 'newcomer',
      name: 'Eager',
      purpose: 'Sell',
      scopes: ['links:write'],
    });
    const { id } = requested.body as { id: string };
    const early = await app.desk('POST', `/agents/${id}/keys`, {});
    expect(early).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    await atDesk(app, { path: `/agents/${id}/approve`, body: { reason: 'Fine' } });
    const issued = await app.desk('POST', `/agents/${id}/keys`, {});
    expect(issued.status).toBe(201);
    const wider = await app.desk('POST', `/agents/${id}/approve`, {
      scopes: ['leads:read'],
      reason: 'Oops',
    });
    expect(wider).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scopes' }] } });
  });

  it('A credential works during the overlap of its rotation, and then expires', async () => {
    const { key, keyId } = await app.agent('rotor', ['products:read']);
    app.clock.advance(60_000);
    const rotatedAt = app.clock.now();
    const rotated = await app.desk('POST', `/keys/${keyId}/rotate`, { overlap_hours: 1 });
    app.clock.advance(60_000);
    const { api_key } = rotated.body as { api_key: string };
    const status = async (bearer: string) =>
      app.send({ method: 'GET', url: '/api/affiliate/v1/connection', key: bearer });
    expect((await status(api_key)).status).toBe(200);
    const old = await status(key);
    expect(old.status).toBe(200);
    expect(old.headers).not.toHaveProperty('deprecation');
    expect(old.headers).not.toHaveProperty('sunset');
    expect(Date.parse(old.headers['key-expires'] ?? '')).toBe(
      Math.floor((rotatedAt + 3_600_000) / 1000) * 1000,
    );
    const { headers } = await status(api_key);
    expect(headers).not.toHaveProperty('key-expires');
    app.clock.advance(3_600_001);
    expect(await status(key)).toMatchObject({ status: 401, body: { code: 'credential_expired' } });
    expect((await status(api_key)).status).toBe(200);
  });

  it("An agent's credential is refused at the desk", async () => {
    const { key } = await app.agent('curious');
    const answer = await app.send({
      method: 'GET',
      url: '/api/desk/v1/agents?owner_id=curious',
      key,
    });
    expect(answer).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  });

  it('A credential of the environment test reads and writes another space than live credentials', async () => {
    const live = await app.agent('twin');
    const test = await app.agent('twin', undefined, 'test');
    const lead = { external_id: 'x', company: { name: 'A', country: 'GB' } };
    const sent = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/leads',
      key: test.key,
      payload: lead,
      headers: { 'idempotency-key': 'one' },
    });
    expect(sent).toMatchObject({ status: 201, body: { owner_id: 'testtwin' } });
    const seen = await app.send({ method: 'GET', url: '/api/affiliate/v1/leads', key: live.key });
    expect(seen.body).toMatchObject({ data: [] });
  });
});

describe('A rate limit', () => {
  it('A rate limit is in every answer, with Retry-After once it is reached', async () => {
    const small = await testApp({ READS_PER_MINUTE: '3' });
    const { key } = await small.agent('acme', ['products:read']);
    const connect = () => small.send({ method: 'GET', url: '/api/affiliate/v1/connection', key });
    const first = await connect();
    expect(first.headers['ratelimit-policy']).toBe('"read";q=3;w=60');
    expect(first.headers['ratelimit']).toMatch(/^"read";r=2;t=\d+$/);
    await connect();
    await connect();
    const last = await connect();
    expect(last).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
    await small.close();
  });
});

describe('The published limits', () => {
  it('The published limits are equal in getConnection, both contracts, the MCP resource and the documentation', async () => {
    verifies('limits');
    const rates = { READS_PER_MINUTE: '31', WRITES_PER_MINUTE: '17', OUTREACH_PER_MINUTE: '2' };
    const address = { ADDRESS_PAGES_PER_SECOND: '41', ADDRESS_CALLS_PER_SECOND: '43' };
    const small = await testApp({ ...rates, ...address });
    const { key } = await small.agent('acme');
    const read = async (url: string) => small.send({ method: 'GET', url, key });
    const { body } = await read('/api/affiliate/v1/connection');
    const { limits } = body as { limits: Record<string, number> };
    expect(limits).toMatchObject({
      reads_per_minute: 31,
      writes_per_minute: 17,
      outreach_per_minute: 2,
      address_pages_per_second: 41,
      address_calls_per_second: 43,
    });
    for (const url of ['/api/affiliate/openapi.json', '/api/desk/openapi.json'])
      expect((await read(url)).body, url).toMatchObject({ 'x-limits': limits });
    const page = await read('/docs/rest.md');
    expect(page.text).toContain('31 reads, 17 writes a key');
    const resource = await mcpAgent(small, key).legacy('resources/read', {
      uri: 'tributary://openapi.json',
    });
    const { contents } = resource.body.result as unknown as { contents: { text: string }[] };
    expect(JSON.parse(contents[0]?.text ?? '')).toMatchObject({ 'x-limits': limits });
    await small.close();
  });

  it('The published limits of facets equal those that the search enforces', () => {
    const { FACET_VALUES_MAX, FACET_CATEGORIES_MAX } = LIMITS;
    expect(facetValuesMax('brand')).toBe(FACET_VALUES_MAX);
    expect(facetValuesMax('category')).toBe(FACET_CATEGORIES_MAX);
  });
});

describe('A consistency token', () => {
  it('A consistency token lets a read see the write that returned it, and is refused by another log', async () => {
    const { key } = await app.agent('ryw');
    const sent = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/leads',
      key,
      payload: { external_id: 'x', company: { name: 'A', country: 'GB' } },
      headers: { 'idempotency-key': 'one' },
    });
    const token = sent.headers['consistency-token'];
    const leads = (consistency: string | undefined) =>
      app.send({
        method: 'GET',
        url: '/api/affiliate/v1/leads',
        key,
        headers: { 'consistency-token': consistency },
      });
    expect((await leads(token)).body).toMatchObject({ data: [{ external_id: 'x' }] });
    const foreign = Buffer.from('00000000:1').toString('base64url');
    expect(await leads(foreign)).toMatchObject({
      status: 400,
      body: { code: 'consistency_token_invalid' },
    });
    const future = Buffer.from(`${app.service.deps.log.id.slice(0, 8)}:999999`).toString(
      'base64url',
    );
    expect((await leads(future)).status).toBe(400);
  });
});

describe('The audit log', () => {
  it('The audit log contains denials, refusals and reads, including requests that never reached their operation', async () => {
    const { key, agentId } = await app.agent('audited', ['links:write']);
    const url = '/api/affiliate/v1/links';
    await app.send({ method: 'GET', url: '/api/affiliate/v1/leads', key });
    await app.send({
      method: 'POST',
      url,
      key,
      payload: '{',
      headers: { 'content-type': 'application/json' },
    });
    await app.send({
      method: 'POST',
      url,
      key,
      payload: { target: 1 },
      headers: { 'idempotency-key': 'x' },
    });
    await app.send({ method: 'GET', url: '/api/affiliate/v1/connection', key });
    await app.service.deps.audit.flush();
    const answer = await app.desk('GET', '/events?owner_id=audited&limit=1000');
    const { data } = answer.body as {
      data: { type: string; data: { agent_id: string; entries: object[] } }[];
    };
    const entries = data
      .filter(({ type }) => type === 'ActivityRecorded')
      .flatMap((event) => event.data.entries);
    expect(data.at(-1)?.data.agent_id).toBe(agentId);
    expect(entries).toMatchObject([
      { operation: 'listLeads', decision: 'denied', code: 'scope_missing', count: 1 },
      { operation: 'createLink', decision: 'refused', code: 'malformed_json' },
      { operation: 'createLink', decision: 'refused', code: 'validation_failed' },
      { operation: 'getConnection', decision: 'allowed' },
    ]);
  });
});
