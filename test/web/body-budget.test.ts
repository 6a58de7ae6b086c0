/** What one caller sends in bodies: it is bounded by number of faults, of fields, and of bytes a second. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import { type Parsable, parseFields, readInput } from '#src/calls/input.ts';
import { BASE as A2A, VERSION } from '../support/clients/a2a.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';

const BYTES_PER_SECOND = 1_048_576;
let app: TestApp;
let key: string;
let otherKey: string;
const buyer = reviews({ app: () => app, key: () => key });

beforeAll(async () => {
  app = await testApp({ BODY_BYTES_PER_SECOND: String(BYTES_PER_SECOND) });
  ({ key } = await app.agent('acme'));
  ({ key: otherKey } = await app.agent('other'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGE = 'x'.repeat(BYTES_PER_SECOND / 5);

type Sender = { url: string; headers: Record<string, string>; body(text: string): string };
const json = (url: string, more: object = {}): Sender => ({
  url,
  headers: { ...JSON_TYPE, 'idempotency-key': freshKey() },
  body: (text) => JSON.stringify({ ...more, text }),
});
/** The surfaces that take bodies. */
const SURFACES: Record<string, () => Promise<Sender & { key?: string; other?: string }>> = {
  rest: async () => ({ ...json(`${AGENT_BASE}/links`), key, other: otherKey }),
  mcp: async () => ({
    ...json('/api/affiliate/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }),
    key: (await app.agent('acme')).key,
    other: otherKey,
  }),
  a2a: async () => {
    const rpc = json(A2A, { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } });
    const headers = { ...rpc.headers, ...VERSION };
    return { ...rpc, headers, key: (await app.agent('acme')).key, other: otherKey };
  },
  desk: async () => ({ ...json(`${DESK_BASE}/agents`), key: app.deskToken }),
  form: async () => ({
    url: `${(await buyer.handoff()).path}/quantities`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: (text) => `name=${text}`,
  }),
};

describe.each(Object.entries(SURFACES))('The bodies of one caller over %s', (surface, sender) => {
  it('The bodies of one caller are refused beyond their bytes a second, and those of others are not', async () => {
    const { url, headers, body, key: own, other } = await sender();
    const send = (text: string, credential = own) =>
      app.send({ method: 'POST', url, headers, key: credential, payload: body(text) });
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await send(LARGE));
    const last = answers.pop();
    for (const { status } of answers) expect(status).not.toBe(429);
    expect(last?.status).toBe(429);
    expect(last?.headers['retry-after']).toBe('1');
    expect(last?.text).toContain(surface === 'form' ? 'Too' : `at most ${BYTES_PER_SECOND} bytes`);
    if (other) expect((await send(LARGE, other)).status).not.toBe(429);
    app.clock.pause(2_000);
    expect((await send(LARGE)).status).not.toBe(429);
  });
});

it('A form with too many fields is refused before they are read', async () => {
  const payload = 'a&'.repeat(LIMITS.JSON_MEMBERS_MAX + 1);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { path } = await buyer.handoff();
  const answer = await app.send({ method: 'POST', url: `${path}/quantities`, headers, payload });
  expect(answer.status).toBe(400);
});

describe('A refused input', () => {
  const OPERATIONS = Object.entries({
    ...agentOperations,
    ...deskOperations,
    ...holderOperations,
  }) as [string, Parsable<object>][];
  const WRONG = [null, 7, '', {}, { a: 1, b: 2 }];

  it.each(OPERATIONS)(
    'A refused input of %s names a bounded number of faults',
    (_name, operation) => {
      const unknown = Array.from({ length: 5_000 }, (_, n) => [`unknown_${n}`, n]);
      const fields = Object.keys((operation.input as unknown as { shape: object }).shape);
      const inputs = [
        Object.fromEntries(unknown),
        ...WRONG.map((item) =>
          Object.fromEntries(fields.map((name) => [name, Array(1_000).fill(item)])),
        ),
        Object.fromEntries(fields.map((name) => [name, Object.fromEntries(unknown)])),
      ];
      for (const input of inputs) {
        const parsed = parseFields(operation, input);
        const { errors = [], detail = '' } = 'refusal' in parsed ? parsed.refusal : {};
        expect(errors.length).toBeLessThanOrEqual(LIMITS.FAULTS_MAX);
        if (errors.length === LIMITS.FAULTS_MAX) expect(detail).toContain('More than 20 faults');
      }
    },
  );

  it('A refused input is read once at most behind the faults that are named, and not examined', () => {
    const wrong = { sku: '', quantity: 'x' };
    const items = Array.from({ length: LIMITS.HANDOFF_LINES_MAX }, (): object => wrong);
    let reads = 0;
    items[items.length - 1] = {
      get sku() {
        reads += 1;
        return '';
      },
    };
    const { input } = agentOperations.createHandoff;
    expect(readInput(input, { title: 'A', line_items: items })).toHaveProperty('faults');
    // To be read in its one meaning.
    expect(reads).toBeLessThanOrEqual(1);
  });
});
