/** Repeated reads: each sees what changed since, and is checked, limited, counted and audited. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { activityOf } from '../support/clients/mcp.ts';
import { exchange, type RawAnswer } from '../support/clients/raw-http.ts';

const V1 = '/api/affiliate/v1';
const LEADS = `${V1}/leads`;

let app: TestApp;
let url: string;

beforeAll(async () => {
  app = await testApp();
  url = await app.service.listen();
});
afterAll(async () => {
  await app.close();
});

const ask = async (
  key: string,
  path: string,
  more: readonly string[] = [],
  at = url,
): Promise<RawAnswer> => {
  const head = [`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...more];
  const { answers } = await exchange(at, `${head.join('\r\n')}\r\n\r\n`);
  const [answer] = answers;
  if (!answer) throw new Error(`${path} was not answered`);
  return answer;
};

/** Reads a URL twice. */
const settle = async (key: string, path: string, at = url): Promise<void> => {
  for (let i = 0; i < 2; i++) await ask(key, path, [], at);
};

/** Headers that differ between two equal answers. */
const OWN = ['request-id', 'ratelimit', 'date', 'connection', 'keep-alive'];
const lasting = ({ headers }: RawAnswer): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name)));

const lead = (key: string, externalId: string) =>
  app.send({
    method: 'POST',
    url: LEADS,
    key,
    payload: {
      external_id: externalId,
      company: { name: 'Corner Shop', country: 'GB' },
      contact: { name: 'Ada Byron', email: `${externalId}@shop.example` },
      consent: { basis: 'consent', obtained_at: '2026-01-10T09:00:00Z' },
    },
    headers: { 'idempotency-key': freshKey() },
  });

describe('A repeated read', () => {
  it('A repeated read answers the same bytes and headers under a request id of its own', async () => {
    await app.publish([feedProduct('CUP-1', { title: 'Tässchen, 3 € das Stück' })]);
    const { key } = await app.agent('same');
    await lead(key, 'same-1');
    for (const path of [`${V1}/products?q=t%C3%A4sschen`, LEADS, `${V1}/performance`]) {
      const first = await ask(key, path);
      const second = await ask(key, path);
      expect(first.status).toBe(200);
      expect(second.text).toBe(first.text);
      expect(lasting(second)).toEqual(lasting(first));
      expect(second.headers['request-id']).not.toBe(first.headers['request-id']);
    }
    expect((await ask(key, `${V1}/products?q=t%C3%A4sschen`)).text).toContain('3 €');
  });

  it('A repeated read is audited with its count', async () => {
    const { key, agentId } = await app.agent('record');
    for (let i = 0; i < 3; i++) await ask(key, LEADS);
    const reads = (await activityOf(app, agentId)).filter(
      ({ operation }) => operation === 'listLeads',
    );
    expect(reads).toMatchObject([{ surface: 'rest', decision: 'allowed', count: 3 }]);
  });

  it('A repeated read is counted in the metrics', async () => {
    const { key } = await app.agent('counted');
    const counted = async (): Promise<number> => {
      const text = await app.service.deps.metrics?.text(null);
      const line = /^\S+requests_total\{[^}]*operation="listLeads"[^}]*outcome="ok"[^}]*\} (\d+)/m;
      return Number(line.exec(text ?? '')?.[1] ?? 0);
    };
    await settle(key, LEADS);
    const before = await counted();
    await ask(key, LEADS);
    expect(await counted()).toBe(before + 1);
  });

  it('A repeated read shows a lead that was submitted since the last read', async () => {
    const { key } = await app.agent('moved');
    await settle(key, LEADS);
    await lead(key, 'moved-1');
    expect((await ask(key, LEADS)).text).toContain('moved-1');
  });

  it('A repeated read is refused when it presents a consistency token of another log', async () => {
    const { key } = await app.agent('token');
    await settle(key, LEADS);
    const { headers } = await ask(key, LEADS);
    const own = await ask(key, LEADS, [`Consistency-Token: ${headers['consistency-token']}`]);
    expect(own.status).toBe(200);
    const strange = await ask(key, LEADS, ['Consistency-Token: c29tZTphdA']);
    expect(strange.status).toBe(400);
  });

  it('A repeated read answers each agent and each media type separately', async () => {
    const { key } = await app.agent('mine');
    const other = await app.agent('theirs');
    await lead(key, 'mine-1');
    await settle(key, LEADS);
    expect((await ask(other.key, LEADS)).text).not.toContain('mine-1');
    const csv = await ask(key, `${V1}/performance`, ['Accept: text/csv']);
    const json = await ask(key, `${V1}/performance`);
    expect([csv.headers['content-type'], json.headers['content-type']]).toEqual([
      'text/csv; charset=utf-8',
      'application/json; charset=utf-8',
    ]);
  });
});

describe('A repeated read', () => {
  it('A repeated read is refused when its key was revoked or its agent suspended since', async () => {
    for (const [owner, end, code] of [
      ['revoked', (id: string, _agent: string) => `/keys/${id}/revoke`, 'credential_revoked'],
      ['suspended', (_id: string, agent: string) => `/agents/${agent}/suspend`, 'agent_suspended'],
    ] as const) {
      const { key, keyId, agentId } = await app.agent(owner);
      await settle(key, LEADS);
      await app.desk('POST', end(keyId, agentId), { reason: 'Leaked' });
      const answer = await ask(key, LEADS);
      expect(JSON.parse(answer.text)).toMatchObject({ code });
    }
  });

  it('A repeated read is refused when its agent has lost the scope since', async () => {
    const { key, agentId } = await app.agent('narrowed');
    // Of the catalog, because no event of the owner changes this answer.
    const search = `${V1}/products?q=mug`;
    await settle(key, search);
    const less = { scopes: ['links:write'], reason: 'Less' };
    expect((await app.desk('POST', `/agents/${agentId}/approve`, less)).status).toBe(200);
    expect(JSON.parse((await ask(key, search)).text)).toMatchObject({ code: 'scope_missing' });
  });

  it('A repeated read is refused when its headers are not acceptable', async () => {
    const { key } = await app.agent('sound');
    await settle(key, LEADS);
    for (const [line, status] of [
      ['Host: y', 400],
      ['Expect: rain', 400],
      ['Content-Encoding: gzip', 415],
      ['Authorization: Basic eA', 400],
      ['Content-Type: text/plain\r\nContent-Type: text/plain', 400],
    ] as const) {
      expect((await ask(key, LEADS, [line])).status, line).toBe(status);
    }
  });

  it('A repeated read is refused above the rate limit, and shows the end of a rotated key', async () => {
    const small = await testApp({ READS_PER_MINUTE: '4' });
    const at = await small.service.listen();
    const { key, keyId } = await small.agent('limited');
    await small.desk('POST', `/keys/${keyId}/rotate`, { overlap_hours: 24 });
    const answers: RawAnswer[] = [];
    for (let i = 0; i < 5; i++) answers.push(await ask(key, LEADS, [], at));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
    for (const { headers } of answers.slice(0, 4)) expect(headers['key-expires']).toMatch(/GMT$/);
    expect(answers[4]?.headers['retry-after']).toMatch(/^\d+$/);
    await small.close();
  });

  it('A repeated read has no body as a HEAD request', async () => {
    const { key } = await app.agent('head');
    await settle(key, LEADS);
    const answer = await fetch(url + LEADS, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${key}` },
    });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});
