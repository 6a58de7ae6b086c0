/** Forms of a value that have one meaning are read, in every field of every operation; the fingerprint covers what was read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { agentOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { readInput } from '#src/calls/input.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { INPUTS_BY_OPERATION } from '../support/world/operation-inputs.ts';
import {
  inputSchema,
  type Path,
  type Place,
  placesOf,
  pointerOf,
  type Schema,
  withValue,
} from '../support/world/schema-values.ts';

type Operation = { id: string; input: z.ZodObject; examples?: readonly { input: object }[] };

const OPERATIONS = Object.values<Operation>({
  ...agentOperations,
  ...deskOperations,
  ...(taskOperations as unknown as Record<string, Operation>),
});
const inputOf = ({ id, examples = [] }: Operation): object =>
  INPUTS_BY_OPERATION[id] ?? examples[0]?.input ?? {};

/** Every place of every operation's input. */
const PLACES = OPERATIONS.flatMap((operation) =>
  placesOf(inputSchema(operation))
    .filter(({ path }) => path.length > 0)
    .map((place) => ({ ...place, operation })),
);

const read = ({ input }: Operation, raw: unknown) => readInput(input, raw);

/** The places where two forms of a value are read differently, of those that `formsOf` has two for. */
const differing = (
  formsOf: (schema: Schema) => readonly (readonly [form: unknown, plain: unknown])[],
): { different: string[]; accepted: number; walked: number } => {
  let [accepted, walked] = [0, 0];
  const different = PLACES.flatMap(({ operation, path, schema }) =>
    formsOf(schema).flatMap(([form, plain]) => {
      const base = inputOf(operation);
      const expected = read(operation, withValue(base, path, plain));
      walked += 1;
      if ('value' in expected) accepted += 1;
      const given = read(operation, withValue(base, path, form));
      return JSON.stringify(valueOf(given)) === JSON.stringify(valueOf(expected))
        ? []
        : [`${operation.id} ${pointerOf(path)} ${JSON.stringify(form)}`];
    }),
  );
  return { different, accepted, walked };
};

/** What was read, or where the faults are: their texts show what was sent. */
const valueOf = (result: ReturnType<typeof read>): unknown =>
  'value' in result ? result.value : result.faults.map(({ pointer, code }) => [pointer, code]);

const withoutMember = (base: unknown, path: Path): unknown => {
  const whole = structuredClone(withValue(base, path, null)) as object;
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((value, part) => (value as Record<Path[number], unknown>)[part], whole);
  delete (holder as Record<Path[number], unknown>)[path.at(-1) ?? ''];
  return whole;
};

const allowsNull = ({ type, anyOf = [] }: Schema): boolean =>
  type === 'null' || Object.keys({ type, anyOf }).length === 0 || anyOf.some(allowsNull);

/** Whether a place is a member that may be left out; of a record, every member may. */
const isOptional = ({ path, operation }: Place & { operation: Operation }): boolean => {
  const parent =
    PLACES.find(
      (one) => one.operation === operation && pointerOf(one.path) === pointerOf(path.slice(0, -1)),
    )?.schema ?? inputSchema(operation);
  const name = path.at(-1);
  return typeof name === 'string' && !(parent.required ?? []).includes(name);
};

const isNumber = ({ type }: Schema): boolean => type === 'integer' || type === 'number';

/** A valid item of a list. */
const itemOf = ({ type, enum: values, minimum = 1, pattern, properties }: Schema): unknown => {
  if (values) return values[0];
  if (properties) return { sku: 'MUG-1', quantity: 1 };
  if (type === 'integer') return minimum;
  return pattern?.replace(/^\^(\w+_).*$/, `$1${'0'.repeat(24)}`) ?? 'MUG-1';
};

describe('A value with one meaning', () => {
  it('Null is the same as an absent value in every optional field at every depth that gives null no meaning', () => {
    const optional = PLACES.filter((place) => isOptional(place) && !allowsNull(place.schema));
    expect(optional.length).toBeGreaterThan(150);
    expect(optional.some(({ path }) => path.length > 2)).toBe(true);
    const different = optional.flatMap(({ operation, path }) => {
      const base = inputOf(operation);
      const sent = read(operation, withValue(base, path, null));
      const absent = read(operation, withoutMember(base, path));
      return JSON.stringify(valueOf(sent)) === JSON.stringify(valueOf(absent))
        ? []
        : [`${operation.id} ${pointerOf(path)}`];
    });
    expect(different).toEqual([]);
  });

  it('Null keeps its meaning where a field accepts it', () => {
    const product = { sku: 'MUG-1', brand: null, source_updated_at: '2026-11-21' };
    const sent = read(deskOperations.importProducts, {
      ...inputOf(deskOperations.importProducts),
      products: [{ product }],
    });
    expect(JSON.stringify(sent)).toContain('"brand":null');
  });

  it('A number may be sent as text in every field', () => {
    const { different, accepted, walked } = differing((schema) =>
      isNumber(schema)
        ? [
            ['7', 7],
            ['7.0', 7],
            [' 7 ', 7],
            [String(Math.max(schema.minimum ?? 0, -9)), Math.max(schema.minimum ?? 0, -9)],
          ]
        : [],
    );
    expect(walked).toBeGreaterThan(100);
    expect(accepted).toBeGreaterThan(80);
    expect(different).toEqual([]);
  });

  it('A truth value may be sent as text or as a digit in every field', () => {
    const forms = [
      ['true', true],
      ['True', true],
      ['1', true],
      [1, true],
      ['false', false],
      ['FALSE', false],
      ['0', false],
    ] as const;
    const { different, accepted } = differing(({ type }) => (type === 'boolean' ? forms : []));
    expect(accepted).toBeGreaterThan(30);
    expect(different).toEqual([]);
  });

  it('A choice may be sent in other capitals in every field', () => {
    const { different, accepted } = differing(({ enum: values = [] }) =>
      values
        .filter((value) => typeof value === 'string')
        .flatMap((value) => [
          [value.toUpperCase(), value] as const,
          [value.charAt(0).toUpperCase() + value.slice(1), value] as const,
        ]),
    );
    expect(accepted).toBeGreaterThan(100);
    expect(different).toEqual([]);
  });

  it('One value may be sent for a list in every field', () => {
    const { different, accepted, walked } = differing(({ type, items }) =>
      type === 'array' && items ? [[itemOf(items), [itemOf(items)]]] : [],
    );
    expect(walked).toBeGreaterThan(15);
    expect(accepted).toBeGreaterThan(8);
    expect(different).toEqual([]);
  });

  it('A day, and other forms of ISO 8601 with an offset, may be sent for a time in every field', () => {
    const { different, accepted } = differing(({ format }) =>
      format === 'date-time'
        ? [
            ['2026-11-21', '2026-11-21T00:00:00Z'],
            ['2026-11-21T09:30Z', '2026-11-21T09:30:00Z'],
            ['2026-11-21 09:30+01', '2026-11-21T09:30:00+01:00'],
            ['2026-11-21t09:30:00z', '2026-11-21T09:30:00Z'],
            ['2026-11-21 09:30:00+0100', '2026-11-21T09:30:00+01:00'],
            ['2026-11-21T09:30:00 01:00', '2026-11-21T09:30:00+01:00'],
            ['2026-11-21 09:30:00.5-05', '2026-11-21T09:30:00.5-05:00'],
            ['2026-11-21T09:30:00.1234567+00:00', '2026-11-21T09:30:00.1234567+00:00'],
          ]
        : [],
    );
    expect(accepted).toBeGreaterThan(30);
    expect(different).toEqual([]);
  });

  it('Midnight may be sent for a day in every field', () => {
    const { different, accepted } = differing(({ format }) =>
      format === 'date'
        ? ['T00:00:00Z', 'T00:00:00', ' 00:00:00.000+00:00'].map(
            (clock) => [`2026-11-21${clock}`, '2026-11-21'] as const,
          )
        : [],
    );
    expect(accepted).toBeGreaterThan(10);
    expect(different).toEqual([]);
  });

  it('An empty cursor is the first page of every list', () => {
    const marks = PLACES.filter(
      ({ path, operation }) =>
        ['cursor', 'before', 'after'].includes(String(path.at(-1))) &&
        operation.id !== 'importProducts',
    );
    expect(marks.length).toBeGreaterThan(8);
    for (const { operation, path } of marks)
      expect([
        operation.id,
        valueOf(read(operation, withValue(inputOf(operation), path, ''))),
      ]).toEqual([
        operation.id,
        valueOf(read(operation, withValue(inputOf(operation), path, undefined))),
      ]);
  });

  it.each<[string, object, string]>([
    [
      'a time without an offset',
      { expires_at: '2026-11-21T09:30:00' },
      'must be a time like 2026-11-21T09:30:00Z',
    ],
    [
      'a time as a number',
      { expires_at: 1_795_000_000 },
      'must be a time like 2026-11-21T09:30:00Z, not a number',
    ],
    [
      'a number with a unit',
      { line_items: [{ sku: 'A', quantity: '5 pieces' }] },
      'must be a whole number from 1 to 100000000',
    ],
    [
      'a number with a comma',
      { line_items: [{ sku: 'A', quantity: '1,000' }] },
      'must be a whole number from 1 to 100000000',
    ],
    [
      'a text for an object',
      { line_items: 'MUG-1' },
      'must be a list of 1 to 1000 items, each an object with quantity',
    ],
  ])('A value with two meanings is refused with the right form: %s', (_what, given, detail) => {
    const base = inputOf(agentOperations.createHandoff);
    const result = read(agentOperations.createHandoff, { ...base, ...given });
    expect('faults' in result && result.faults[0]?.detail).toBe(detail);
  });
});

describe('The forms of a value', () => {
  const V1 = '/api/affiliate/v1';
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await testApp();
    ({ key } = await app.agent('acme'));
    await app.publish([
      feedProduct('MUG-1', { title: 'Stoneware mug', category: 'Mugs' }),
      feedProduct('BAG-1', { title: 'Jute bag', category: 'Bags' }),
    ]);
  });
  afterAll(() => app.close());

  const get = (path: string, headers = {}) =>
    app.send({ method: 'GET', url: V1 + path, key, headers });

  it('The forms of a value are one request: the fingerprint covers what was read, over REST and MCP', async () => {
    const plain = {
      title: 'Mugs',
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
      expires_at: `${new Date(app.clock.now() + 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`,
    };
    const written = {
      ...plain,
      line_items: { sku: 'MUG-1', quantity: '4', note: null, product_id: null },
      expires_at: plain.expires_at.slice(0, 10),
      note_to_buyer: null,
      buyer: null,
      metadata: null,
      external_id: null,
      idempotency_key: null,
    };
    const idempotencyKey = freshKey();
    const post = (payload: object) =>
      app.send({
        method: 'POST',
        url: `${V1}/handoffs`,
        key,
        payload,
        headers: { 'idempotency-key': idempotencyKey },
      });
    const first = await post(written);
    expect([first.status, first.body]).toMatchObject([201, { title: 'Mugs' }]);
    const again = await post(plain);
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
    const agent = mcpAgent(app, key);
    const called = await agent.legacy('tools/call', {
      name: 'create_handoff',
      arguments: { ...written, idempotency_key: idempotencyKey },
    });
    expect(called.body.result?._meta['replayed']).toBe(true);
  });

  it.each([
    'facets=category,brand',
    'facets=category&facets=brand',
    'facets[]=category&facets[]=brand',
    'facets%5B%5D=category&facets%5B%5D=brand',
    'facets[0]=category&facets[1]=brand',
    'facets[1]=brand&facets[0]=category',
    'facets[]=category,brand',
    'facets[]=Category&facets=BRAND',
  ])('The forms of a value include lists in a query as %s', async (query) => {
    const plain = await get('/products?facets=category,brand');
    const { status, body } = await get(`/products?${query}`);
    expect([status, (body as { facets: object }).facets]).toEqual([
      200,
      (plain.body as { facets: object }).facets,
    ]);
  });

  it('The forms of a value are read from a query', async () => {
    for (const query of [
      '/products?currency=gbp&cursor=&limit=5&sort=PRICE',
      '/products?updated_since=2026-01-01',
      '/leads?cursor=&updated_since=2026-01-01T00:00:00+01:00',
      '/performance?from=2026-11-01T00:00:00Z&group_by[]=Campaign&granularity=WEEK&cursor=',
    ])
      expect([query, (await get(query)).status]).toEqual([query, 200]);
  });

  it('The forms of a value are those of the file of a report also', async () => {
    const csv = await get('/performance?group_by=Campaign&granularity=TOTAL', {
      accept: 'text/csv',
    });
    expect(csv.text.split(',', 2)).toEqual(['bucket_start', 'campaign']);
  });

  it('The brackets of a list are refused for a field that is none', async () => {
    const { status, body } = await get('/products?limit[]=5');
    expect([status, body]).toMatchObject([
      400,
      { errors: [{ pointer: '/limit[]', code: 'unknown_field' }] },
    ]);
  });
});
