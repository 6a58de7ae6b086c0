/** An outage of EventStoreDB: what continues, what is refused, and the state afterwards. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct } from '../../support/world/app.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import { until } from '../../support/clients/cli.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import type { Answer, RemoteWorld } from '../../support/processes/remote.ts';
import { ask, askOnce, endRemote, remoteWorld } from '../../support/processes/remote.ts';

const FOUND = 302;
const UNAVAILABLE = 503;

describe.skipIf(!hasRedis)(`During an outage of EventStoreDB, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let api: ChildService;
  let key: string;
  let shortUrl: string;
  let token: string;

  const lead = (name: string, send = ask): Promise<Answer> =>
    send(api, key, '/leads', {
      body: { external_id: name, company: { name: 'Shop', country: 'GB' } },
      'idempotency-key': name,
    });
  const leads = (headers: object = {}): Promise<Answer> =>
    askOnce(api, key, '/leads', { ...headers });

  beforeAll(async () => {
    world = await remoteWorld();
    [api] = await Promise.all([world.start('api'), world.start('projector')]);
    await atDesk(api, '/products/import', { products: [feedProduct('SKU-1')] });
    key = await agentKey(api);
    const link = await ask(api, key, '/links', {
      body: { target: { kind: 'product', ref: 'SKU-1' } },
      'idempotency-key': 'link',
    });
    expect(link.status, JSON.stringify(link.body)).toBe(201);
    shortUrl = /\/l\/\w+/.exec(JSON.stringify(link.body))?.[0] ?? '';
    const written = await lead('crm-before');
    token = written.headers.get('consistency-token') ?? '';
    await ask(api, key, '/leads', { 'consistency-token': token });
  });
  afterAll(endRemote);

  const redirect = async (): Promise<number> =>
    (await fetch(api.url + shortUrl, { redirect: 'manual' })).status;

  it('During an outage of EventStoreDB reads continue for ten seconds, and writes and redirects fail with an unknown outcome', async () => {
    expect(await redirect()).toBe(FOUND);
    world.log.freeze();
    try {
      // First, because the redirect and the write wait for the log for most of the ten seconds.
      const { status, body } = await ask(api, key, '/leads');
      expect(status, JSON.stringify(body)).toBe(200);
      expect(JSON.stringify(body)).toContain('crm-before');
      // A visit must be durable before its redirect.
      expect(await redirect()).toBe(UNAVAILABLE);
      const written = await lead('crm-during', askOnce);
      expect(written.status).toBe(503);
      expect(written.body).toMatchObject({ code: 'storage_unavailable' });
      expect(written.body['outcome']).toMatch(/^(?:unknown|none)$/);
      expect(written.headers.get('retry-after')).toMatch(/^\d+$/);
      // Checking a token requires the head of the log.
      const tokened = await leads({ 'consistency-token': token });
      expect(tokened.status).toBe(503);
      expect((await fetch(`${api.url}/livez`)).status).toBe(200);
      expect((await fetch(`${api.url}/readyz`)).status).toBe(503);
      const metrics = await (await fetch(`${api.url}/metrics`)).text();
      expect(metrics).toMatch(/^tributary_log_up 0$/m);
      // After that time the key could have been revoked.
      const isClosed = async () => (await leads()).status === UNAVAILABLE;
      expect(await until(isClosed)).toBe(true);
      expect((await leads()).body['detail']).toContain('whether the credential is still valid');
    } finally {
      world.log.thaw();
    }
  });

  it('A request that is repeated after an outage of EventStoreDB is executed once', async () => {
    expect([200, 201]).toContain((await lead('crm-during')).status);
    const again = await lead('crm-during');
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const after = again.headers.get('consistency-token') ?? '';
    const { body } = await ask(api, key, '/leads', { 'consistency-token': after });
    expect(JSON.stringify(body).match(/"crm-during"/g)).toHaveLength(1);
    await expect.poll(async () => (await fetch(`${api.url}/readyz`)).status).toBe(200);
    await expect.poll(redirect).toBe(FOUND);
  });
});
