import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requireServer } from '#src/stores/redis/connect.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { PAGE_BYTES, PAGE_ROWS } from '#src/stores/redis/scripts.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { partitionOf, PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';
import { remoteReadersOf } from '../../support/world/readers.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startCluster,
  startRedis,
} from '../../support/redis/redis-server.ts';
import { HANG_MS } from '../../support/hang.ts';

const SPACE = 'things@1.1';
const ANNA = partitionOf('anna');

const batch = (partition: number, from: number, to: number, keys: readonly string[]) => ({
  partition,
  from,
  to,
  writes: keys.map((key, sort) => ({ scope: 'anna', key, row: { key }, sort })),
});

describe.skipIf(!hasRedis)(`the Redis store, ${ON_REDIS}`, () => {
  let redis: TestRedis;
  const opened: RemoteStore[] = [];
  const open = async (log = 'one'): Promise<RemoteStore> => {
    const store = await redisStore({ url: redis.url, log, readMs: HANG_MS });
    opened.push(store);
    return store;
  };

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
    await redis.control.flushall();
  });
  afterAll(endRedis);

  const calls = async (): Promise<Map<string, number>> => {
    const stats = await redis.control.info('commandstats');
    const found = stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g);
    return new Map([...found].map(([, name, count]) => [name ?? '', Number(count)]));
  };

  test('A page and a row are each read in one round trip', async () => {
    const store = await open();
    const keys = Array.from({ length: 60 }, (_, i) => `k${i}`);
    await store.commit(SPACE, [batch(ANNA, 0, 1, keys)]);
    await store.goLive(SPACE);
    await store.page('things', { scope: 'anna', limit: 25 });
    await store.find('things', 'anna', 'k1');
    await redis.control.config('RESETSTAT');
    const { value } = await store.page('things', { scope: 'anna', before: 50, limit: 25 });
    expect(value.rows.map(({ key }) => key)).toEqual(keys.slice(25, 50).toReversed());
    expect((await calls()).get('evalsha')).toBe(1);
    await store.find('things', 'anna', 'k1');
    const counts = await calls();
    expect(counts.get('evalsha')).toBe(2);
    expect([...counts.keys()].toSorted()).toEqual(
      // The commands of the scripts, and of this test.
      ['config|resetstat', 'evalsha', 'hget', 'hlen', 'hmget', 'info', 'zcard', 'zrevrangebylex'],
    );
  });

  test('Redis sends rows again only when the checkpoint of their partition has changed', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a', 'b'])]);
    await store.goLive(SPACE);
    const ask = () => store.page('things', { scope: 'anna', limit: 25 });
    const first = await ask();
    await redis.control.config('RESETSTAT');
    expect(await ask()).toEqual(first);
    expect((await calls()).has('zrevrangebylex')).toBe(false);
    await store.commit(SPACE, [batch(ANNA, 1, 2, ['a', 'b', 'c'])]);
    expect((await ask()).value.rows.map(({ key }) => key)).toEqual(['c', 'b', 'a']);
    // Another space with the same checkpoint and other rows.
    await store.commit('things@1.2', [batch(ANNA, 0, 2, ['z'])]);
    await store.goLive('things@1.2');
    expect((await ask()).value.rows.map(({ key }) => key)).toEqual(['z']);
  });

  test('A list of 1,200 rows is sent in parts of 500 rows, which are cached', async () => {
    const store = await open();
    const keys = Array.from({ length: 1_200 }, (_, i) => `k${i}`);
    await store.commit(SPACE, [batch(ANNA, 0, 1, keys)]);
    await store.goLive(SPACE);
    const ask = () => remoteReadersOf(store).list('things', { scope: 'anna', limit: 5_000 });
    await redis.control.config('RESETSTAT');
    const rows = await ask();
    expect(rows.map(({ key }) => key)).toEqual(keys.toReversed());
    expect((await calls()).get('zrevrangebylex')).toBe(Math.ceil(1_200 / PAGE_ROWS));
    await redis.control.config('RESETSTAT');
    expect(await ask()).toEqual(rows);
    expect((await calls()).has('zrevrangebylex')).toBe(false);
  });

  test('A list of large rows is sent in parts of bounded size, none of which is cached', async () => {
    const store = await open();
    const text = 'x'.repeat(10_000);
    const writes = Array.from({ length: 100 }, (_, i) => ({
      scope: 'anna',
      key: `k${i}`,
      row: { i, text },
      sort: i,
    }));
    await store.commit(SPACE, [{ partition: ANNA, from: 0, to: 1, writes }]);
    await store.goLive(SPACE);
    await redis.control.config('RESETSTAT');
    const rows = await remoteReadersOf(store).list<{ i: number }>('things', {
      scope: 'anna',
      limit: 60,
    });
    expect(rows.map(({ row }) => row.i)).toEqual(Array.from({ length: 60 }, (_, i) => 99 - i));
    const parts = (await calls()).get('evalsha') ?? 0;
    expect(parts).toBe(Math.ceil(60 / Math.ceil(PAGE_BYTES / 10_020)));
    await remoteReadersOf(store).list('things', { scope: 'anna', limit: 60 });
    // The last part is small, and is cached.
    expect((await calls()).get('zrevrangebylex')).toBe(2 * parts - 1);
  });

  test('A row that was just committed is loaded without a round trip, once', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    await redis.control.config('RESETSTAT');
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'a' }])).toEqual([{ key: 'a' }]);
    expect((await calls()).has('evalsha')).toBe(false);
    // The row was handed out and not committed, so the next load reads it from Redis.
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'a' }])).toEqual([{ key: 'a' }]);
    expect((await calls()).get('evalsha')).toBe(1);
  });

  test('A row in memory is not used after another process has folded its partition', async () => {
    const [one, two] = [await open(), await open()];
    const write = (n: number) => ({ scope: 'anna', key: 'a', row: { n }, sort: null });
    const move = (store: RemoteStore, from: number, n: number) =>
      store.commit(SPACE, [{ partition: ANNA, from, to: from + 1, writes: [write(n)] }]);
    await move(one, 0, 1);
    await two.checkpoints(SPACE);
    await move(two, 1, 2);
    const keys = [{ scope: 'anna', key: 'a' }];
    expect((await one.checkpoints(SPACE))[ANNA]).toBe(2);
    expect(await one.load(SPACE, keys)).toEqual([{ n: 2 }]);
    await move(one, 2, 3);
    await move(two, 3, 4);
    // The first process does not know that the checkpoint has moved, and must not mix old and new rows.
    expect(await move(one, 4, 5)).toEqual(['stale']);
  });

  test('A dropped space leaves only heads that expire', async () => {
    const [store, paused] = [await open(), await open()];
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    await paused.checkpoints(SPACE);
    await store.drop(SPACE);
    const left = await redis.control.keys('*');
    expect(left.filter((key) => !key.endsWith(':head'))).toEqual([]);
    expect(await redis.control.ttl(left[0] ?? '')).toBeGreaterThan(0);
    expect(await paused.commit(SPACE, [batch(ANNA, 1, 2, ['b'])])).toEqual(['stale']);
    expect(await redis.control.keys('*:rows')).toEqual([]);
  });

  test('A projector that was paused during a drop cannot fill the dropped space', async () => {
    const [store, paused] = [await open(), await open()];
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    const [table = ''] = await redis.control.keys('*:spaces');
    const id = (await redis.control.hget(table, `id:${SPACE}`)) ?? '';
    await store.drop(SPACE);
    await redis.control.hset(table, `id:${SPACE}`, id);
    for (const partition of [ANNA, partitionOf('boris')])
      expect(await paused.commit(SPACE, [batch(partition, 0, 1, ['b'])])).toEqual(['stale']);
    expect(await redis.control.keys('*:rows')).toEqual([]);
    for (const head of await redis.control.keys('*:head'))
      expect(await redis.control.ttl(head)).toBeGreaterThan(0);
  });

  test('A partition that starts after a flush is in a space that other processes find', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    await redis.control.flushall();
    const boris = partitionOf('boris');
    expect(await store.commit(SPACE, [batch(boris, 0, 1, ['b'])])).toEqual(['committed']);
    expect((await (await open()).checkpoints(SPACE))[boris]).toBe(1);
  });

  test('A space that is filled again after a flush is not taken for the one before', async () => {
    const [store, reader] = [await open(), await open()];
    await store.commit(SPACE, [batch(ANNA, 0, 2, ['a', 'b'])]);
    await store.goLive(SPACE);
    await reader.refresh();
    expect(await reader.find('things', 'anna', 'b')).toMatchObject({ space: SPACE, checkpoint: 2 });
    await redis.control.flushall();
    const another = await open();
    expect(await another.commit(SPACE, [batch(ANNA, 0, 1, ['a'])])).toEqual(['committed']);
    expect(await reader.find('things', 'anna', 'a')).toMatchObject({ space: null });
  });

  test('The next start completes a drop that was interrupted', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    const [table = ''] = await redis.control.keys('*:spaces');
    const id = (await redis.control.hget(table, `id:${SPACE}`)) ?? '';
    await redis.control.hdel(table, `id:${SPACE}`);
    await redis.control.hset(table, `dropping:${id}`, SPACE);
    await open();
    expect(await redis.control.keys('*:rows')).toEqual([]);
    expect(await redis.control.exists(table)).toBe(0);
  });

  const refused = async (url: URL): Promise<string> => {
    const error = await redisStore({ url, log: 'one' }).then(
      (store) => store.close(),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StartupError);
    return (error as StartupError).message;
  };

  test('A server that evicts rows, is a replica, or is too old is refused', async () => {
    await redis.control.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await refused(redis.url)).toContain('Set maxmemory-policy to noeviction');
    await redis.control.config('SET', 'maxmemory-policy', 'noeviction');
    const replica = await startRedis(['--replicaof', `127.0.0.1 ${redis.port}`]);
    expect(await refused(replica.url)).toContain('is a replica');
    await replica.kill();
    expect(() => requireServer(new Map([['redis_version', '6.2.6']]), redis.url)).toThrow(
      'version 6.2.6; 7.0 or later is needed',
    );
  });

  test('The error says what to check when the server is silent or absent', async () => {
    const silent: Socket[] = [];
    const server: Server = createServer((socket) => silent.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [mute, absent] = await Promise.all([
      refused(new URL(`redis://:secret@127.0.0.1:${port}`)),
      refused(new URL('redis://127.0.0.1:1')),
    ]);
    for (const socket of silent) socket.destroy();
    server.close();
    await once(server, 'close');
    expect(mute).toContain('Check READ_MODEL_URL');
    expect(mute).not.toContain('secret');
    expect(absent).toContain('ECONNREFUSED');
  });

  test('A missing and a wrong password are reported', async () => {
    const withPassword = (password: string): URL =>
      new URL(`redis://:${password}@127.0.0.1:${redis.port}`);
    await redis.control.config('SET', 'requirepass', 'right');
    expect(await refused(redis.url)).toContain('NOAUTH');
    expect(await refused(withPassword('wrong'))).toContain('WRONGPASS');
    await (await redisStore({ url: withPassword('right'), log: 'one' })).close();
    await redis.control.config('SET', 'requirepass', '');
  });
});

describe.skipIf(!hasRedis)(`the Redis store in a cluster, ${ON_REDIS}`, () => {
  afterAll(endRedis);

  test('Partitions are spread over the servers, and only those of a failed server are unavailable', async () => {
    const nodes = await startCluster();
    const store = await redisStore({ url: nodes[0]?.url ?? new URL('redis://none'), log: 'one' });
    const scopes = new Map<number, string>();
    for (let i = 0; scopes.size < PARTITIONS; i++) scopes.set(partitionOf(`o${i}`), `o${i}`);
    const batches = [...scopes].map(([partition, scope]) => ({
      partition,
      from: 0,
      to: 1,
      writes: [{ scope, key: 'a', row: { scope }, sort: 1 }],
    }));
    await store.commit(SPACE, batches);
    await store.goLive(SPACE);
    const heads = await Promise.all(nodes.map(({ control }) => control.keys('*:head')));
    const shares = heads.map(({ length }) => length);
    const homeOf = (scope: string): number =>
      heads.findIndex((keys) => keys.some((key) => key.includes(`{${partitionOf(scope)}}`)));
    expect(shares.reduce((sum, share) => sum + share)).toBe(PARTITIONS);
    expect(Math.min(...shares)).toBeGreaterThan(PARTITIONS / 6);
    await nodes[2]?.control.flushall();
    const lost: string[] = [];
    // On a busy machine an answer can be late; then it is requested again, after a turn in which it can arrive.
    const found = (scope: string): ReturnType<typeof store.find> =>
      store.find('things', scope, 'a').catch(() => turn().then(() => found(scope)));
    for (const scope of scopes.values())
      if ((await found(scope)).checkpoint === undefined) lost.push(scope);
    expect(lost.map(homeOf)).toEqual(new Array(shares[2]).fill(2));
    nodes[1]?.signal('SIGSTOP');
    const ask = async (scope: string): Promise<string> => {
      const asked = store.find('things', scope, 'a');
      return asked.then(() => '').catch((error: Error) => `${error.name}: ${error.message}`);
    };
    const late: string[] = [];
    await Promise.all(
      [...scopes.values()].map(async (scope) => {
        if ((await ask(scope)).includes('ReadModelRebuilding')) late.push(scope);
      }),
    );
    expect(late.length).toBeGreaterThanOrEqual(shares[1] ?? 0);
    const stalled = late.filter((scope) => homeOf(scope) === 1);
    expect(stalled).toHaveLength(shares[1] ?? 0);
    const untilAnswered = async (scope: string): Promise<void> => {
      while ((await ask(scope)) !== '') await turn();
    };
    for (const scope of stalled) expect(await ask(scope)).toContain('does not answer');
    for (const scope of scopes.values()) if (homeOf(scope) === 0) await untilAnswered(scope);
    for (const scope of stalled) expect(await ask(scope)).toContain('does not answer');
    nodes[1]?.signal('SIGCONT');
    for (const scope of stalled) await untilAnswered(scope);
    await store.close();
  });
});
