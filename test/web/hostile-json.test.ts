/** Bodies that no operation may accept: each gets a problem that names the place, and nothing is stored. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { operations } from '#contracts/registries/agents.ts';
import { placeOf } from '#contracts/places.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { expectProblem, prototypeNames } from '../support/world/problems.ts';
import type { Path, Place, Schema } from '../support/world/schema-values.ts';
import {
  inputSchema,
  placesOf,
  pointerOf,
  withValue,
  wrongValues,
} from '../support/world/schema-values.ts';
import { verifies } from '../support/source/verifies.ts';

/** Refusals are audited; nothing else of them is stored. */
const AUDIT_RECORDS = new Set(['ActivityRecorded', 'CallsAudited']);
/** The log is in memory, because the disk would slow down thousands of audited refusals. */
const SETTINGS = {
  WRITES_PER_MINUTE: '1000000',
  READS_PER_MINUTE: '1000000',
};
const before = prototypeNames();
let app: TestApp;
let key: string;
let written: () => Promise<string[]>;

beforeAll(async () => {
  app = await testApp(SETTINGS);
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1', { category: 'Mugs' })]);
  const { log, audit } = app.service.deps;
  await audit.flush();
  const { position: after } = await log.head();
  written = async () => {
    await audit.flush();
    const events = await log.readAll({ after, limit: 10_000 });
    return events.map(({ type }) => type).filter((type) => !AUDIT_RECORDS.has(type));
  };
});
afterAll(async () => {
  expect(prototypeNames()).toBe(before);
  await app.close();
});

const LINKS = '/api/affiliate/v1/links';

const raw = (payload: string | Buffer, url = LINKS, credential = key) =>
  app.send({
    method: 'POST',
    url,
    key: credential,
    payload,
    headers: { 'content-type': 'application/json', 'idempotency-key': freshKey() },
  });

const good = '"target":{"kind":"search","ref":"mugs"}';
const deep = (levels: number) =>
  `{${good},"metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;

type Expected = { code: string; pointer?: string; fault?: string };
const RAW: Record<string, [string | Buffer, Expected]> = {
  'a name twice': [
    `{${good},"slug":"abc","slug":"abd"}`,
    { code: 'malformed_request', pointer: '/slug', fault: 'duplicate_name' },
  ],
  'a name twice, once escaped': [
    `{${good},"slug":"abc","\\u0073lug":"abd"}`,
    { code: 'malformed_request', pointer: '/slug', fault: 'duplicate_name' },
  ],
  'a nested name twice': [
    '{"target":{"kind":"search","ref":"a","ref":"b"}}',
    { code: 'malformed_request', pointer: '/target/ref', fault: 'duplicate_name' },
  ],
  '17 levels': [deep(16), { code: 'malformed_request', fault: 'too_deep' }],
  '2,000 levels': [deep(2_000), { code: 'malformed_request', fault: 'too_deep' }],
  '40,000 levels': [deep(40_000), { code: 'malformed_request', fault: 'too_deep' }],
  '200,000 open brackets': ['['.repeat(200_000), { code: 'malformed_request', fault: 'too_deep' }],
  '200,000 closed brackets': [']'.repeat(200_000), { code: 'malformed_json' }],
  '10,001 members': [
    `{${good},"sub_ids":[${'1,'.repeat(10_000)}1]}`,
    { code: 'malformed_request', fault: 'too_many' },
  ],
  'half a surrogate pair': [
    `{${good},"campaign":"\\ud800"}`,
    { code: 'malformed_request', pointer: '/campaign', fault: 'lone_surrogate' },
  ],
  'half a surrogate pair in a name': [
    `{${good},"\\udfff":"a"}`,
    { code: 'malformed_request', pointer: '/\ufffd', fault: 'lone_surrogate' },
  ],
  '1e400': [
    `{${good},"metadata":{"a":1e400}}`,
    { code: 'malformed_request', pointer: '/metadata/a', fault: 'number_out_of_range' },
  ],
  '2^53+1': [
    `{${good},"metadata":{"a":9007199254740993}}`,
    { code: 'malformed_request', pointer: '/metadata/a', fault: 'number_out_of_range' },
  ],
  'a number of 250,000 digits': [
    `{${good},"metadata":{"a":${'9'.repeat(250_000)}}}`,
    { code: 'malformed_request', pointer: '/metadata/a', fault: 'number_out_of_range' },
  ],
  NaN: [`{${good},"metadata":{"a":NaN}}`, { code: 'malformed_json' }],
  'a number in hex': [`{${good},"metadata":{"a":0x10}}`, { code: 'malformed_json' }],
  'a number with a leading zero': [`{${good},"metadata":{"a":01}}`, { code: 'malformed_json' }],
  'the name __proto__': [
    `{${good},"__proto__":{"admin":true}}`,
    { code: 'malformed_request', pointer: '/__proto__', fault: 'reserved_name' },
  ],
  'the name __proto__, escaped': [
    `{${good},"\\u005f\\u005fproto__":{"admin":true}}`,
    { code: 'malformed_request', pointer: '/__proto__', fault: 'reserved_name' },
  ],
  'the nested name __proto__': [
    `{${good},"metadata":{"__proto__":"a"}}`,
    { code: 'malformed_request', pointer: '/metadata/__proto__', fault: 'reserved_name' },
  ],
  'constructor.prototype': [
    `{${good},"constructor":{"prototype":{"admin":true}}}`,
    { code: 'malformed_request', pointer: '/constructor/prototype', fault: 'reserved_name' },
  ],
  'the name constructor': [
    `{${good},"constructor":"a"}`,
    { code: 'validation_failed', pointer: '/constructor', fault: 'unknown_field' },
  ],
  'toString in metadata': [
    `{${good},"metadata":{"toString":"a"}}`,
    { code: 'validation_failed', pointer: '/metadata/toString' },
  ],
  'an array': ['[1,2]', { code: 'validation_failed', pointer: '' }],
  'a string': ['"links"', { code: 'validation_failed', pointer: '' }],
  null: ['null', { code: 'validation_failed', pointer: '' }],
  'a number': ['7', { code: 'validation_failed', pointer: '' }],
  'an empty object': ['{}', { code: 'validation_failed', pointer: '/target', fault: 'required' }],
  'two byte order marks': [`\ufeff\ufeff{${good}}`, { code: 'malformed_json' }],
  'bytes that are not UTF-8': [
    Buffer.from(`{${good},"campaign":"\xff\xfe"}`, 'latin1'),
    { code: 'malformed_json' },
  ],
  'an overlong encoding': [
    Buffer.from(`{${good},"campaign":"\xc0\xaf"}`, 'latin1'),
    { code: 'malformed_json' },
  ],
  'a surrogate in UTF-8': [
    Buffer.from(`{${good},"campaign":"\xed\xa0\x80"}`, 'latin1'),
    { code: 'malformed_json' },
  ],
  'UTF-16': [Buffer.from(`{${good}}`, 'utf16le'), { code: 'malformed_json' }],
  'spaces only': ['   ', { code: 'malformed_json' }],
  'half an object': [`{${good}`, { code: 'malformed_json' }],
  'two objects': [`{${good}}{}`, { code: 'malformed_json' }],
  'a comment': [`{${good}/* hello */}`, { code: 'malformed_json' }],
  'a trailing comma': [`{${good},}`, { code: 'malformed_json' }],
  'an idempotency key': [
    `{${good},"idempotency_key":"a"}`,
    { code: 'validation_failed', pointer: '/idempotency_key', fault: 'unknown_field' },
  ],
  'an owner': [
    `{${good},"owner_id":"other"}`,
    { code: 'validation_failed', pointer: '/owner_id', fault: 'unknown_field' },
  ],
};

describe('A raw body', () => {
  it.each(Object.entries(RAW))(
    'A raw body with %s gets a problem, and is not stored',
    async (name, [payload, { code, pointer, fault }]) => {
      const problem = expectProblem(await raw(payload), name);
      expect(problem.code).toBe(code);
      if (pointer !== undefined)
        expect(problem.errors?.map((error) => error.pointer)).toContain(pointer);
      if (fault !== undefined) expect(problem.errors?.map((error) => error.code)).toContain(fault);
      expect(await written()).toEqual([]);
    },
  );

  it('A raw body gets an answer of limited size that repeats no API key', async () => {
    const many = Array.from({ length: 9_000 }, (_, n) => `"unknown${n}":1`).join();
    const long = await raw(`{${good},${many}}`);
    expect(expectProblem(long).errors).toHaveLength(LIMITS.FAULTS_MAX);
    const wide = await raw(`{${good},"${'~/'.repeat(60_000)}":1}`);
    expect(expectProblem(wide).code).toBe('validation_failed');
    expect(wide.text.length).toBeLessThan(2_000);
    const leaked = await raw(`{${good},"${key}":1}`);
    expect(leaked.status).toBeGreaterThanOrEqual(400);
    expect(leaked.text).not.toContain(key);
    expect(expectProblem(leaked).code).toMatch(/^(validation_failed|secret_in_payload)$/);
  });
});

type Write = {
  id: string;
  url: string;
  desk: boolean;
  base: Record<string, unknown>;
  schema: Schema;
};

const writesOf = (): Write[] =>
  [
    ...Object.values(operations).map((operation) => ({ operation, desk: false })),
    // A token is refused for what is done on a page, whatever its input.
    ...Object.values(deskOperations)
      .filter((operation) => !('isOnPage' in operation))
      // The token of the test is no promoter's.
      .filter(({ roles }) => roles.some((role) => role !== 'owner'))
      .map((operation) => ({ operation, desk: true })),
  ].flatMap(({ operation, desk }) => {
    if (operation.kind !== 'command') return [];
    const input: Record<string, unknown> = { ...operation.examples[0]?.input };
    const path = operation.http.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      String(input[name]),
    );
    const inBody = (name: string) => placeOf(operation, name) === 'body';
    const base = Object.fromEntries(Object.entries(input).filter(([name]) => inBody(name)));
    const schema = inputSchema(operation);
    const properties = Object.entries(schema.properties ?? {}).filter(([name]) => inBody(name));
    const url = (desk ? '/api/desk/v1' : '/api/affiliate/v1') + path;
    return [
      {
        id: operation.id,
        url,
        desk,
        base,
        schema: { ...schema, properties: Object.fromEntries(properties) },
      },
    ];
  });

const refused = async ({ id, url, desk, base }: Write, path: Path, value: unknown) => {
  const payload = JSON.stringify(withValue(base, path, value));
  const hint = `${id} ${pointerOf(path)} = ${JSON.stringify(value)?.slice(0, 60)}`;
  const answer = await raw(payload, url, desk ? app.deskToken : key);
  expect(answer.status, `${hint} ${answer.text.slice(0, 200)}`).toBeGreaterThanOrEqual(400);
  return { problem: expectProblem(answer, hint), hint };
};

/** Whether a pointer names the place or a value around it, because a wrong item can be a fault of its list. */
const pointsAt = (pointers: string[], path: Path): boolean =>
  path.some((_, index) => index > 0 && pointers.includes(pointerOf(path.slice(0, index)))) ||
  pointers.some((pointer) => pointer.startsWith(pointerOf(path)));

/** Identifiers lose what cannot be seen, where other texts are refused with it. */
const LOSES = /external_id|campaign|sku|sub_ids|source\/ref/;

describe.each(writesOf().map((write) => [write.id, write] as const))(
  'The operation %s',
  (_id, write) => {
    it('A refusal names a field of a wrong type or out of bounds', async () => {
      verifies('errors.5');
      const places = placesOf(write.schema).filter(({ path }) => path.length > 0);
      for (const { path, ...place } of places)
        for (const value of wrongValues(place)) {
          const { problem, hint } = await refused(write, path, value);
          expect(['validation_failed', 'malformed_request', 'consent_missing'], hint).toContain(
            problem.code,
          );
          const pointers = problem.errors?.map(({ pointer }) => pointer) ?? [];
          expect(pointsAt(pointers, path), `${hint}: ${pointers.join(' ')}`).toBe(true);
        }
    });

    it('A refusal names an unknown field at any level', async () => {
      const isClosed = ({ schema }: Place) =>
        schema.properties !== undefined && (!write.desk || schema.additionalProperties === false);
      for (const { path } of placesOf(write.schema).filter(isClosed))
        for (const name of ['surprise', 'owner_id2', 'hasOwnProperty', 'a/b~c', '']) {
          const place = [...path, name];
          const { problem, hint } = await refused(write, place, 1);
          const faults = problem.errors?.map(({ pointer, code }) => [pointer, code]);
          expect(faults, hint).toContainEqual([pointerOf(place), 'unknown_field']);
        }
    });

    it('A refusal names a field with invisible characters', async () => {
      if (write.desk) return;
      const texts = placesOf(write.schema).filter(
        ({ schema, path }) => schema.type === 'string' && !LOSES.test(path.join('/')),
      );
      for (const { path } of texts)
        for (const hidden of [
          '\u0000',
          '\u001b[31m',
          '\u202e',
          '\u200b',
          '\u2066',
          '\ufeff',
          '\u{e0041}',
          '\r',
        ]) {
          const { problem, hint } = await refused(write, path, `a${hidden}b`);
          const pointers = problem.errors?.map(({ pointer }) => pointer) ?? [];
          expect(pointers, hint).toContain(pointerOf(path));
        }
    });

    it('An operation stored no event for all its refused requests', async () => {
      expect(await written()).toEqual([]);
    });
  },
);

describe('A value that only its meaning makes wrong', () => {
  const get = (path: string) => app.send({ method: 'GET', url: `/api/affiliate/v1${path}`, key });

  it('A day at an end of the calendar is answered or refused', async () => {
    const days = [
      'from=0000-01-01&to=0000-01-03',
      'from=0001-01-01&to=0001-01-03',
      'from=9999-12-01&to=9999-12-31',
    ];
    for (const period of days)
      for (const granularity of ['day', 'week', 'month', 'total'])
        for (const compare of ['', '&compare_to=previous_period', '&compare_to=previous_year']) {
          const answer = await get(`/performance?${period}&granularity=${granularity}${compare}`);
          if (answer.status !== 200)
            expect(expectProblem(answer, period + compare).code).toBe('parameter_invalid');
        }
  });

  it('A parameter that would reach a prototype is refused by name', async () => {
    for (const query of [
      '__proto__=1',
      '__proto__=1&__proto__=2',
      'constructor=1',
      'constructor[prototype]=1',
      'toString=1',
    ]) {
      const problem = expectProblem(await get(`/products?${query}`), query);
      expect(problem.errors?.[0]?.code).toBe('unknown_field');
    }
    expect(prototypeNames()).toBe(before);
  });

  it('A product that could not be shown to agents is refused at the desk', async () => {
    const tier = { min_quantity: 1, unit_price: 1 };
    const BAD: [object, object][] = [
      [{ currency: 'pounds' }, {}],
      [{ price_tiers: [{ ...tier, unit_price: 0.5 }] }, {}],
      [{ price_tiers: [{ ...tier, unit_price: -5 }] }, {}],
      [{ price_tiers: [{ ...tier, min_quantity: 1.5 }] }, {}],
      [{ moq: 1.5 }, {}],
      [{ increment: 2 ** 40 }, {}],
      [{ lead_time_days: -1 }, {}],
      [{ title: 'a\u202eb\u0000' }, {}],
      [{ title: '' }, {}],
      [{ category: 'x'.repeat(5_000) }, {}],
      [{ origin_country: 'zzz' }, {}],
      [{}, { available_quantity: -3.5 }],
    ];
    for (const [index, [product, stock]] of BAD.entries()) {
      const products = [feedProduct(`BAD-${index}`, product, stock)];
      const answer = await app.desk('POST', '/products/import', { products });
      const hint = JSON.stringify([product, stock]).slice(0, 80);
      expect(answer.status, hint).toBe(422);
      expect(expectProblem(answer, hint).errors?.[0]?.pointer).toMatch(/^\/products\/0/);
    }
    expect((await get('/products?limit=100')).status).toBe(200);
  });
});
