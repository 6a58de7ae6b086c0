/** The contract declares every header, status and problem member that the service sends. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { verifies } from '../support/source/verifies.ts';

type Referable = { $ref?: string };
type Response = Referable & { headers?: Record<string, Referable> };
type Contract = {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: {
    responses: Record<string, Response>;
    headers: Record<string, { description: string }>;
    schemas: { Problem: { properties: object } };
  };
};

const V1 = '/api/affiliate/v1';
/** Headers of every message, from HTTP and for browsers. */
const OF_HTTP =
  /^(?:content-(?:type|length|language)|cache-control|date|connection|keep-alive|x-content-type-options)$/;

let app: TestApp;
let contract: Contract;
beforeAll(async () => {
  app = await testApp({ WRITES_PER_MINUTE: '4' });
  await app.publish([feedProduct('MUG-1')]);
  contract = (await app.send({ method: 'GET', url: '/api/affiliate/openapi.json' })).body;
});
afterAll(() => app.close());

const part = <Found>(ref: string): Found =>
  ref
    .slice(2)
    .split('/')
    .reduce((node, name) => (node as Record<string, unknown>)[name], contract as unknown) as Found;

const declared = (path: string, method: string, status: number): Set<string> => {
  const { responses } = contract.paths[V1 + path]?.[method] ?? { responses: {} };
  const response = responses[status];
  if (!response) throw new Error(`${method} ${path} declares no ${status}`);
  const { headers = {} } = response.$ref === undefined ? response : part<Response>(response.$ref);
  for (const { $ref = '' } of Object.values(headers))
    expect(part<{ description: string }>($ref).description).toMatch(/\w/);
  return new Set(Object.keys(headers).map((name) => name.toLowerCase()));
};

it('The OpenAPI contract names every header of every answer and every member of a problem', async () => {
  verifies('errors.4');
  const { key, keyId } = await app.agent('acme');
  const narrow = await app.agent('narrow', ['products:read']);
  const link = { target: { kind: 'product', ref: 'MUG-1' } };
  const lead = { external_id: 'x', company: { name: 'A', country: 'GB' } };
  const write = (path: string, payload: object, idem = 'one', bearer = key) => ({
    request: { method: 'POST' as const, url: V1 + path, payload, key: bearer },
    headers: { 'idempotency-key': idem },
  });
  const read = (path: string, headers: Record<string, string> = {}, bearer: string = key) => ({
    request: { method: 'GET' as const, url: V1 + path, key: bearer },
    headers,
  });
  const calls: [number, string[], ReturnType<typeof read | typeof write>][] = [
    [200, ['ratelimit', 'ratelimit-policy'], read('/connection')],
    [200, ['as-of', 'link'], read('/performance?limit=1', { accept: 'text/csv' })],
    [201, ['consistency-token'], write('/links', link)],
    [201, ['idempotent-replayed', 'original-request-id'], write('/links', link)],
    [422, ['link'], write('/links', { ...link, campaign: 'other' })],
    [201, [], write('/leads', lead)],
    [429, ['retry-after'], write('/leads', lead, 'two')],
    [403, ['www-authenticate'], write('/leads', lead, 'one', narrow.key)],
    [401, ['www-authenticate'], read('/connection', {}, 'nonsense')],
    [406, [], read('/performance', { accept: 'image/png' })],
    [400, [], read('/leads?limit=0')],
  ];
  const tried = async ([status, shown, { request, headers }]: (typeof calls)[number]) => {
    const { method, url } = request;
    const [path = ''] = url.slice(V1.length).split('?');
    const answer = await app.send({ ...request, headers });
    const at = `${method} ${url} ${answer.status}`;
    expect(answer.status, at).toBe(status);
    const names = Object.keys(answer.headers).filter((name) => !OF_HTTP.test(name));
    for (const name of shown) expect(names, at).toContain(name);
    const declaredNames = declared(path, method.toLowerCase(), status);
    expect(
      names.filter((name) => !declaredNames.has(name)),
      at,
    ).toEqual([]);
    if (status < 400) return;
    const members = Object.keys(contract.components.schemas.Problem.properties);
    expect(members, at).toEqual(expect.arrayContaining(Object.keys(answer.body as object)));
  };
  for (const call of calls) await tried(call);
  await app.desk('POST', `/keys/${keyId}/rotate`, { overlap_hours: 1 });
  await tried([200, ['key-expires'], read('/leads')]);
});

it('The OpenAPI contract of the desk names only headers that the desk sends', async () => {
  const { body } = await app.send({ method: 'GET', url: '/api/desk/openapi.json' });
  const { components } = body as Contract;
  expect(components.headers).toHaveProperty('requestId');
  expect(components.headers).not.toHaveProperty('rateLimit');
});
