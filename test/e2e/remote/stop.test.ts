/** Redis gives no answer: that keeps no process from its end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKey, type ChildService } from '../../support/processes/child-service.ts';
import { until } from '../../support/clients/cli.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

const SOON_MS = 10_000;
/** Half of what ends a process by force. */
const STOP_MS_MAX = 5_000;

describe.skipIf(!hasRedis)(`while Redis is frozen, ${ON_REDIS}`, () => {
  let world: RemoteWorld;
  let services: ChildService[];
  let key: string;
  beforeAll(async () => {
    world = await remoteWorld();
    services = await Promise.all([
      world.start('all'),
      world.start('api'),
      world.start('projector'),
    ]);
    key = await agentKey(services[1] as ChildService);
  }, 60_000);
  afterAll(endRemote);

  const lead = (name: string) =>
    ask(services[1] as ChildService, key, '/leads', {
      body: { external_id: name, company: { name: 'Shop', country: 'GB' } },
      'idempotency-key': name,
    });

  it('every role ends in order, and soon', async () => {
    const token = (await lead('crm-1')).headers.get('consistency-token') ?? '';
    const isRead = async () =>
      (await ask(services[1] as ChildService, key, '/leads', { 'consistency-token': token }))
        .status === 200;
    expect(await until(isRead, SOON_MS)).toBe(true);
    world.redis.signal('SIGSTOP');
    try {
      expect((await lead('crm-2')).status).toBe(201);
      const began = performance.now();
      const ends = await Promise.all(
        services.map(async (service) => {
          const { code } = await service.end('SIGTERM');
          return { code, isSoon: performance.now() - began < STOP_MS_MAX };
        }),
      );
      expect(ends).toEqual(services.map(() => ({ code: 0, isSoon: true })));
    } finally {
      world.redis.signal('SIGCONT');
    }
  }, 40_000);
});
