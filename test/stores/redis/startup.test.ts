/** Redis as installations use it: TLS, users, and error texts that say what to check. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisLimits } from '#src/stores/redis/limits.ts';
import { RIGHTS } from '#src/stores/redis/connect.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { redisMembership } from '#src/stores/redis/request-store.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { certificateFor } from '../../support/processes/certificate.ts';
import { directories } from '../../support/processes/directories.ts';
import { HANG_MS } from '../../support/hang.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';

const SPACE = 'things@1.1';
const temporary = directories('tributary-redis-start-');

/** The text of the StartupError; fails when the store opens. */
const refusal = async (url: string): Promise<string> => {
  const error = await redisStore({ url: new URL(url), log: 'one' }).then(
    (store) => store.close(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StartupError);
  return (error as StartupError).message;
};

/** Writes and reads a row, and uses everything else that a process needs. */
const works = async (url: URL): Promise<void> => {
  const store = await redisStore({ url, log: 'one', readMs: HANG_MS });
  const write = { scope: 'anna', key: 'k', row: { n: 1 }, sort: 1 };
  await store.commit(SPACE, [{ partition: partitionOf('anna'), from: 0, to: 1, writes: [write] }]);
  await store.goLive(SPACE);
  expect(await store.find('things', 'anna', 'k')).toMatchObject({ value: { n: 1 } });
  await store.drop(SPACE);
  await store.close();
  const membership = await redisMembership({ url, log: 'one', set: 'things', name: 'me' });
  expect(await membership.renew(1_000)).toEqual(['me']);
  await membership.leave();
  await membership.close();
  const limits = await redisLimits({ url, log: 'one', name: 'me', answerMs: HANG_MS });
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
    redis = await startRedis([], { tls: certificate });
  });
  afterAll(async () => {
    await endRedis();
    temporary.removeAll();
  });

  test('The store works with the authority that signed the certificate', async () => {
    await works(new URL(secure(`?${authority('ca.crt')}`)));
    const clients = await redis.control.info('commandstats');
    expect(clients).toMatch(/cmdstat_evalsha:calls=\d/);
  });

  test('The store works over TLS with a percent-encoded user and password', async () => {
    await redis.control.acl('SETUSER', 'anna', 'on', '>p@ss/word', '~*', '+@all');
    const url = new URL(secure(`?${authority('ca.crt')}`));
    url.username = 'anna';
    url.password = encodeURIComponent('p@ss/word');
    await works(url);
    expect(await redis.control.acl('LOG')).toEqual([]);
  });

  test.each([
    ['the certificate of another authority', 'other.crt', /Check its certificate, and tlsCAFile/],
    ['a missing file', 'nowhere.crt', /tlsCAFile cannot be read/],
    ['a file that is not a certificate', 'junk.crt', /has no certificate in PEM format/],
  ])('The store refuses %s in tlsCAFile', async (_what, file, advice) => {
    expect(await refusal(secure(`?${authority(file)}`))).toMatch(advice);
  });

  test('The store refuses a self-signed certificate', async () => {
    expect(await refusal(secure())).toMatch(/self-signed.*tlsCAFile in READ_MODEL_URL/);
  });

  test('The store refuses a certificate for another host', async () => {
    const elsewhere = certificateFor('redis.example');
    writeFileSync(join(directory, 'elsewhere.crt'), elsewhere.cert);
    const other = await startRedis([], { tls: elsewhere });
    const url = `rediss://localhost:${other.tlsPort}?${authority('elsewhere.crt')}`;
    expect(await refusal(url)).toMatch(/server's certificate was issued for other names/);
    await other.kill();
  });

  test('The error says when only one side uses TLS', async () => {
    expect(await refusal(`redis://localhost:${redis.tlsPort}`)).toMatch(
      /rediss:\/\/ if, and only if, the server uses TLS/,
    );
    expect(await refusal(`rediss://localhost:${redis.port}`)).toMatch(
      /rediss:\/\/ if, and only if, the server uses TLS/,
    );
  });
});

describe.skipIf(!hasRedis)(`Redis at startup, ${ON_REDIS}`, () => {
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

  test('The error says that a web server is not Redis', async () => {
    const { port } = web.address() as AddressInfo;
    expect(await refusal(`redis://127.0.0.1:${port}`)).toMatch(/the server there is not Redis/);
    expect(await refusal(`rediss://127.0.0.1:${port}`)).toMatch(/it does not use TLS/);
  });

  test('A process that is too busy to read the answer in time does not count that as silence', async () => {
    const opening = redisStore({ url: redis.url, log: 'one' });
    const busyUntil = performance.now() + 4_000;
    while (performance.now() < busyUntil);
    await (await opening).close();
  });

  test('A process that is too busy to read an answer in time keeps its connection', async () => {
    const faults: unknown[] = [];
    const onFault = (error: unknown) => faults.push(error);
    const store = await redisStore({ url: redis.url, log: 'one', onFault });
    const answer = store.refresh();
    await setImmediate();
    const busyUntil = performance.now() + 1_500;
    while (performance.now() < busyUntil);
    await answer;
    expect(faults).toEqual([]);
    await store.close();
  });

  test('An unknown user and a wrong password are refused without showing them', async () => {
    await redis.control.acl('SETUSER', 'anna', 'on', '>right', '~*', '+@all');
    const as = (who: string): string => `redis://${who}@127.0.0.1:${redis.port}`;
    for (const who of ['anna:wrong', 'boris:right']) {
      const text = await refusal(as(who));
      expect(text).toMatch(/WRONGPASS.*Check user and password in READ_MODEL_URL/);
      expect(text).not.toContain(who.split(':')[1]);
    }
    await works(new URL(as('anna:right')));
  });

  test('The error for missing rights lists the rights that are needed', async () => {
    await redis.control.acl('SETUSER', 'carla', 'on', '>right', '~*', '+info', '+ping');
    await redis.control.acl('SETUSER', 'dora', 'on', '>right', '~*', '+@all', '-info');
    await redis.control.acl('SETUSER', 'emil', 'on', '>right', '~*', '+@all', '-zadd');
    await redis.control.acl('SETUSER', 'fay', 'on', '>right', '~other:*', '+@all');
    for (const who of ['carla', 'dora', 'emil', 'fay']) {
      const text = await refusal(`redis://${who}:right@127.0.0.1:${redis.port}`);
      expect(text, who).toMatch(/(NOPERM|ACL failure|can't run).*Allow it INFO.*EVALSHA/s);
    }
  });

  test('The store works with exactly the rights that the error lists', async () => {
    const rights = /\(ACL SETUSER NAME (.*?),/.exec(RIGHTS)?.[1]?.split(' ') ?? [];
    expect(rights.length).toBeGreaterThan(5);
    await redis.control.acl('LOG', 'RESET');
    await redis.control.acl('SETUSER', 'gus', 'on', '>right', ...rights);
    await works(new URL(`redis://gus:right@127.0.0.1:${redis.port}`));
    expect(await redis.control.acl('LOG')).toEqual([]);
  });

  test.each([
    ['?tls=true', /option tls is not supported/],
    ['?tlsCAFile=/x', /tlsCAFile requires rediss:/],
    ['/views', /number of a database/],
  ])('A URL with %s is refused', async (rest, reason) => {
    expect(await refusal(`redis://127.0.0.1:${redis.port}${rest}`)).toMatch(reason);
  });

  test('Rows are stored in the database that the URL names', async () => {
    const store = await redisStore({ url: new URL(`${redis.url.href}/3`), log: 'one' });
    const write = { scope: 'anna', key: 'k', row: { n: 1 }, sort: 1 };
    const batch = { partition: partitionOf('anna'), from: 0, to: 1, writes: [write] };
    expect(await store.commit(SPACE, [batch])).toEqual(['committed']);
    await store.close();
    expect(await redis.control.info('keyspace')).toMatch(/^db3:keys=\d/m);
  });
});
