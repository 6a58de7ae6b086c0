/** A frozen Redis does not keep processes from stopping. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentKey, type ChildService } from '../../support/processes/child-service.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

describe.skipIf(!hasRedis)(`While Redis is frozen, ${ON_REDIS},`, () => {
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
  });
  afterAll(endRemote);

  const lead = (name: string) =>
    ask(services[1] as ChildService, key, '/leads', {
      body: { external_id: name, company: { name: 'Shop', country: 'GB' } },
      'idempotency-key': name,
    });

  it('Every role stops normally while Redis is frozen', async () => {
    const token = (await lead('crm-1')).headers.get('consistency-token') ?? '';
    await ask(services[1] as ChildService, key, '/leads', { 'consistency-token': token });
    world.redis.signal('SIGSTOP');
    try {
      expect((await lead('crm-2')).status).toBe(201);
      const ends = await Promise.all(services.map((service) => service.end('SIGTERM')));
      // A process that has to be killed after its grace period exits with another code.
      expect(ends.map(({ code }) => code)).toEqual(services.map(() => 0));
    } finally {
      world.redis.signal('SIGCONT');
    }
  });
});
