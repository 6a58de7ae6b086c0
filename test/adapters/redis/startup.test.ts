/** Redis as installations have it: TLS, users, and what is wrong with it told in words that help. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisLimits } from '#src/adapters/redis/limits.ts';
import { RIGHTS } from '#src/adapters/redis/ready.ts';
import { redisStore } from '#src/adapters/redis/read-model.ts';
import { redisRoll } from '#src/adapters/redis/roll.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { certificateFor } from '../../support/processes/certificate.ts';
import { directories } from '../../support/processes/directories.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';

const START_MS_MAX = 5_000;
const SPACE = 'things@1.1';
const temporary = directories('tributary-redis-start-');

/** What the operator is told; fails when it starts. */
const refusal = async (url: string): Promise<string> => {
  const began = performance.now();
  const error = await redisStore({ url: new URL(url), log: 'one' }).then(
    (store) => store.close(),
    (reason: unknown) => reason,
  );
  expect(performance.now() - began).toBeLessThan(START_MS_MAX);
  expect(error).toBeInstanceOf(StartupError);
  return (error as StartupError).message;
};

/** Rows go there and come back, and nothing is in the way of what else a process asks for. */
const works = async (url: URL): Promise<void> => {
  const store = await redisStore({ url, log: 'one', readMs: 10_000 });
  const write = { scope: 'anna', key: 'k', row: { n: 1 }, sort: 1 };
  await store.commit(SPACE, [{ partition: partitionOf('anna'), from: 0, to: 1, writes: [write] }]);
  await store.goLive('things', SPACE);
  expect(await store.find('things', 'anna', 'k')).toMatchObject({ value: { n: 1 } });
  await store.drop(SPACE);
  await store.close();
  const roll = await redisRoll({ url, log: 'one', set: 'things', name: 'me' });
  expect(await roll.call(1_000)).toEqual(['me']);
  await roll.leave();
  await roll.close();
  const limits = await redisLimits({ url, log: 'one', name: 'me' });
  expect(await limits.add('key', 10)).toBeGreaterThan(0);
  await limits.close();
};

describe.skipIf(!hasRedis)(`Redis over TLS, ${ON_REDIS}`, () => {
  const certificate = certificateFor('localhost');
  let redis: TestRedis & { tlsPort: number };
  let directory: string;
  const authority = (name: string): string => `tlsCAFile=${join(directory, name)}`;
  const secure = (query = ''): string => `rediss://localhost:${redis.tlsPort}${query}`;
  beforeAll(async () => {
    directory = temporary.fresh();
    writeFileSync(join(directory, 'ca.crt'), certificate.cert);
    writeFileSync(join(directory, 'other.crt'), certificateFor('localhost').cert);
    writeFileSync(join(directory, 'junk.crt'), 'hello');
    redis = await startRedis([], undefined, certificate);
  });
  afterAll(async () => {
    await endRedis();
    temporary.removeAll();
  });

  test('works with the authority that signed its certificate', async () => {
    await works(new URL(secure(`?${authority('ca.crt')}`)));
    const clients = await redis.control.info('commandstats');
    expect(clients).toMatch(/cmdstat_evalsha:calls=\d/);
  });

  test('works with a user and a password beside it, percent-encoded', async () => {
    await redis.control.acl('SETUSER', 'anna', 'on', '>p@ss/word', '~*', '+@all');
    const url = new URL(secure(`?${authority('ca.crt')}`));
    url.username = 'anna';
    url.password = encodeURIComponent('p@ss/word');
    await works(url);
    expect(await redis.control.acl('LOG')).toEqual([]);
  });

  test.each([
    ['another authority', 'other.crt', /Check its certificate, and tlsCAFile/],
    ['no such file', 'nowhere.crt', /tlsCAFile cannot be read/],
    ['a file of something else', 'junk.crt', /holds no certificate in PEM/],
  ])('refuses %s', async (_what, file, told) => {
    expect(await refusal(secure(`?${authority(file)}`))).toMatch(told);
  });

  test('refuses a certificate that nobody vouches for', async () => {
    expect(await refusal(secure())).toMatch(/self-signed.*tlsCAFile in READ_MODEL_URL/);
  });

  test('refuses a certificate for another host', async () => {
    const elsewhere = certificateFor('redis.example');
    writeFileSync(join(directory, 'elsewhere.crt'), elsewhere.cert);
    const other = await startRedis([], undefined, elsewhere);
    const url = `rediss://localhost:${other.tlsPort}?${authority('elsewhere.crt')}`;
    expect(await refusal(url)).toMatch(/certificate of the server is for other names/);
    await other.kill();
  });

  test('says that TLS is spoken at one end only', async () => {
    expect(await refusal(`redis://localhost:${redis.tlsPort}`)).toMatch(
      /rediss:\/\/ exactly where the server speaks TLS/,
    );
    expect(await refusal(`rediss://localhost:${redis.port}`)).toMatch(
      /rediss:\/\/ exactly where the server speaks TLS/,
    );
  });
});

describe.skipIf(!hasRedis)(`Redis that cannot be used, ${ON_REDIS}`, () => {
  let redis: TestRedis;
  let web: Server;
  beforeAll(async () => {
    redis = await startRedis();
    web = createServer((_request, response) => response.end('hello'));
    await once(web.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    web.closeAllConnections();
    web.close();
    await endRedis();
  });

  test('is a web server', async () => {
    const { port } = web.address() as AddressInfo;
    expect(await refusal(`redis://127.0.0.1:${port}`)).toMatch(/what answers there is not Redis/);
    expect(await refusal(`rediss://127.0.0.1:${port}`)).toMatch(/it speaks no TLS/);
  });

  test('knows no such user, or has another password', async () => {
    await redis.control.acl('SETUSER', 'anna', 'on', '>right', '~*', '+@all');
    const as = (who: string): string => `redis://${who}@127.0.0.1:${redis.port}`;
    for (const who of ['anna:wrong', 'boris:right']) {
      const told = await refusal(as(who));
      expect(told).toMatch(/WRONGPASS.*Check user and password in READ_MODEL_URL/);
      expect(told).not.toContain(who.split(':')[1]);
    }
    await works(new URL(as('anna:right')));
  });

  test('lets its user do too little', async () => {
    await redis.control.acl('SETUSER', 'carla', 'on', '>right', '~*', '+info', '+ping');
    await redis.control.acl('SETUSER', 'dora', 'on', '>right', '~*', '+@all', '-info');
    await redis.control.acl('SETUSER', 'emil', 'on', '>right', '~*', '+@all', '-zadd');
    await redis.control.acl('SETUSER', 'fay', 'on', '>right', '~other:*', '+@all');
    for (const who of ['carla', 'dora', 'emil', 'fay']) {
      const told = await refusal(`redis://${who}:right@127.0.0.1:${redis.port}`);
      expect(told, who).toMatch(/(NOPERM|ACL failure|can't run).*Allow it INFO.*EVALSHA/s);
    }
  });

  test('works with the rights that its refusal names, and no others', async () => {
    const rights = /\(ACL SETUSER NAME (.*?),/.exec(RIGHTS)?.[1]?.split(' ') ?? [];
    expect(rights.length).toBeGreaterThan(5);
    await redis.control.acl('LOG', 'RESET');
    await redis.control.acl('SETUSER', 'gus', 'on', '>right', ...rights);
    await works(new URL(`redis://gus:right@127.0.0.1:${redis.port}`));
    expect(await redis.control.acl('LOG')).toEqual([]);
  });

  test.each([
    ['?tls=true', /option tls is not known/],
    ['?tlsCAFile=/x', /tlsCAFile is for rediss:\/\/ alone/],
    ['/views', /number of a database/],
  ])('is named by a URL with %s', async (rest, told) => {
    expect(await refusal(`redis://127.0.0.1:${redis.port}${rest}`)).toMatch(told);
  });

  test('has the rows in the database that the URL names', async () => {
    const store = await redisStore({ url: new URL(`${redis.url.href}/3`), log: 'one' });
    const write = { scope: 'anna', key: 'k', row: { n: 1 }, sort: 1 };
    const batch = { partition: partitionOf('anna'), from: 0, to: 1, writes: [write] };
    expect(await store.commit(SPACE, [batch])).toEqual(['committed']);
    await store.close();
    expect(await redis.control.info('keyspace')).toMatch(/^db3:keys=\d/m);
  });
});
