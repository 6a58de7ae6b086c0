/**
 * Random requests on every surface, from valid to arbitrary, get only answers that the contract allows and never a 5xx; with
 * random credentials they get only what those allow. FUZZ is about the number of requests.
 */
import { env } from 'node:process';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
import { placeOf, toolName } from '#contracts/places.ts';
import { allows, type NeededScope, SCOPE_NAMES } from '#contracts/scopes.ts';
import { type ProblemCode, UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import { MINUTE_MS } from '#src/shared/time.ts';
import { expectProved } from '../support/audit/export.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { expectProblem, prototypeNames } from '../support/world/problems.ts';
import { anything, likeExample, nearlyValid, valid } from '../support/world/schema-arbitrary.ts';
import { inputSchema } from '../support/world/schema-values.ts';
import { routesOf } from '../support/source/routes.ts';
import { verifies } from '../support/source/verifies.ts';
import { rpc } from '../support/clients/a2a.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { person } from '../support/world/outreach.ts';

/** Failures print the seed; setting it repeats the requests. */
const SEED = Number(env['SEED'] ?? process.hrtime.bigint() % 2_147_483_647n);
const FUZZ = Number(env['FUZZ'] ?? 20_000);
const AGENT_RUNS = Math.ceil(FUZZ / 60);
const DESK_RUNS = Math.ceil(FUZZ / 250);
const TOOL_RUNS = Math.ceil(FUZZ / 80);
const SKILL_RUNS = Math.ceil(FUZZ / 10);
const PAGE_RUNS = Math.ceil(FUZZ / 250);
const CREDENTIAL_RUNS = Math.ceil(FUZZ / 10);

type Operation = {
  id: string;
  kind: 'query' | 'command';
  /** Of the desk: who may perform it. */
  roles?: readonly string[];
  /** Of agents: what the key needs. */
  scope?: NeededScope;
  http: { method: 'GET' | 'POST'; path: string; status: 200 | 201 };
  input: z.ZodObject;
  output: z.ZodType;
  problems: readonly ProblemCode[];
  examples: readonly { input: Record<string, unknown> }[];
};

let app: TestApp;
let key: string;
/** Ids of existing records by their prefix, because a random id would never match one. */
const existingIds = new Map<string, string[]>();
const seen = new Map<string, number>();
const before = prototypeNames();

const rememberIds = (body: unknown): void => {
  for (const [id] of JSON.stringify(body).matchAll(/\b(?:prd|lnk|hnd|led)_[0-9a-z]{24}\b/g)) {
    const ids = existingIds.get(id.slice(0, 3)) ?? [];
    if (ids.length < 20 && !ids.includes(id)) existingIds.set(id.slice(0, 3), [...ids, id]);
  }
};

beforeAll(async () => {
  process.stdout.write(`random requests: seed=${SEED}\n`);
  app = await testApp({
    WRITES_PER_MINUTE: '10000000',
    READS_PER_MINUTE: '10000000',
  });
  ({ key } = await app.agent('acme'));
  const { agentId } = await app.agent('other');
  existingIds.set('agt', [agentId]);
  const skus = ['MUG-1', 'MUG-2', 'BAG-1', 'KIT-101'];
  await app.publish(
    skus.map((sku) => feedProduct(sku, { title: `Blue mug ${sku}`, category: 'Mugs' })),
  );
  rememberIds((await app.send({ method: 'GET', url: '/api/affiliate/v1/products', key })).body);
});
afterAll(async () => {
  expect(prototypeNames()).toBe(before);
  await app.close();
});

/** Replaces the ids in half of the inputs by ids of existing records. */
const withKnownIds = (value: unknown, choice: number): unknown => {
  if (choice % 2 === 0) return value;
  return JSON.parse(JSON.stringify(value ?? null), (_name, member: unknown) => {
    const [, prefix] =
      /^(prd|lnk|hnd|led|agt)_[0-9a-z]{24}$/.exec(typeof member === 'string' ? member : '') ?? [];
    const ids = prefix === undefined ? undefined : existingIds.get(prefix);
    return ids?.[choice % ids.length] ?? member;
  }) as unknown;
};

const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join()
    : typeof value === 'string'
      ? value.toWellFormed()
      : JSON.stringify(value ?? null);

const ACCEPTS = [
  'application/json',
  '*/*',
  'text/*;q=0.5, */*;q=0',
  'a',
  ';;q=x,,',
  'application/json;q=0',
];

const headersFor = (input: Record<string, unknown>, choice: number): Record<string, string> => {
  const idempotency = textOf(input['idempotency_key'] ?? `k${choice}`);
  return {
    'idempotency-key': /^[\x20-\x7e]*$/.test(idempotency) ? idempotency : 'k',
    ...(choice % 10 === 9 && { accept: ACCEPTS[choice % ACCEPTS.length] ?? '' }),
    ...(choice % 13 === 12 && {
      'consistency-token': Buffer.from(`x${choice}:1`).toString('base64url'),
    }),
  };
};

/** Inputs of an operation, from valid to arbitrary. */
const inputsOf = (operation: Operation): fc.Arbitrary<unknown> => {
  const schema = inputSchema(operation);
  // Without key and slug, because the example would be the same intent in every call.
  const { idempotency_key: _key, slug: _slug, ...example } = operation.examples[0]?.input ?? {};
  return fc.oneof(
    { weight: 3, arbitrary: valid(schema) },
    { weight: 3, arbitrary: nearlyValid(schema) },
    { weight: 3, arbitrary: likeExample(schema, example) },
    { weight: 1, arbitrary: anything },
  );
};

/** Builds the request for an input, with each member in its place by the contract. */
const requestOf = (
  operation: Operation,
  base: string,
  value: unknown,
  choice: number,
): InjectOptions => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const input = (isObject ? value : {}) as Record<string, unknown>;
  const path = operation.http.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(
      textOf(input[name] ?? 'none')
        .slice(0, 400)
        .toWellFormed() || 'none',
    ),
  );
  const { method } = operation.http;
  const headers = headersFor(input, choice);
  const members = Object.entries(input).filter(([name]) =>
    ['body', 'query'].includes(placeOf(operation, name)),
  );
  if (method === 'GET') {
    const query = new URLSearchParams(
      members.map(([name, member]) => [name.toWellFormed(), textOf(member)]),
    );
    return { method, url: `${base}${path}?${query.toString()}`, headers };
  }
  const payload = JSON.stringify(isObject ? Object.fromEntries(members) : value);
  return {
    method,
    url: base + path,
    headers: { ...headers, 'content-type': 'application/json' },
    payload,
  };
};

const judge = async (operation: Operation, request: InjectOptions, credential: string) => {
  const hint = `${operation.id} ${JSON.stringify(request).slice(0, 600)}`;
  const answer = await app.send({ ...request, key: credential });
  expect(answer.status, `${hint} ${answer.text}`).toBeLessThan(500);
  const kind = `${operation.id} ${answer.status < 300 ? 'done' : 'refused'}`;
  seen.set(kind, (seen.get(kind) ?? 0) + 1);
  if (answer.status >= 400) {
    const { code } = expectProblem(answer, hint);
    const allowed: readonly string[] = [...operation.problems, ...UNIVERSAL_PROBLEMS];
    expect(allowed, `${hint} ${answer.text}`).toContain(code);
    return;
  }
  expect([200, 201], hint).toContain(answer.status);
  const result = operation.output.safeParse(answer.body);
  expect(result.success, `${hint} ${answer.text.slice(0, 500)} ${result.error?.message}`).toBe(
    true,
  );
  rememberIds(answer.body);
};

let requests = 0;
/** Lets a minute pass before a limit of the desk refuses the requests that a test is about. */
const countRequest = (): void => {
  requests += 1;
  if (requests % 1_000 === 0) app.clock.pause(MINUTE_MS);
};

const attack = (operation: Operation, base: string, numRuns: number, credential: () => string) =>
  fc.assert(
    fc.asyncProperty(inputsOf(operation), fc.nat(10_000), async (value, choice) => {
      countRequest();
      const request = requestOf(operation, base, withKnownIds(value, choice), choice);
      await judge(operation, request, credential());
    }),
    { numRuns, seed: SEED },
  );

describe('Random requests of agents', () => {
  it.each(
    Object.values(operations as unknown as Record<string, Operation>).map(
      (one) => [one.id, one] as const,
    ),
  )(
    'Random requests of agents get only answers that the contract of %s allows',
    async (id, operation) => {
      verifies('errors.5', 'resources.problem');
      await attack(operation, '/api/affiliate/v1', AGENT_RUNS, () => key);
      // Otherwise the requests tested no more than the shape of the input.
      expect(seen.get(`${id} done`) ?? 0, `seed=${SEED}`).toBeGreaterThan(AGENT_RUNS / 20);
      if (id !== 'getConnection')
        expect(seen.get(`${id} refused`) ?? 0, `seed=${SEED}`).toBeGreaterThan(AGENT_RUNS / 20);
    },
  );

  it('Random requests of agents write no event for another owner', async () => {
    for (const owner of ['other', 'desk', 'testacme']) {
      const events = await app.service.deps.log.readOwner(owner, { after: 0, limit: 10_000 });
      const strange = events.filter(
        ({ meta }) => meta.surface === 'rest' && meta.operation !== 'recordActivity',
      );
      expect(strange, `seed=${SEED}`).toEqual([]);
    }
  });
});

describe('Random requests at the desk', () => {
  it.each(
    Object.values(deskOperations as unknown as Record<string, Operation>).map(
      (one) => [one.id, one] as const,
    ),
  )(
    'Random requests at the desk get only answers that the contract of %s allows',
    (_id, operation) => attack(operation, '/api/desk/v1', DESK_RUNS, () => app.deskToken),
  );

  it('Random requests at the desk break no read of an agent', async () => {
    for (const path of ['/products?limit=100', '/leads?limit=100', '/performance', '/connection']) {
      const { key: fresh } = await app.agent('afterwards');
      const answer = await app.send({ method: 'GET', url: `/api/affiliate/v1${path}`, key: fresh });
      expect(answer.status, `seed=${SEED} ${path} ${answer.text}`).toBe(200);
    }
  });
});

const REGISTRY = Object.values(agentOperations as unknown as Record<string, Operation>);
const DESK = Object.values(deskOperations as unknown as Record<string, Operation>);
/** JSON-RPC's code of a failure that the caller did not cause. */
const INTERNAL_ERROR = -32_603;

describe('Random requests over protocols and pages', () => {
  it.each(REGISTRY.map((one) => [one.id, one] as const))(
    'Random calls of the tool for %s get no internal error over MCP',
    (id, operation) =>
      fc.assert(
        fc.asyncProperty(inputsOf(operation), fc.nat(10_000), async (value, choice) => {
          const input = withKnownIds(value, choice);
          const params = { name: toolName({ id }), arguments: input };
          const { status, body, text } = await mcpAgent(app, key).legacy('tools/call', params);
          const hint = `seed=${SEED} ${id} ${JSON.stringify(input)} ${text}`;
          expect(status, hint).toBeLessThan(500);
          expect(body.error?.code, hint).not.toBe(INTERNAL_ERROR);
        }),
        { numRuns: TOOL_RUNS, seed: SEED },
      ),
  );

  it('Random messages get no internal error over A2A', () => {
    const part = fc.record({ data: fc.oneof(...REGISTRY.map(inputsOf)) });
    const skills = ['prepare_handoff', 'performance_digest', 'coordinate_promotion', 'made_up'];
    return fc.assert(
      fc.asyncProperty(part, fc.constantFrom(...skills), fc.uuid(), async ({ data }, skill, id) => {
        const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
        const parts = [isObject ? { data: { skill, ...data } } : { data }];
        const message = { messageId: id, role: 'ROLE_USER', parts };
        const { status, error } = await rpc(app, key, 'SendMessage', { message });
        const hint = `seed=${SEED} ${JSON.stringify(message)} ${JSON.stringify(error)}`;
        expect(status, hint).toBeLessThan(500);
        expect((error as { code: number } | undefined)?.code, hint).not.toBe(INTERNAL_ERROR);
      }),
      { numRuns: SKILL_RUNS, seed: SEED },
    );
  });

  it('Random parameters and forms get no internal error from a page', async () => {
    const routes = (await routesOf(app.service.server)).filter(
      ({ path }) => !path.startsWith('/api/') && !path.includes('*'),
    );
    const fields = fc.dictionary(fc.string({ maxLength: 12 }), fc.string({ unit: 'grapheme' }));
    for (const { path, methods } of routes)
      await fc.assert(
        fc.asyncProperty(fields, fc.string(), fc.nat(10_000), async (form, name, choice) => {
          const method = methods[choice % methods.length];
          const at = path.replaceAll('a1B2', encodeURIComponent(name.toWellFormed()) || 'a');
          const pairs = Object.entries(form).map(([one, text]) => [
            one.toWellFormed(),
            text.toWellFormed(),
          ]);
          const text = new URLSearchParams(pairs).toString();
          const headers = { 'content-type': 'application/x-www-form-urlencoded' };
          const { status } = await app.send(
            method === 'POST'
              ? { method, url: at, payload: text, headers }
              : { method: method ?? 'GET', url: `${at}?${text}` },
          );
          // A service that is not ready says so with 503.
          expect(status, `seed=${SEED} ${method} ${at} ${text}`).toBeLessThan(500);
        }),
        { numRuns: PAGE_RUNS, seed: SEED },
      );
  });
});

/** A credential, and what it may do by the specification. */
type Credential = {
  name: string;
  secret: string;
  mayAct(scope: NeededScope): boolean;
  roles: readonly string[];
  /** May read of all owners. */
  seesAll?: boolean;
};

describe('Random requests with random credentials', () => {
  const MARK = 'Only the rival sees this';

  const credentials = async (): Promise<Credential[]> => {
    const nobody = { mayAct: () => false, roles: [] };
    const agent = async (owner: string, scopes: readonly string[], environment?: 'test') => ({
      name: `a key of ${owner} with ${scopes.join()}`,
      secret: (await app.agent(owner, scopes, environment)).key,
      mayAct: (needed: NeededScope) => allows(needed, new Set(scopes)),
      roles: [],
    });
    const ofDesk = async (roles: readonly string[], owner?: string) => ({
      name: `a token of ${roles.join()}`,
      seesAll: owner === undefined,
      secret: await person(app, roles, owner),
      mayAct: () => false,
      roles,
    });
    const { keyId, key: revoked } = await app.agent('acme');
    await app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Test' });
    return [
      { name: 'no key', secret: '', ...nobody },
      { name: 'no such key', secret: `trb_live_${'a'.repeat(12)}_${'b'.repeat(43)}`, ...nobody },
      { name: 'a revoked key', secret: revoked, ...nobody },
      await agent('acme', SCOPE_NAMES),
      await agent('acme', SCOPE_NAMES, 'test'),
      ...(await Promise.all(SCOPE_NAMES.map((scope) => agent('acme', [scope])))),
      await ofDesk(['owner'], 'acme'),
      await ofDesk(['auditor']),
      await ofDesk(['staff']),
    ];
  };

  it('Random requests with random credentials are done only where scopes and roles allow them, and show nothing of other owners', async () => {
    const rival = await app.agent('rival');
    const lead = { external_id: 'rival', company: { name: MARK, country: 'GB' } };
    const headers = { 'idempotency-key': 'rival' };
    const url = '/api/affiliate/v1/leads';
    await app.send({ method: 'POST', url, key: rival.key, payload: lead, headers });
    const known = await credentials();
    const asked = [
      ...Object.values(operations as unknown as Record<string, Operation>).map((operation) => ({
        operation,
        base: '/api/affiliate/v1',
      })),
      ...DESK.map((operation) => ({ operation, base: '/api/desk/v1' })),
    ];
    const calls = fc.oneof(
      ...asked.map((one) => inputsOf(one.operation).map((input) => ({ ...one, input }))),
    );
    const done = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        calls,
        fc.constantFrom(...known),
        fc.nat(10_000),
        async ({ operation, base, input }, credential, choice) => {
          countRequest();
          const request = requestOf(operation, base, withKnownIds(input, choice), choice);
          const { status, text } = await app.send({ ...request, key: credential.secret });
          const hint = `seed=${SEED} ${operation.id} with ${credential.name}: ${text.slice(0, 300)}`;
          expect(status, hint).toBeLessThan(500);
          const isAllowed = operation.roles
            ? operation.roles.some((role) => credential.roles.includes(role))
            : operation.scope !== undefined && credential.mayAct(operation.scope);
          if (!isAllowed) expect(status, hint).toBeGreaterThanOrEqual(400);
          if (status < 300) done.add(operation.id);
          if (!credential.seesAll) expect(text, hint).not.toContain(MARK);
        },
      ),
      { numRuns: CREDENTIAL_RUNS, seed: SEED },
    );
    // Otherwise all were refused for another reason. A longer run does no more operations: there are some hundred.
    expect(done.size).toBeGreaterThan(Math.min(CREDENTIAL_RUNS / 200, 20));
  });
});

describe('After random requests', () => {
  it.each(['acme', 'other', 'desk'])(
    'The history of %s verifies after random requests, whatever they left in it',
    (owner) => expectProved(app, [owner], `seed=${SEED}`),
  );
});
