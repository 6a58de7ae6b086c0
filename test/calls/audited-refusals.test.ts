/*
 * Requests that are refused before their operation runs: each leaves exactly one audit record, on every
 * surface. Refusals of a review link are counted over a minute, so that the link cannot grow the log.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { operations } from '#contracts/registries/agents.ts';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import { BASE as A2A, VERSION } from '../support/clients/a2a.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';

type Entry = EventData<'CallsAudited'>['entries'][number];

let app: TestApp;
let key: string;
const buyer = reviews({ app: () => app, key: () => key });
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

/** Returns the audit entries of `work`, and the number of events that contain them. */
const auditedDuring = async (
  work: () => Promise<void>,
): Promise<{ entries: Entry[]; events: number }> => {
  const { audit, log } = app.service.deps;
  await audit.flush();
  const { position: after } = await log.head();
  await work();
  await audit.flush();
  const written = await log.readAll({ after, limit: 10_000 });
  const audited = written.flatMap(({ type, data }) =>
    type === 'ActivityRecorded' || type === 'CallsAudited'
      ? [(data as EventData<'CallsAudited'>).entries]
      : [],
  );
  return { entries: audited.flat(), events: audited.length };
};

type Fault = { code: string; status: number; headers: Record<string, string>; payload: string };
const JSON_TYPE = { 'content-type': 'application/json' };
const OVER_ANY_LIMIT = 1_100_000;
/** Faults that are detected before an input is read. */
const FAULTS: Fault[] = [
  { code: 'malformed_json', status: 400, headers: JSON_TYPE, payload: '{"a":' },
  {
    code: 'unsupported_media_type',
    status: 415,
    headers: { 'content-type': 'text/plain' },
    payload: 'a',
  },
  {
    code: 'payload_too_large',
    status: 413,
    headers: JSON_TYPE,
    payload: JSON.stringify({ a: 'x'.repeat(OVER_ANY_LIMIT) }),
  },
];
const NOT_ACCEPTABLE: Fault = {
  code: 'not_acceptable',
  status: 406,
  headers: { ...JSON_TYPE, accept: 'application/xml' },
  payload: '{}',
};

const ROUTES = [
  ...Object.values(operations).map(({ id, http }) => ({ id, http, surface: 'rest' })),
  // A token is refused for what is done on a page, whatever its input.
  ...Object.values(deskOperations)
    // The token of the test is no promoter's.
    .filter(({ roles }) => roles.some((role) => role !== 'owner'))
    .filter((operation) => !('isOnPage' in operation))
    .map(({ id, http }) => ({ id, http, surface: 'desk' })),
];

const send = (surface: string, url: string, { headers, payload }: Omit<Fault, 'code' | 'status'>) =>
  app.send({
    method: 'POST',
    url,
    key: surface === 'desk' ? app.deskToken : key,
    payload,
    headers: { ...headers, 'idempotency-key': freshKey() },
  });

describe.each(['rest', 'desk'])(
  'A request to the %s surface whose input is not read',
  (surface) => {
    const base = surface === 'rest' ? AGENT_BASE : DESK_BASE;
    const writes = ROUTES.filter(
      (route) => route.surface === surface && route.http.method === 'POST',
    );

    it.each([...FAULTS, NOT_ACCEPTABLE])(
      'A request whose input is not read is audited once with $code and its operation',
      async (fault) => {
        expect(writes.length).toBeGreaterThan(0);
        for (const { id, http } of writes) {
          const { entries } = await auditedDuring(async () => {
            const { status, text } = await send(
              surface,
              base + http.path.replace(/\{.*?\}/g, 'x'),
              fault,
            );
            expect(status, `${id}: ${text}`).toBe(fault.status);
          });
          expect(entries, id).toMatchObject([
            { operation: id, surface, code: fault.code, count: 1 },
          ]);
          expect(entries, id).toHaveLength(1);
        }
      },
    );
  },
);

describe.each([
  ['mcp', '/api/affiliate/mcp'],
  ['a2a', A2A],
])('A message to the %s surface whose input is not read', (surface, url) => {
  it.each(FAULTS)('A message whose input is not read is audited once with $code', async (fault) => {
    const { entries } = await auditedDuring(async () => {
      await send(surface, url, { ...fault, headers: { ...fault.headers, ...VERSION } });
    });
    expect(entries).toMatchObject([{ surface, code: fault.code, count: 1 }]);
    expect(entries).toHaveLength(1);
  });
});

describe('The refusals of a review link', () => {
  it('Refusals of a review link are one event for any number of refusals within a minute', async () => {
    const { id, path } = await buyer.handoff();
    const json = { 'content-type': 'application/json' };
    const times = 5;
    const { entries, events } = await auditedDuring(async () => {
      for (let sent = 0; sent < times; sent += 1) {
        await buyer.post(`${path}/send`, { list_revision: '1' });
        await app.send({ method: 'POST', url: `${path}/send`, payload: '{}', headers: json });
        await buyer.post(`${path}/decline`, {}, { origin: 'https://elsewhere.example' });
      }
    });
    expect(entries.map(({ operation, code, count }) => [operation, code, count])).toEqual([
      ['submitRfq', 'validation_failed', times],
      ['submitRfq', 'unsupported_media_type', times],
      ['declineHandoff', 'origin_not_allowed', times],
    ]);
    expect(events).toBe(1);
    const { log } = app.service.deps;
    const [stored] = (await log.readOwner('acme', { after: 0, limit: 10_000 })).filter(
      ({ type }) => type === 'CallsAudited',
    );
    expect(stored?.data).toMatchObject({ actor: 'buyer', handoff_id: id });
    // The token gives access to the list: it is a credential.
    expect(JSON.stringify(stored)).not.toContain(path.split('/').at(-1));
  });

  it('Refusals of a review link are not audited if the link does not exist', async () => {
    const { entries } = await auditedDuring(async () => {
      const { status } = await buyer.post('/h/no-such-link-at-all/send', {});
      expect(status).toBe(404);
    });
    expect(entries).toEqual([]);
  });
});

describe('A person at the desk', () => {
  it('A person at the desk is audited for each read of personal data, and for no other read', async () => {
    const { id, path } = await buyer.handoff();
    await buyer.post(`${path}/send`, {
      list_revision: '1',
      name: 'Bea',
      email: 'bea@shop.example',
      consent: 'yes',
    });
    const { entries } = await auditedDuring(async () => {
      const rfq = await app.desk('GET', `/handoffs/${id}/rfq?owner_id=acme`);
      expect(rfq.status, rfq.text).toBe(200);
      expect((await app.desk('GET', '/agents?owner_id=acme')).status).toBe(200);
    });
    expect(entries).toMatchObject([{ operation: 'readRfq', surface: 'desk', decision: 'allowed' }]);
  });

  it('A person at the desk is audited once when the role is missing', async () => {
    const { body } = await app.desk('POST', '/desk-tokens', { name: 'A', roles: ['auditor'] });
    const { token } = body as { token: string };
    const { entries } = await auditedDuring(async () => {
      const answer = await app.send({
        method: 'POST',
        url: `${DESK_BASE}/agents`,
        key: token,
        payload: {},
      });
      expect(answer.status).toBe(403);
    });
    expect(entries).toMatchObject([
      { operation: 'requestAccess', code: 'role_missing', decision: 'denied', count: 1 },
    ]);
  });
});
