/** Two settings move the service to EventStoreDB and Redis; a server that is not there is told. */
import { type AddressInfo, createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChildService } from '../../support/processes/child-service.ts';
import { ended, json, start, startMs } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

const temporary = directories('tributary-start-');
const EXIT_MS_MAX = 5_000;

let world: RemoteWorld;
beforeAll(async () => {
  if (hasRedis) world = await remoteWorld();
});
afterAll(async () => {
  await endRemote();
  temporary.removeAll();
});

describe.skipIf(!hasRedis)(`serve --demo on servers, ${ON_REDIS}`, () => {
  let service: ChildService;
  let directory: string;
  const on = (): string[] =>
    Object.entries(world.settings).map(([name, value]) => `${name}=${value}`);

  beforeAll(async () => {
    directory = world.directory();
    // A demo needs the two URLs and nothing else.
    world.settings['ROOT_KEY'] = '';
    service = await world.start('all', directory, '--demo');
  });

  it('tells the same month', async () => {
    const { body } = await ask(service, service.apiKey, '/performance');
    expect(body['totals']).toMatchObject({ rfqs_submitted: 2, leads_won: 1, handoffs_declined: 1 });
  });

  it('answers the six calls of the README', async () => {
    const call = (path: string, key?: string, body?: object) =>
      ask(service, service.apiKey, path, key ? { body, 'idempotency-key': key } : {});
    const line_items = [{ sku: 'KIT-101', quantity: 48 }];
    const company = { name: 'Corner Shop', country: 'GB' };
    const answers = [
      await call('/connection'),
      await call('/products?q=mug&at_quantity=48&facets=category'),
      await call('/links', 'l1', { target: { kind: 'search', ref: 'mug' }, campaign: 'autumn' }),
      await call('/handoffs', 'h1', { title: 'Mugs', line_items }),
      await call('/leads', 'e1', { external_id: 'crm-1', company }),
      await call('/performance?granularity=week&group_by=campaign'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 201, 201, 200]);
    const token = answers[4]?.headers.get('consistency-token') ?? '';
    const { body } = await ask(service, service.apiKey, '/leads', { 'consistency-token': token });
    expect(JSON.stringify(body)).toContain('crm-1');
  });

  it('has read models that are what the log says, some here and some in Redis', async () => {
    const child = start(['projections', 'verify', '--data', directory, '--json'], on());
    const { code, stderr } = await ended(child);
    expect(code, stderr).toBe(0);
    const { data } = await json<{ data: { lag_events: number }[] }>(
      'projections',
      'status',
      '--data',
      directory,
    );
    expect(data.length).toBeGreaterThan(10);
    expect(data.filter(({ lag_events }) => lag_events > 0)).toEqual([]);
    expect(await world.redis.control.dbsize()).toBeGreaterThan(100);
  });

  it('ends in order, and goes on where it was', async () => {
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const key = service.apiKey;
    service = await world.start('all', directory, '--demo');
    expect(service.apiKey).toBe(key);
    expect((await ask(service, key, '/leads')).status).toBe(200);
  });

  it('lets one process at a time have a data directory', async () => {
    const args = ['serve', '--data', directory, '--port', '0'];
    const { code, stderr } = await ended(start(args, on()));
    expect(code).toBe(3);
    expect(stderr).toContain('is in use by another Tributary process');
  });

  it('is well to doctor, which asks the servers', async () => {
    const { code, stdout } = await ended(start(['doctor', '--data', directory], on()));
    expect(code).toBe(0);
    expect(stdout).toMatch(/log +esdb:\/\/127.0.0.1:\d+ answers/);
    expect(stdout).toMatch(/read models +redis:\/\/127.0.0.1:\d+ answers/);
  });
});

describe('a server that cannot be used', () => {
  const mute = createServer(() => {});
  afterAll(() => mute.close());

  it.each([
    ['EVENT_LOG_URL', 'esdb://anna:s3cret@HOST?tls=false', 'nobody'],
    ['READ_MODEL_URL', 'redis://anna:s3cret@HOST', 'nobody'],
    ['EVENT_LOG_URL', 'esdb://anna:s3cret@HOST?tls=false', 'mute'],
    ['READ_MODEL_URL', 'redis://anna:s3cret@HOST', 'mute'],
  ])('%s=%s, %s: exit 3 within five seconds, with what to check', async (name, form, who) => {
    if (who === 'mute' && !mute.listening) await once(mute.listen(0, '127.0.0.1'), 'listening');
    const port = who === 'mute' ? (mute.address() as AddressInfo).port : await freePort();
    const url = form.replace('HOST', `127.0.0.1:${port}`);
    const longest = EXIT_MS_MAX + (await startMs());
    const began = performance.now();
    const child = start(['serve', '--data', temporary.fresh(), '--port', '0'], [`${name}=${url}`]);
    const { code, stdout, stderr } = await ended(child);
    expect(performance.now() - began).toBeLessThan(longest);
    expect(code, stderr).toBe(3);
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).toMatch(/Check /);
    expect(stdout + stderr).not.toContain('s3cret');
  });

  it.each([
    ['EVENT_LOG_URL', 'esdb://'],
    ['EVENT_LOG_URL', 'http://anna:s3cret@localhost'],
    ['READ_MODEL_URL', 'redis://'],
    ['READ_MODEL_URL', 'memcached://anna:s3cret@localhost'],
  ])('%s=%s is refused by name', async (name, value) => {
    const { code, stderr } = await ended(start(['serve', '--port', '0'], [`${name}=${value}`]));
    expect(code).toBe(3);
    expect(stderr).toMatch(new RegExp(`${name}: must be a URL`));
    expect(stderr).not.toContain('s3cret');
  });

  it.each(['projector', 'dispatcher'])('--role %s wants a log that can be shared', async (role) => {
    const { code, stderr } = await ended(start(['serve', '--role', role, '--port', '0']));
    expect(code).toBe(3);
    expect(stderr).toContain('EVENT_LOG_URL=esdb://');
  });
});
