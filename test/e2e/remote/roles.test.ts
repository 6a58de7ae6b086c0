/** Several processes on one log, each with a role. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { PARTITIONS } from '#src/ports/read-model.ts';
import { feedProduct } from '../../support/world/app.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import { until } from '../../support/clients/cli.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import type { RemoteWorld } from '../../support/processes/remote.ts';
import { ask, askOnce, endRemote, remoteWorld } from '../../support/processes/remote.ts';
import { folded } from '../upgrade/services.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora', 'emil', 'fay', 'gus', 'hana'];

describe.skipIf(!hasRedis)(`Processes on one log, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let [one, two]: ChildService[] = [];
  let projector: ChildService;
  let key: string;
  let leads = 0;

  const apis = (): [ChildService, ChildService] => {
    if (!one || !two) throw new Error('not started');
    return [one, two];
  };

  beforeAll(async () => {
    world = await remoteWorld();
    [one, two, projector] = await Promise.all([
      world.start('api'),
      world.start('api'),
      world.start('projector'),
    ]);
    await atDesk(one, '/products/import', { products: [feedProduct('SKU-1')] });
    key = await agentKey(one, 'acme', apis());
  });
  afterAll(endRemote);

  const write = async (to: ChildService, by = key): Promise<{ name: string; token: string }> => {
    leads += 1;
    const name = `crm-${leads}`;
    const body = { external_id: name, company: { name: 'Corner Shop', country: 'GB' } };
    const response = await ask(to, by, '/leads', { body, 'idempotency-key': name });
    expect(response.status, JSON.stringify(response.body)).toBe(201);
    return { name, token: response.headers.get('consistency-token') ?? '' };
  };
  const leadsAt = (token: string) => ['/leads', { 'consistency-token': token }] as const;

  it('Processes on one log serve on one what was written on another, with the consistency token', async () => {
    const [a, b] = apis();
    for (let i = 0; i < 20; i++) {
      const [to, from] = i % 2 === 0 ? [a, b] : [b, a];
      const { name, token } = await write(to);
      const response = await ask(from, key, ...leadsAt(token));
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      expect(JSON.stringify(response.body)).toContain(`"${name}"`);
    }
  });

  it('Processes on one log wait for a lagging projector, and refuse a read that waited too long', async () => {
    const [a, b] = apis();
    projector.child.kill('SIGSTOP');
    try {
      const { name, token } = await write(a);
      const link = { target: { kind: 'search', ref: 'mug' } };
      await ask(a, key, '/links', { body: link, 'idempotency-key': 'link-1' });
      // The desk is asked to retry, too.
      const staff = { headers: { authorization: `Bearer ${a.deskToken}` } };
      const desk = await fetch(`${a.url}/api/desk/v1/links?owner_id=acme`, staff);
      expect(desk.status).toBe(503);
      expect(await desk.json()).toMatchObject({ code: 'read_model_rebuilding' });
      const since = performance.now();
      const late = await askOnce(b, key, ...leadsAt(token));
      expect(performance.now() - since).toBeGreaterThan(LIMITS.CONSISTENCY_WAIT_MS_MAX / 2);
      expect(late.status).toBe(503);
      expect(late.body).toMatchObject({ code: 'consistency_timeout' });
      // The projector continues during the wait, which cannot be observed from outside.
      let isContinued = false;
      setTimeout(() => (isContinued = projector.child.kill('SIGCONT')), 300);
      const response = await ask(b, key, ...leadsAt(token));
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      expect(JSON.stringify(response.body)).toContain(`"${name}"`);
      expect(isContinued).toBe(true);
    } finally {
      projector.child.kill('SIGCONT');
    }
  });

  it('Processes on one log refuse a key that another process revoked, also without a projector', async () => {
    const [a, b] = apis();
    const revoked = await agentKey(a, 'zoe', [b]);
    const hasStatus = async (status: number): Promise<boolean> =>
      (await ask(b, revoked, '/connection')).status === status;
    expect(await hasStatus(200)).toBe(true);
    const id = revoked.split('_')[2] ?? '';
    projector.child.kill('SIGSTOP');
    try {
      await atDesk(a, `/keys/${id}/revoke`, { reason: 'Lost' });
      expect(await until(() => hasStatus(401))).toBe(true);
      expect((await ask(a, revoked, '/connection')).status).toBe(401);
    } finally {
      projector.child.kill('SIGCONT');
    }
  });

  it('Processes on one log include a projector that serves only its health endpoint', async () => {
    const status = async (path: string): Promise<number> =>
      (await fetch(`${projector.url}${path}`)).status;
    expect(await status('/livez')).toBe(200);
    expect(await status('/readyz')).toBe(200);
    for (const path of ['/api/affiliate/v1/connection', '/api/desk/v1/projections', '/', '/docs'])
      expect(await status(path), path).toBe(404);
  });

  it('Processes on one log share the partitions, and take over those of a killed projector', async () => {
    const [a, b] = apis();
    const second = await world.start('projector');
    const shares = ({ log }: ChildService): number[] =>
      [...log().matchAll(/"partitions":(\d+),"projectors":\d+/g)].map(([, count]) => Number(count));
    const half = PARTITIONS / 2;
    const isShared = (): boolean =>
      shares(projector).at(-1) === half && shares(second).at(-1) === half;
    expect(await until(isShared)).toBe(true);
    // Redis loses everything twice; the second time the log has records after its last event.
    for (let i = 0; i < 2; i++) {
      await world.redis.kill();
      await world.redis.start();
      const { token } = await write(a);
      expect((await ask(b, key, ...leadsAt(token))).status).toBe(200);
    }
    const keys = await Promise.all(OWNERS.map((owner) => agentKey(a, owner, [b])));
    for (const each of keys) await write(b, each);
    await folded(a);
    expect(await second.end('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    const tokens = await Promise.all(keys.map((each) => write(a, each)));
    await folded(b);
    const hasAll = (): boolean => shares(projector).at(-1) === PARTITIONS;
    expect(await until(hasAll)).toBe(true);
    for (const [i, { name, token }] of tokens.entries())
      expect(JSON.stringify((await ask(b, keys[i] ?? '', ...leadsAt(token))).body)).toContain(
        `"${name}"`,
      );
  });

  it('Processes on one log release their partitions when they stop normally', async () => {
    const second = await world.start('projector');
    const sharing = (): number => Number(/.*"projectors":(\d+)/s.exec(projector.log())?.[1]);
    expect(await until(() => sharing() === 2)).toBe(true);
    expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await until(() => sharing() === 1)).toBe(true);
    expect(await projector.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
