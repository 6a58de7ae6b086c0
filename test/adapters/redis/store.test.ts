import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requireServer } from '#src/adapters/redis/connect.ts';
import { redisStore } from '#src/adapters/redis/read-model.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { partitionOf, PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startCluster,
  startRedis,
} from '../../support/redis/redis-server.ts';

const SPACE = 'things@1.1';
const ANNA = partitionOf('anna');
const START_MS_MAX = 5_000;
/** Where time is not the question, a busy machine must not be the answer. */
const PATIENT_MS = 10_000;

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
    const store = await redisStore({ url: redis.url, log, readMs: PATIENT_MS });
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

  test('answers a page of rows and a row in one round trip each', async () => {
    const store = await open();
    const keys = Array.from({ length: 60 }, (_, i) => `k${i}`);
    await store.commit(SPACE, [batch(ANNA, 0, 1, keys)]);
    await store.goLive('things', SPACE);
    await store.page('things', { scope: 'anna', limit: 25 });
    await store.find('things', 'anna', 'k1');
    await redis.control.config('RESETSTAT');
    const { value } = await store.page('things', { scope: 'anna', before: 50, limit: 25 });
    expect(value.map(({ key }) => key)).toEqual(keys.slice(25, 50).toReversed());
    expect((await calls()).get('evalsha')).toBe(1);
    await store.find('things', 'anna', 'k1');
    const asked = await calls();
    expect(asked.get('evalsha')).toBe(2);
    expect([...asked.keys()].toSorted()).toEqual(
      // What the scripts themselves do, and how we look.
      ['config|resetstat', 'evalsha', 'hget', 'hlen', 'hmget', 'info', 'zcard', 'zrevrangebylex'],
    );
  });

  test('sends the same rows once, until their partition moves', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a', 'b'])]);
    await store.goLive('things', SPACE);
    const ask = () => store.page('things', { scope: 'anna', limit: 25 });
    const first = await ask();
    await redis.control.config('RESETSTAT');
    expect(await ask()).toEqual(first);
    expect((await calls()).has('zrevrangebylex')).toBe(false);
    await store.commit(SPACE, [batch(ANNA, 1, 2, ['a', 'b', 'c'])]);
    expect((await ask()).value.map(({ key }) => key)).toEqual(['c', 'b', 'a']);
    // Another space at the same place, with a row that the first had wrong.
    await store.commit('things@1.2', [batch(ANNA, 0, 2, ['z'])]);
    await store.goLive('things', 'things@1.2');
    expect((await ask()).value.map(({ key }) => key)).toEqual(['z']);
  });

  test('sends as many rows once as a month of a busy owner has', async () => {
    const store = await open();
    const keys = Array.from({ length: 2_000 }, (_, i) => `k${i}`);
    await store.commit(SPACE, [batch(ANNA, 0, 1, keys)]);
    await store.goLive('things', SPACE);
    const ask = () => store.page('things', { scope: 'anna', limit: 5_000 });
    const { value } = await ask();
    expect(value).toHaveLength(2_000);
    await redis.control.config('RESETSTAT');
    expect((await ask()).value).toEqual(value);
    expect((await calls()).has('zrevrangebylex')).toBe(false);
  });

  test('folds a busy row without asking for it again', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    await redis.control.config('RESETSTAT');
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'a' }])).toEqual([{ key: 'a' }]);
    expect((await calls()).has('evalsha')).toBe(false);
    // Lent, and not given back: the next who asks gets it from Redis.
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'a' }])).toEqual([{ key: 'a' }]);
    expect((await calls()).get('evalsha')).toBe(1);
  });

  test('does not fold rows of before, when others have folded the partition since', async () => {
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
    // Not told that the partition has moved, it is refused before it can mix the two.
    expect(await move(one, 4, 5)).toEqual(['stale']);
  });

  test('leaves nothing of a dropped space but word that it is gone', async () => {
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

  test('is not filled again for nobody by who learnt of a space before it was dropped', async () => {
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

  test('begins a partition in a space that others find, whatever became of the one before', async () => {
    const store = await open();
    await store.commit(SPACE, [batch(ANNA, 0, 1, ['a'])]);
    await redis.control.flushall();
    const boris = partitionOf('boris');
    expect(await store.commit(SPACE, [batch(boris, 0, 1, ['b'])])).toEqual(['committed']);
    expect((await (await open()).checkpoints(SPACE))[boris]).toBe(1);
  });

  test('takes a space that is filled again for another, though it has the name', async () => {
    const [store, reader] = [await open(), await open()];
    await store.commit(SPACE, [batch(ANNA, 0, 2, ['a', 'b'])]);
    await store.goLive('things', SPACE);
    await reader.refresh();
    expect(await reader.find('things', 'anna', 'b')).toMatchObject({ space: SPACE, checkpoint: 2 });
    await redis.control.flushall();
    const another = await open();
    expect(await another.commit(SPACE, [batch(ANNA, 0, 1, ['a'])])).toEqual(['committed']);
    expect(await reader.find('things', 'anna', 'a')).toMatchObject({ space: null });
  });

  test('ends at its next start a drop that was broken off', async () => {
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
    const began = performance.now();
    const error = await redisStore({ url, log: 'one' }).then(
      (store) => store.close(),
      (reason: unknown) => reason,
    );
    expect(performance.now() - began).toBeLessThan(START_MS_MAX);
    expect(error).toBeInstanceOf(StartupError);
    return (error as StartupError).message;
  };

  test('refuses a server that throws rows away, or takes none', async () => {
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

  test('says what to check when nobody answers, or nobody is there', async () => {
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

  test('says at once that the password is wrong', async () => {
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

  test('spreads its partitions, and loses only those of the server that fails', async () => {
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
    await store.goLive('things', SPACE);
    const heads = await Promise.all(nodes.map(({ control }) => control.keys('*:head')));
    const shares = heads.map(({ length }) => length);
    const homeOf = (scope: string): number =>
      heads.findIndex((keys) => keys.some((key) => key.includes(`{${partitionOf(scope)}}`)));
    expect(shares.reduce((sum, share) => sum + share)).toBe(PARTITIONS);
    expect(Math.min(...shares)).toBeGreaterThan(PARTITIONS / 6);
    await nodes[2]?.control.flushall();
    const lost: string[] = [];
    // On a busy machine an answer may be too late: it is asked for again.
    const found = (scope: string): ReturnType<typeof store.find> =>
      store.find('things', scope, 'a').catch(() => found(scope));
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
      while ((await ask(scope)) !== '') await new Promise((turn) => setImmediate(turn));
    };
    for (const scope of stalled) expect(await ask(scope)).toContain('gives no answers');
    for (const scope of scopes.values()) if (homeOf(scope) === 0) await untilAnswered(scope);
    for (const scope of stalled) expect(await ask(scope)).toContain('gives no answers');
    nodes[1]?.signal('SIGCONT');
    for (const scope of stalled) await untilAnswered(scope);
    await store.close();
  });
});
