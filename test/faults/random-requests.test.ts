/** Random requests, from valid to arbitrary, get only answers that the contract allows and never a 5xx. */
import { env } from 'node:process';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { deskOperations } from '#contracts/registries/desk.ts';
import { operations } from '#contracts/registries/agents.ts';
import { placeOf } from '#contracts/places.ts';
import { type ProblemCode, UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { expectProblem, prototypeNames } from '../support/world/problems.ts';
import { anything, likeExample, nearlyValid, valid } from '../support/world/schema-arbitrary.ts';
import { inputSchema } from '../support/world/schema-values.ts';
import { verifies } from '../support/source/verifies.ts';

/** Failures print the seed; setting it repeats the requests. */
const SEED = Number(env['SEED'] ?? process.hrtime.bigint() % 2_147_483_647n);
const AGENT_RUNS = 400;
const DESK_RUNS = 60;

type Operation = {
  id: string;
  kind: 'query' | 'command';
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

const attack = (operation: Operation, base: string, numRuns: number, credential: () => string) => {
  const schema = inputSchema(operation);
  // Without key and slug, because the example would be the same intent in every call.
  const { idempotency_key: _key, slug: _slug, ...example } = operation.examples[0]?.input ?? {};
  const input = fc.oneof(
    { weight: 3, arbitrary: valid(schema) },
    { weight: 3, arbitrary: nearlyValid(schema) },
    { weight: 3, arbitrary: likeExample(schema, example) },
    { weight: 1, arbitrary: anything },
  );
  return fc.assert(
    fc.asyncProperty(input, fc.nat(10_000), async (value, choice) => {
      const request = requestOf(operation, base, withKnownIds(value, choice), choice);
      await judge(operation, request, credential());
    }),
    { numRuns, seed: SEED },
  );
};

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
