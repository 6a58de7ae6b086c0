/** Two settings move the service to EventStoreDB and Redis; an absent server is reported. */
import { type AddressInfo, createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChildService } from '../../support/processes/child-service.ts';
import { ended, json, start } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { ask, endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

const temporary = directories('tributary-start-');

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
    // The demo needs only the two URLs.
    world.settings['ROOT_KEY'] = '';
    service = await world.start('all', directory, '--demo');
  });

  it('`serve --demo` on servers creates the same demo data', async () => {
    const { body } = await ask(service, service.apiKey, '/performance');
    expect(body['totals']).toMatchObject({ rfqs_submitted: 5, leads_won: 1, handoffs_declined: 1 });
  });

  it('`serve --demo` on servers answers the six calls of the README', async () => {
    const call = (path: string, key?: string, body?: object) =>
      ask(service, service.apiKey, path, { body, ...(key && { 'idempotency-key': key }) });
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

  it('`serve --demo` on servers has read models that match the log, locally and in Redis', async () => {
    const child = start(['projections', 'verify', '--data', directory, '--json'], on());
    const { code, stderr } = await ended(child);
    expect(code, stderr).toBe(0);
    const status = ['projections', 'status', '--data', directory];
    const lags = async (): Promise<Set<number>> => {
      const { data } = await json<{ data: { lag_events: number }[] }>(...status);
      expect(data.length).toBeGreaterThan(10);
      return new Set(data.map(({ lag_events }) => lag_events));
    };
    // A look at the status is audited a second later, possibly during the next one.
    await expect.poll(lags).toEqual(new Set([0]));
    expect(await world.redis.control.dbsize()).toBeGreaterThan(100);
  });

  it('`serve --demo` on servers stops normally, and continues after a restart', async () => {
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const key = service.apiKey;
    service = await world.start('all', directory, '--demo');
    expect(service.apiKey).toBe(key);
    expect((await ask(service, key, '/leads')).status).toBe(200);
  });

  it('`serve --demo` on servers writes no demo into a log that another data directory began', async () => {
    const args = ['serve', '--demo', '--data', temporary.fresh(), '--port', '0'];
    const { code, stderr } = await ended(start(args, on()));
    expect(code, stderr).toBe(3);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('did not begin the demo in it');
    expect((await ask(service, service.apiKey, '/leads')).status).toBe(200);
  });

  it('`serve --demo` on servers refuses a second process on its data directory', async () => {
    const args = ['serve', '--data', directory, '--port', '0'];
    const { code, stderr } = await ended(start(args, on()));
    expect(code).toBe(3);
    expect(stderr).toContain('is in use by another Tributary process');
  });

  it('`serve --demo` on servers passes status --check, which contacts the servers', async () => {
    const { code, stdout } = await ended(start(['status', '--check', '--data', directory], on()));
    expect(code).toBe(0);
    expect(stdout).toMatch(/log +esdb:\/\/127.0.0.1:\d+ answers/);
    expect(stdout).toMatch(/read models +redis:\/\/127.0.0.1:\d+ answers/);
  });
});

describe('serve', () => {
  const silent = createServer(() => {});
  afterAll(() => silent.close());

  it.each([
    ['EVENT_LOG_URL', 'esdb://anna:s3cret@HOST?tls=false', 'absent'],
    ['READ_MODEL_URL', 'redis://anna:s3cret@HOST', 'absent'],
    ['EVENT_LOG_URL', 'esdb://anna:s3cret@HOST?tls=false', 'silent'],
    ['READ_MODEL_URL', 'redis://anna:s3cret@HOST', 'silent'],
  ])(
    '`serve` exits with status 3 and advice for %s=%s when the server is %s',
    async (name, form, state) => {
      if (state === 'silent' && !silent.listening)
        await once(silent.listen(0, '127.0.0.1'), 'listening');
      const port = state === 'silent' ? (silent.address() as AddressInfo).port : await freePort();
      const url = form.replace('HOST', `127.0.0.1:${port}`);
      const child = start(
        ['serve', '--data', temporary.fresh(), '--port', '0'],
        [`${name}=${url}`],
      );
      const { code, stdout, stderr } = await ended(child);
      expect(code, stderr).toBe(3);
      expect(stderr).toContain(`127.0.0.1:${port}`);
      expect(stderr).toMatch(/Check /);
      expect(stdout + stderr).not.toContain('s3cret');
    },
  );

  it.each([
    ['EVENT_LOG_URL', 'esdb://'],
    ['EVENT_LOG_URL', 'http://anna:s3cret@localhost'],
    ['READ_MODEL_URL', 'redis://'],
    ['READ_MODEL_URL', 'memcached://anna:s3cret@localhost'],
  ])('`serve` refuses %s=%s', async (name, value) => {
    const { code, stderr } = await ended(start(['serve', '--port', '0'], [`${name}=${value}`]));
    expect(code).toBe(3);
    expect(stderr).toMatch(new RegExp(`${name}: must be a URL`));
    expect(stderr).not.toContain('s3cret');
  });

  it.each(['projector', 'dispatcher'])(
    '`serve` requires a log that can be shared with --role %s',
    async (role) => {
      const { code, stderr } = await ended(start(['serve', '--role', role, '--port', '0']));
      expect(code).toBe(3);
      expect(stderr).toContain('EVENT_LOG_URL=esdb://');
    },
  );
});
