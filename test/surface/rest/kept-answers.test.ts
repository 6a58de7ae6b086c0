/** Reads that are asked again: answered by what was kept, and never by what is no longer so. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestApp } from '../../support/world/app.ts';
import { feedProduct, freshKey, testApp } from '../../support/world/app.ts';
import { activityOf } from '../../support/clients/mcp.ts';
import type { RawAnswer } from '../../support/clients/raw-http.ts';
import { exchange } from '../../support/clients/raw-http.ts';

const V1 = '/api/affiliate/v1';
const LEADS = `${V1}/leads`;

let app: TestApp;
let url: string;
let kept: () => number;

/** Answers that were found where they are kept; every one of them is one that might be sent. */
const counting = (of: TestApp): (() => number) => {
  const find = vi.spyOn(of.service.deps.answers, 'find');
  return () => find.mock.results.filter(({ value }) => value !== undefined).length;
};

beforeAll(async () => {
  app = await testApp();
  url = await app.service.listen();
  kept = counting(app);
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

/** Asked twice: the next time it is answered by what is kept. */
const settle = async (key: string, path: string, at = url): Promise<void> => {
  for (let i = 0; i < 2; i++) await ask(key, path, [], at);
};

/** What differs from one answer to the next whatever it says. */
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

describe('a read that is asked again', () => {
  it('gets the same bytes and headers, and has an id of its own', async () => {
    await app.publish([feedProduct('CUP-1', { title: 'Tässchen, 3 € das Stück' })]);
    const { key } = await app.agent('same');
    await lead(key, 'same-1');
    for (const path of [`${V1}/products?q=t%C3%A4sschen`, LEADS, `${V1}/performance`]) {
      const before = kept();
      const first = await ask(key, path);
      await ask(key, path);
      // Most are never asked again: the first answer is not kept.
      expect(kept() - before, path).toBe(0);
      const third = await ask(key, path);
      expect(kept() - before, path).toBe(1);
      expect(first.status).toBe(200);
      expect(third.text).toBe(first.text);
      expect(lasting(third)).toEqual(lasting(first));
      expect(third.headers['request-id']).not.toBe(first.headers['request-id']);
    }
    expect((await ask(key, `${V1}/products?q=t%C3%A4sschen`)).text).toContain('3 €');
  });

  it('is on the record of its agent like any other', async () => {
    const { key, agentId } = await app.agent('record');
    for (let i = 0; i < 3; i++) await ask(key, LEADS);
    const reads = (await activityOf(app, agentId)).filter(
      ({ operation }) => operation === 'listLeads',
    );
    expect(reads).toMatchObject([{ surface: 'rest', decision: 'allowed', count: 3 }]);
  });

  it('is counted like any other', async () => {
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

  it('sees what has happened to its owner since', async () => {
    const { key } = await app.agent('moved');
    await settle(key, LEADS);
    await lead(key, 'moved-1');
    expect((await ask(key, LEADS)).text).toContain('moved-1');
  });

  it('is made afresh after a second, because time changes states, too', async () => {
    const { key } = await app.agent('later');
    await settle(key, LEADS);
    app.clock.advance(1_000);
    const before = kept();
    await ask(key, LEADS);
    expect(kept()).toBe(before);
  });

  it('waits for a token that it shows, and is told anew who it is', async () => {
    const { key } = await app.agent('token');
    await settle(key, LEADS);
    const { headers } = await ask(key, LEADS);
    const before = kept();
    await ask(key, LEADS, [`Consistency-Token: ${headers['consistency-token']}`]);
    for (let i = 0; i < 2; i++) await ask(key, `${V1}/connection`);
    expect(kept()).toBe(before);
    const strange = await ask(key, LEADS, ['Consistency-Token: c29tZTphdA']);
    expect(strange.status).toBe(400);
  });

  it('of another agent, or in another form, is another', async () => {
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

describe('what is kept is not sent', () => {
  it('to a key that was revoked, or whose agent was suspended', async () => {
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

  it('to an agent whose scopes are fewer by now', async () => {
    const { key, agentId } = await app.agent('narrowed');
    // Of the catalog: nothing that happens to its owner makes it another.
    const search = `${V1}/products?q=mug`;
    await settle(key, search);
    const before = kept();
    const less = { scopes: ['links:write'], reason: 'Less' };
    expect((await app.desk('POST', `/agents/${agentId}/approve`, less)).status).toBe(200);
    expect(JSON.parse((await ask(key, search)).text)).toMatchObject({ code: 'scope_missing' });
    expect(kept()).toBe(before + 1);
  });

  it('to a request that is not sound', async () => {
    const { key } = await app.agent('sound');
    await settle(key, LEADS);
    for (const [line, status] of [
      ['Host: y', 400],
      ['Expect: rain', 400],
      ['Content-Encoding: gzip', 415],
      ['Authorization: Basic eA', 400],
      ['Content-Type: text/plain\r\nContent-Type: text/plain', 400],
    ] as const) {
      const before = kept();
      expect((await ask(key, LEADS, [line])).status, line).toBe(status);
      expect(kept(), line).toBe(before + 1);
    }
  });

  it('beyond the limit; and a key on its way out is told so', async () => {
    const small = await testApp({ READS_PER_MINUTE: '4' });
    const at = await small.service.listen();
    const found = counting(small);
    const { key, keyId } = await small.agent('limited');
    await small.desk('POST', `/keys/${keyId}/rotate`, { overlap_hours: 24 });
    const answers: RawAnswer[] = [];
    for (let i = 0; i < 5; i++) answers.push(await ask(key, LEADS, [], at));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
    expect(found()).toBe(3);
    for (const { headers } of answers.slice(0, 4)) {
      expect(headers['deprecation']).toMatch(/^@\d+$/);
      expect(headers['sunset']).toMatch(/GMT$/);
    }
    expect(answers[4]?.headers['retry-after']).toMatch(/^\d+$/);
    await small.close();
  });

  it('to a HEAD, which has no body', async () => {
    const { key } = await app.agent('head');
    await settle(key, LEADS);
    const answer = await fetch(url + LEADS, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${key}` },
    });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});
