/** Credentials in every state and in every wrong place. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { LIMITS } from '#contracts/limits.ts';
import { mintCredential } from '#src/calls/authenticate.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { agentKey, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { expectProblem } from '../support/world/problems.ts';
import { verifies } from '../support/source/verifies.ts';

const DAY_MS = 86_400_000;
const V1 = '/api/affiliate/v1';
const { fresh, removeAll } = directories('credentials-');
let app: TestApp;
let addresses = 0;

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(async () => {
  await endChildren();
  await app.close();
  removeAll();
});

/** Sends from a new address each time, because failed credentials are limited by address. */
const send = (options: Parameters<TestApp['send']>[0]) => {
  addresses += 1;
  return app.send({ ...options, remoteAddress: `10.1.${addresses >> 8}.${addresses & 255}` });
};

const BODIES: Record<string, object> = {
  createLink: { target: { kind: 'search', ref: 'mugs' } },
  createHandoff: { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] },
  submitLead: { external_id: 'crm-1', company: { name: 'Shop', country: 'GB' } },
};

const everyOperation = async (authorization: string | undefined) => {
  const answers = [];
  for (const { id, http } of Object.values(operations)) {
    const payload = BODIES[id];
    const headers = {
      ...(authorization !== undefined && { authorization }),
      ...(payload && { 'idempotency-key': freshKey() }),
    };
    answers.push(
      await send({
        method: http.method,
        url: V1 + http.path,
        headers,
        ...(payload && { payload }),
      }),
    );
  }
  return answers;
};

const issue = async (agentId: string, body: object = {}) => {
  const answer = await app.desk('POST', `/agents/${agentId}/keys`, body);
  return answer.body as { id: string; api_key: string };
};

type Made = { authorization: string | undefined; code: string | null; headers?: string[] };

const STATES: Record<string, () => Promise<Made>> = {
  missing: async () => ({ authorization: undefined, code: 'credential_missing' }),
  'of another scheme': async () => ({ authorization: 'Basic YTpi', code: 'credential_missing' }),
  malformed: async () => ({ authorization: 'Bearer abc', code: 'credential_invalid' }),
  'with a wrong checksum': async () => {
    const { key } = await app.agent('acme');
    return {
      authorization: `Bearer ${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
      code: 'credential_invalid',
    };
  },
  'with an unknown id': async () => ({
    authorization: `Bearer ${mintCredential('trb_live', 'A'.repeat(12), 'b'.repeat(43))}`,
    code: 'credential_invalid',
  }),
  'with another secret': async () => {
    const { keyId } = await app.agent('acme');
    return {
      authorization: `Bearer ${mintCredential('trb_live', keyId, 'b'.repeat(43))}`,
      code: 'credential_invalid',
    };
  },
  'of the other environment': async () => {
    const { key } = await app.agent('acme');
    const [, , id = '', secret = ''] = key.split('_');
    return {
      authorization: `Bearer ${mintCredential('trb_test', id, secret.slice(0, 43))}`,
      code: 'credential_invalid',
    };
  },
  expired: async () => {
    const { agentId } = await app.agent('acme');
    const { api_key } = await issue(agentId, { expires_in_days: 1 });
    app.clock.advance(DAY_MS);
    return { authorization: `Bearer ${api_key}`, code: 'credential_expired' };
  },
  revoked: async () => {
    const { key, keyId } = await app.agent('acme');
    await app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' });
    return { authorization: `Bearer ${key}`, code: 'credential_revoked' };
  },
  'of a suspended agent': async () => {
    const { key, agentId } = await app.agent('acme');
    await app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Odd' });
    return { authorization: `Bearer ${key}`, code: 'agent_suspended' };
  },
  'of a reinstated agent': async () => {
    const { key, agentId } = await app.agent('acme');
    await app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Odd' });
    await app.desk('POST', `/agents/${agentId}/reinstate`, { reason: 'Fine' });
    return { authorization: `Bearer ${key}`, code: null };
  },
  rotating: async () => {
    const { key, keyId } = await app.agent('acme');
    await app.desk('POST', `/keys/${keyId}/rotate`, {});
    return { authorization: `Bearer ${key}`, code: null, headers: ['key-expires'] };
  },
  'rotated, after its overlap': async () => {
    const { key, keyId } = await app.agent('acme');
    await app.desk('POST', `/keys/${keyId}/rotate`, { overlap_hours: 1 });
    app.clock.advance(3_600_000);
    return { authorization: `Bearer ${key}`, code: 'credential_expired' };
  },
  'of the test environment': async () => {
    const { key } = await app.agent('acme', undefined, 'test');
    return { authorization: `Bearer ${key}`, code: null };
  },
  'of the desk': async () => ({
    authorization: `Bearer ${app.deskToken}`,
    code: 'credential_invalid',
  }),
};

describe('A credential', () => {
  it.each(Object.entries(STATES))(
    'A credential in the state "%s" gets the same decision from every operation',
    async (_state, make) => {
      verifies('authentication.7', 'errors.5');
      const { authorization, code, headers = [] } = await make();
      for (const answer of await everyOperation(authorization)) {
        if (code === null) {
          expect([200, 201], answer.text).toContain(answer.status);
          for (const name of headers) expect(answer.headers[name]).toBeDefined();
          continue;
        }
        const problem = expectProblem(answer);
        expect(problem.code).toBe(code);
        if (problem.status === 401)
          expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="affiliate"/);
      }
    },
  );

  it("An agent's credential is refused at the desk, with a hint where it is valid", async () => {
    const { key } = await app.agent('acme');
    for (const path of ['/agents?owner_id=acme', '/events', '/projections']) {
      const answer = await send({ method: 'GET', url: `/api/desk/v1${path}`, key });
      expect(expectProblem(answer).code).toBe('credential_invalid');
      expect(expectProblem(answer).detail).toContain(
        'This is the API key of an agent, which is not valid at the desk.',
      );
    }
  });

  it('A desk credential is refused to agents, with a hint where it is valid', async () => {
    const url = '/api/affiliate/v1/connection';
    const { detail } = expectProblem(await send({ method: 'GET', url, key: app.deskToken }));
    expect(detail).toBe(
      'This is a desk token, which is valid under /api/desk/v1 only. Send the API key of an agent.',
    );
  });

  it("An agent's credential is not issued before a review, nor after a refusal", async () => {
    verifies('authentication.3');
    const request = { owner_id: 'acme', name: 'New', purpose: 'Tests', scopes: ['products:read'] };
    const { id } = (await app.desk('POST', '/agents', request)).body as { id: string };
    const before = await app.desk('POST', `/agents/${id}/keys`, {});
    expect(expectProblem(before).code).toBe('state_conflict');
    await app.desk('POST', `/agents/${id}/deny`, { reason: 'Unknown' });
    expect(expectProblem(await app.desk('POST', `/agents/${id}/keys`, {})).code).toBe(
      'state_conflict',
    );
  });

  it('A revoked credential writes nothing from that moment on, even under load', async () => {
    const { key, keyId } = await app.agent('busy');
    const statuses: number[] = [];
    const underWay = new Set<string | undefined>();
    let revoked = false;
    const writers = Array.from({ length: 8 }, async () => {
      for (let after = 0; after < 3; after += revoked ? 1 : 0) {
        const headers = { 'idempotency-key': freshKey() };
        const sent = {
          method: 'POST',
          url: `${V1}/links`,
          key,
          payload: BODIES['createLink'] ?? {},
          headers,
        } as const;
        const wasRevoked = revoked;
        const { status, headers: answerHeaders } = await send(sent);
        if (wasRevoked) statuses.push(status);
        else underWay.add(answerHeaders['request-id']);
        // Refusals resolve without a turn of the event loop, which would starve all other work.
        await turn();
      }
    });
    await app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' });
    revoked = true;
    const { position: answered } = await app.service.deps.log.head();
    await Promise.all(writers);
    expect(statuses.length).toBeGreaterThan(8);
    expect(new Set(statuses)).toEqual(new Set([401]));
    await app.service.deps.audit.flush();
    const events = await app.service.deps.log.readOwner('busy', { after: answered, limit: 10_000 });
    const late = events.filter(
      ({ meta, type }) =>
        meta.key === keyId && type !== 'ActivityRecorded' && !underWay.has(meta.request),
    );
    expect(late.map(({ type }) => type)).toEqual([]);
  });

  it('Calls without a credential are limited by address on every surface, without effect on other clients', async () => {
    const { key } = await app.agent('acme');
    const limit = LIMITS.UNAUTHENTICATED_PER_MINUTE;
    // One customer has all addresses of a /64 network of IPv6.
    const stranger = (n: number) => ({ remoteAddress: `2001:db8:7:8::${n.toString(16)}` });
    const get = (url: string) => ({ method: 'GET', url }) as const;
    const flood = (times: number, options: InjectOptions) =>
      Promise.all(
        Array.from({ length: times }, (_, n) => app.send({ ...options, ...stranger(n + 1) })),
      );
    const first = await flood(limit + 100, get(`${V1}/leads`));
    const refused = first.filter(({ status }) => status === 429);
    expect(first.length - refused.length).toBeGreaterThanOrEqual(limit);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    for (const options of [
      get('/api/desk/v1/agents'),
      get('/api/affiliate/a2a/tasks'),
      { method: 'POST', url: '/api/affiliate/mcp', payload: '{}' } as const,
    ])
      expect((await flood(50, options)).map(({ status }) => status)).toContain(429);
    const withKey = await app.send({ ...get(`${V1}/leads`), ...stranger(1), key });
    expect(withKey.status).toBe(200);
    const other = await app.send({ ...get(`${V1}/leads`), remoteAddress: '2001:db8:7:9::1' });
    expect(other.status).toBe(401);
    for (const url of ['/', '/llms.txt', '/readyz', '/s?q=mug'])
      expect([url, (await app.send({ ...get(url), ...stranger(1) })).status]).toEqual([url, 200]);
  });

  it('Guesses of a credential are limited by address, without effect on valid ones', async () => {
    const { key } = await app.agent('acme');
    const guess = (n: number) =>
      ({
        method: 'GET',
        url: `${V1}/connection`,
        key: `trb_live_${n}`,
        remoteAddress: '10.9.9.9',
      }) as const;
    const statuses = [];
    for (let n = 0; n < 70; n += 1) statuses.push((await app.send(guess(n))).status);
    expect(statuses.slice(0, 50).every((status) => status === 401)).toBe(true);
    expect(statuses.at(-1)).toBe(429);
    expect((await app.send({ ...guess(0), key })).status).toBe(200);
  });
});

describe('A credential in the wrong place', () => {
  const note = (key: string) => ({
    external_id: 'x',
    company: { name: `Shop ${key}`, country: 'GB' },
  });

  it('A credential in the wrong place is refused, not stored and not repeated', async () => {
    verifies('authentication.2');
    const { key } = await app.agent('leaky');
    const post = (payload: object, headers: Record<string, string>, url = `${V1}/leads`) =>
      send({
        method: 'POST',
        url,
        key,
        payload,
        headers: { 'idempotency-key': freshKey(), ...headers },
      });
    const escaped = Buffer.from(key).toString('hex').replaceAll(/../g, '%$&');
    const WRONG: [Promise<Awaited<ReturnType<typeof send>>>, string, string?][] = [
      [send({ method: 'GET', url: `${V1}/connection?api_key=${key}` }), 'credential_in_url'],
      [send({ method: 'GET', url: `${V1}/products?q=${escaped}`, key }), 'credential_in_url'],
      [send({ method: 'GET', url: `/l/${key}` }), 'credential_in_url'],
      [send({ method: 'GET', url: `${V1}/links/${key}/nothing` }), 'credential_in_url'],
      [send({ method: 'GET', url: `${V1}/products?q=${app.deskToken}`, key }), 'credential_in_url'],
      [post(note(key), {}), 'secret_in_payload', '/company/name'],
      [
        post({ ...note('a'), metadata: { a: app.deskToken } }, {}),
        'secret_in_payload',
        '/metadata/a',
      ],
      [post(note('a'), { 'idempotency-key': key }), 'secret_in_payload', '/idempotency_key'],
      [post({ [key]: 1 }, {}), 'validation_failed'],
    ];
    for (const [sent, code, pointer] of WRONG) {
      const answer = await sent;
      const { errors = [], ...problem } = expectProblem(answer, code);
      expect(problem.code).toBe(code);
      if (pointer) expect(errors).toMatchObject([{ pointer, code: 'credential' }]);
      expect(JSON.stringify(answer)).not.toContain(key.slice(-49));
      expect(JSON.stringify(answer)).not.toContain(app.deskToken.slice(-49));
    }
    await app.service.deps.audit.flush();
    const events = await app.service.deps.log.readOwner('leaky', { after: 0, limit: 1_000 });
    expect(JSON.stringify(events)).not.toContain(key.slice(-49));
    expect(events.map(({ type }) => type)).not.toContain('LeadSubmitted');
  });

  it('A credential is in no file and in no log line of a running service', async () => {
    const directory = fresh();
    const service = await serveChild(directory, { LOG_LEVEL: 'trace' });
    const key = await agentKey(service);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const post = (body: object, idempotency: string) =>
      fetch(`${service.url}${V1}/leads`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': idempotency },
        body: JSON.stringify(body),
      });
    const statuses = [
      await fetch(`${service.url}${V1}/products?q=${key}`, { headers }),
      await fetch(`${service.url}${V1}/connection`, { headers }),
      await post(note(key), 'canary-1'),
      await post(note('a'), key),
      await post(note('a'), 'canary-2'),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 200, 400, 400, 201]);
    const log = service.log();
    await service.end('SIGTERM');
    const files = readdirSync(directory).filter((name) => name !== 'desk.token');
    expect(files).toContain('log.db');
    const secrets = [key, service.deskToken].flatMap((credential) => {
      const secret = credential.slice(-49, -6);
      const bytes = Buffer.from(secret);
      return [secret, bytes.toString('base64').slice(0, 40), bytes.toString('hex')];
    });
    for (const secret of secrets) {
      expect(log).not.toContain(secret);
      for (const name of files)
        expect(readFileSync(join(directory, name)).includes(secret), name).toBe(false);
    }
  });
});
