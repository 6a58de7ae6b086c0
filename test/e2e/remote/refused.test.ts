/** `serve` with an unusable server exits with status 3 and says what to check. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor } from '../../support/processes/certificate.ts';
import { ended, start } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import { hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';
import { endRemote, remoteWorld, type RemoteWorld } from '../../support/processes/remote.ts';

const CANNOT_START = 3;
const temporary = directories('tributary-refused-');

describe.skipIf(!hasRedis)(`serve exits with advice, ${ON_REDIS},`, () => {
  const web = createServer((_request, response) => response.end('hello'));
  let world: RemoteWorld;
  let replica: TestRedis;
  let secure: TestRedis & { tlsPort: number };
  beforeAll(async () => {
    world = await remoteWorld();
    await once(web.listen(0, '127.0.0.1'), 'listening');
    await world.redis.control.acl('SETUSER', 'anna', 'on', '>right', '~*', '+@all');
    replica = await startRedis(['--replicaof', `127.0.0.1 ${world.redis.port}`]);
    secure = await startRedis([], { tls: certificateFor('localhost') });
  });
  afterAll(async () => {
    web.closeAllConnections();
    web.close();
    await endRemote();
    temporary.removeAll();
  });

  /** The output of a start that fails. */
  const startupError = async (...set: string[]): Promise<string> => {
    const child = start(['serve', '--data', temporary.fresh(), '--port', '0'], set);
    const { code, stdout, stderr } = await ended(child);
    expect(code, stderr).toBe(CANNOT_START);
    expect(stdout + stderr).not.toContain('s3cret');
    // One sentence without a stack trace.
    expect(stderr).not.toMatch(/^ {4}at /m);
    return stderr;
  };
  const webAt = (): string => `127.0.0.1:${(web.address() as AddressInfo).port}`;
  const log = (url: string): string => `EVENT_LOG_URL=${url}`;
  const views = (url: string): string => `READ_MODEL_URL=${url}`;

  it('`serve` exits with advice when the event log is a web server', async () => {
    const text = await startupError(log(`esdb://anna:s3cret@${webAt()}?tls=false`));
    expect(text).toMatch(/Check .*host and port/);
    expect(text).toContain(webAt());
  });

  it("`serve` exits with advice when the event log's URL demands TLS and the server has none", async () => {
    const text = await startupError(log(`esdb://anna:s3cret@localhost:${world.log.port}`));
    expect(text).toMatch(/says tls=false if, and only if, the server runs without TLS/);
  });

  it('`serve` exits with advice when the user may not read the event log', async () => {
    const server = await standIn();
    await server.tell({ name: 'fault', on: 'read', fault: { do: 'deny' }, times: 99 });
    expect(await startupError(log(server.url))).toMatch(
      /denies this user.*Check user and password/,
    );
  });

  it('`serve` exits with advice when the version of the event log is too old', async () => {
    const server = await standIn();
    await server.tell({ name: 'set', settings: { version: '22.10.5.0' } });
    expect(await startupError(log(server.url))).toMatch(/version 22\.10\.5\.0; 23\.10 is needed/);
  });

  it('`serve` exits with advice when the read models are at a web server', async () => {
    const text = await startupError(views(`redis://anna:s3cret@${webAt()}`));
    expect(text).toMatch(/the server there is not Redis/);
  });

  it('`serve` exits with advice when the read models are at the event log', async () => {
    const text = await startupError(views(`redis://anna:s3cret@127.0.0.1:${world.log.port}`));
    expect(text).toMatch(/Check .*READ_MODEL_URL/);
  });

  it('`serve` exits with advice when the password of Redis is wrong', async () => {
    const text = await startupError(views(`redis://anna:s3cret@127.0.0.1:${world.redis.port}`));
    expect(text).toMatch(/WRONGPASS.*Check user and password/);
  });

  it('`serve` exits with advice when the certificate of Redis is self-signed', async () => {
    const text = await startupError(views(`rediss://anna:s3cret@localhost:${secure.tlsPort}`));
    expect(text).toMatch(/tlsCAFile in READ_MODEL_URL/);
  });

  it('`serve` exits with advice when Redis requires TLS and the URL has none', async () => {
    const text = await startupError(views(`redis://anna:s3cret@localhost:${secure.tlsPort}`));
    expect(text).toMatch(/rediss:\/\/ if, and only if, the server uses TLS/);
  });

  it('`serve` exits with advice when Redis is a replica', async () => {
    const text = await startupError(views(`redis://127.0.0.1:${replica.port}`));
    expect(text).toMatch(
      /is a replica, which accepts no writes\. Set READ_MODEL_URL to the master/,
    );
  });

  it('`serve` exits with advice when Redis evicts rows', async () => {
    await world.redis.control.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const text = await startupError(views(world.redis.url.href));
    expect(text).toMatch(/Set maxmemory-policy to noeviction/);
    await world.redis.control.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it.each(['projector', 'api', 'dispatcher'])(
    '`serve` exits with advice in the role of %s',
    async (role) => {
      const set = [log(world.log.url), views(`redis://anna:s3cret@127.0.0.1:${world.redis.port}`)];
      const key = `ROOT_KEY=${world.settings['ROOT_KEY']}`;
      const args = ['serve', '--role', role, '--data', temporary.fresh(), '--port', '0'];
      const { code, stderr } = await ended(start(args, [...set, key]));
      expect(code).toBe(CANNOT_START);
      expect(stderr).toMatch(/WRONGPASS.*Check user and password/);
    },
  );
});
