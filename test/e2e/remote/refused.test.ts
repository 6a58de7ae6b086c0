/** `serve` on a server that is there and is wrong: exit 3 within five seconds, naming what to check. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor } from '../../support/processes/certificate.ts';
import { ended, start, startMs } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import { hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';
import { endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

const EXIT_MS_MAX = 5_000;
const CANNOT_START = 3;
const temporary = directories('tributary-refused-');

describe.skipIf(!hasRedis)(`a server that is another than it should be, ${ON_REDIS}`, () => {
  const web = createServer((_request, response) => response.end('hello'));
  let world: RemoteWorld;
  let replica: TestRedis;
  let secure: TestRedis & { tlsPort: number };
  beforeAll(async () => {
    world = await remoteWorld();
    await once(web.listen(0, '127.0.0.1'), 'listening');
    await world.redis.control.acl('SETUSER', 'anna', 'on', '>right', '~*', '+@all');
    replica = await startRedis(['--replicaof', `127.0.0.1 ${world.redis.port}`]);
    secure = await startRedis([], undefined, certificateFor('localhost'));
  }, 30_000);
  afterAll(async () => {
    web.closeAllConnections();
    web.close();
    await endRemote();
    temporary.removeAll();
  });

  /** What the operator reads, of an end that came in time. */
  const told = async (...set: string[]): Promise<string> => {
    const longest = EXIT_MS_MAX + (await startMs());
    const began = performance.now();
    const child = start(['serve', '--data', temporary.fresh(), '--port', '0'], set);
    const { code, stdout, stderr } = await ended(child);
    expect(performance.now() - began, stderr).toBeLessThan(longest);
    expect(code, stderr).toBe(CANNOT_START);
    expect(stdout + stderr).not.toContain('s3cret');
    // One sentence for people, and no stack.
    expect(stderr).not.toMatch(/^ {4}at /m);
    return stderr;
  };
  const webAt = (): string => `127.0.0.1:${(web.address() as AddressInfo).port}`;
  const log = (url: string): string => `EVENT_LOG_URL=${url}`;
  const views = (url: string): string => `READ_MODEL_URL=${url}`;

  it('the log at a web server', async () => {
    const text = await told(log(`esdb://anna:s3cret@${webAt()}?tls=false`));
    expect(text).toMatch(/Check .*host and port/);
    expect(text).toContain(webAt());
  });

  it('the log with TLS, where the server has none', async () => {
    const text = await told(log(`esdb://anna:s3cret@localhost:${world.log.port}`));
    expect(text).toMatch(/says tls=false if, and only if, the server runs without TLS/);
  });

  it('the log without the rights to read it', async () => {
    const server = await standIn();
    await server.tell({ name: 'fault', on: 'read', fault: { do: 'deny' }, times: 99 });
    expect(await told(log(server.url))).toMatch(/denies this user.*Check user and password/);
  });

  it('a log of an old version', async () => {
    const server = await standIn();
    await server.tell({ name: 'set', settings: { version: '22.10.5.0' } });
    expect(await told(log(server.url))).toMatch(/version 22\.10\.5\.0; 23\.10 is needed/);
  });

  it('the read models at a web server', async () => {
    const text = await told(views(`redis://anna:s3cret@${webAt()}`));
    expect(text).toMatch(/what answers there is not Redis/);
  });

  it('the read models at the event log', async () => {
    const text = await told(views(`redis://anna:s3cret@127.0.0.1:${world.log.port}`));
    expect(text).toMatch(/Check .*READ_MODEL_URL/);
  });

  it('the read models with a wrong password', async () => {
    const text = await told(views(`redis://anna:s3cret@127.0.0.1:${world.redis.port}`));
    expect(text).toMatch(/WRONGPASS.*Check user and password/);
  });

  it('the read models with a certificate that nobody vouches for', async () => {
    const text = await told(views(`rediss://anna:s3cret@localhost:${secure.tlsPort}`));
    expect(text).toMatch(/tlsCAFile in READ_MODEL_URL/);
  });

  it('the read models without TLS, where the server wants it', async () => {
    const text = await told(views(`redis://anna:s3cret@localhost:${secure.tlsPort}`));
    expect(text).toMatch(/rediss:\/\/ exactly where the server speaks TLS/);
  });

  it('the read models on a replica', async () => {
    const text = await told(views(`redis://127.0.0.1:${replica.port}`));
    expect(text).toMatch(/is a replica, which takes no writes\. Name the master/);
  });

  it('the read models where rows are thrown away', async () => {
    await world.redis.control.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const text = await told(views(world.redis.url.href));
    expect(text).toMatch(/Set maxmemory-policy to noeviction/);
    await world.redis.control.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it.each(['projector', 'api', 'dispatcher'])('says the same in the role of %s', async (role) => {
    const set = [log(world.log.url), views(`redis://anna:s3cret@127.0.0.1:${world.redis.port}`)];
    const key = `ROOT_KEY=${world.settings['ROOT_KEY']}`;
    const longest = EXIT_MS_MAX + (await startMs());
    const began = performance.now();
    const args = ['serve', '--role', role, '--data', temporary.fresh(), '--port', '0'];
    const { code, stderr } = await ended(start(args, [...set, key]));
    expect(performance.now() - began, stderr).toBeLessThan(longest);
    expect(code).toBe(CANNOT_START);
    expect(stderr).toMatch(/WRONGPASS.*Check user and password/);
  });
});
