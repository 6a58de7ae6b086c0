/** Statements of the specification that need several parts of the service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { ROOT } from '../support/source/tree.ts';
import { person } from '../support/world/outreach.ts';
import { verifies } from '../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const DESK = '/api/desk/v1';

let app: TestApp;
let owner: string;
let staff: string;
let key: string;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  owner = await person(app, ['owner'], 'acme');
  staff = await person(app, ['staff']);
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const post = (url: string, payload: object, by?: string) =>
  app.send({
    method: 'POST',
    url,
    payload,
    headers: { 'idempotency-key': freshKey() },
    ...(by !== undefined && { key: by }),
  });

type Operation = { operationId: string; requestBody?: { content: Record<string, Body> } };
type Body = { schema: { required?: string[] } };
type Contract = { openapi: string; paths: Record<string, Record<string, Operation>> };

describe('The REST contract', () => {
  it('The REST contract is served without a credential and equals the published file', async () => {
    verifies('endpoints.1', 'endpoints.rules.5', 'service.8.openapi');
    const { status, text } = await app.send({ method: 'GET', url: '/api/affiliate/openapi.json' });
    expect(status).toBe(200);
    const file = readFileSync(join(ROOT, 'contracts/published/openapi.json'), 'utf8');
    const here = (document: string): unknown =>
      JSON.parse(document.replaceAll(/https:\/\/(?:t|tributary)\.example/g, 'https://here'));
    const served = here(text) as Contract;
    expect(Object.keys(served.paths)).toEqual(Object.keys((here(file) as Contract).paths));
    expect(served.openapi).toMatch(/^3\.1/);
    const ids = Object.values(served.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(ids.toSorted()).toEqual(Object.keys(operations).toSorted());
  });

  it('The REST contract names the methods, paths and payloads that the service accepts', async () => {
    verifies('endpoints.rules.8', 'versioning.1');
    const { body } = await app.send({ method: 'GET', url: '/api/affiliate/openapi.json' });
    const { paths } = body as Contract;
    for (const [url, item] of Object.entries(paths))
      for (const [method, { operationId, requestBody }] of Object.entries(item)) {
        expect(url).toContain(`${V1}/`);
        const isWrite = requestBody !== undefined;
        expect(method, operationId).toBe(isWrite ? 'post' : 'get');
        if (!isWrite) {
          const read = await app.send({ method: 'GET', url, key });
          expect(read.status, operationId).toBe(200);
          continue;
        }
        const { required = [] } = requestBody.content['application/json']?.schema ?? {};
        const empty = await post(url, {}, key);
        expect(empty.status, operationId).toBe(422);
        const { errors } = empty.body as { errors: { pointer: string }[] };
        const missing = new Set(errors.map(({ pointer }) => pointer));
        for (const name of required) expect(missing, operationId).toContain(`/${name}`);
      }
  });
});

describe('An API key', () => {
  it('An API key is requested and issued by the owner after a review, and works only as a bearer token', async () => {
    verifies('authentication.1', 'authentication.3');
    const wish = { owner_id: 'acme', name: 'Own', purpose: 'Sell', scopes: ['products:read'] };
    const requested = await post(`${DESK}/agents`, wish, owner);
    expect(requested.status).toBe(201);
    const { id } = requested.body as { id: string };
    const early = await post(`${DESK}/agents/${id}/keys`, {}, owner);
    expect(early).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    const alone = await post(`${DESK}/agents/${id}/approve`, { reason: 'Mine' }, owner);
    expect(alone).toMatchObject({ status: 403, body: { code: 'role_missing' } });
    await post(`${DESK}/agents/${id}/approve`, { reason: 'Known' }, staff);
    const issued = await post(`${DESK}/agents/${id}/keys`, {}, owner);
    const { api_key } = issued.body as { api_key: string };
    const url = `${V1}/connection`;
    const answer = async (headers: Record<string, string>) =>
      (await app.send({ method: 'GET', url, headers })).status;
    expect(await answer({ authorization: `Bearer ${api_key}` })).toBe(200);
    const basic = Buffer.from(`${api_key}:`).toString('base64');
    expect(await answer({ authorization: `Basic ${basic}` })).toBe(401);
    expect(await answer({ 'x-api-key': api_key })).toBe(401);
  });

  it('An API key can have nine scopes, each with its meaning', async () => {
    verifies('authentication.5', 'authentication.5.outbound');
    const { body } = await app.send({ method: 'GET', url: `${V1}/connection`, key });
    const { scopes } = body as { scopes: { name: string; group: string; meaning: string }[] };
    expect(scopes.map(({ name, group }) => `${group} ${name}`)).toEqual([
      'read products:read',
      'read performance:read',
      'read leads:read',
      'write links:write',
      'write handoffs:write',
      'write leads:write',
      'outbound social:write',
      'outbound messages:write',
      'outbound agents:notify',
    ]);
    for (const { name, group, meaning } of scopes)
      if (group === 'outbound')
        expect(meaning, name).toContain('owner-controlled or administrator-approved only');
    const of = Object.fromEntries(scopes.map(({ name, meaning }) => [name, meaning]));
    expect(of['handoffs:write']).toContain('without submitting an RFQ');
    expect(of['performance:read']).toContain('attributed performance');
  });
});

describe('Prices, stock and the state of a lead', () => {
  it('Prices, stock and the state of a lead are changed only by staff, not by an agent or an owner', async () => {
    verifies('service.6.staff');
    const lead = { external_id: 'crm-1', company: { name: 'Shop', country: 'GB' } };
    const { id } = (await post(`${V1}/leads`, lead, key)).body as { id: string };
    const acts: [string, object][] = [
      [`/leads/${id}/move`, { owner_id: 'acme', to: 'accepted' }],
      ['/products/import', { products: [feedProduct('MUG-1', { title: 'Cheaper' })] }],
      ['/products/withdraw', { sku: 'MUG-1', reason: 'Sold out' }],
    ];
    for (const [path, body] of acts) {
      const byOwner = await post(DESK + path, body, owner);
      expect(byOwner, path).toMatchObject({ status: 403, body: { code: 'role_missing' } });
      const byAgent = await post(DESK + path, body, key);
      expect(byAgent.status, path).toBe(401);
    }
    for (const [path, body] of acts)
      expect((await post(DESK + path, body, staff)).status, path).toBe(200);
  });
});
