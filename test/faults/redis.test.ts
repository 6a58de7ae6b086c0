/** What happens to Redis, and what its readers may see of it (right, or not now; soon right again). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { partitionOf } from '#src/ports/read-model.ts';
import { awaitPassed } from '../support/world/engine.ts';
import type { TestRedis } from '../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../support/redis/redis-server.ts';
import type { Process, RedisWorld, Answers } from '../support/redis/redis-world.ts';
import { more, redisWorld, underLoad } from '../support/redis/redis-world.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];
const WAIT_MS_MAX = 250;

describe.skipIf(!hasRedis)(`read models in Redis, ${ON_REDIS}`, () => {
  let redis: TestRedis;
  let world: RedisWorld;
  let one: Process;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(endRedis);
  beforeEach(async () => {
    await redis.control.flushall();
    world = redisWorld(redis.url);
    one = await world.start();
  });
  afterEach(() => world.end());

  /** Nothing wrong was said, nobody waited long, and in the end all is as a fresh fold has it. */
  const expectRight = async (told: Answers): Promise<void> => {
    expect(told.wrong).toEqual([]);
    expect(told.right).toBeGreaterThan(0);
    expect(told.msMax).toBeLessThan(WAIT_MS_MAX);
    expect(await world.mismatches(one)).toEqual([]);
  };

  test('killed, and back with nothing', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      await redis.kill();
      await more(told, 'rebuilding', 200);
      await redis.start();
    });
    await expectRight(told);
  });

  test('stalled: nobody waits for it, and nothing queues up before it', async () => {
    let asked = 0;
    let refused = 0;
    const calls = async (): Promise<number> => {
      const stats = await redis.control.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    };
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      const before = await calls();
      redis.signal('SIGSTOP');
      await more(told, 'rebuilding', 1_000);
      // Long enough for the socket to be given up, too.
      while (!one.faults.some((fault) => String(fault).includes('Socket timeout')))
        await more(told, 'rebuilding', 1);
      refused = told.rebuilding;
      redis.signal('SIGCONT');
      asked = (await calls()) - before;
    });
    expect(asked).toBeLessThan(refused / 2);
    await expectRight(told);
  });

  test('flushed under load', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      for (let i = 0; i < 3; i++) {
        await more(told, 'right', 200);
        const before = await redis.control.keys('*:spaces');
        await redis.control.flushall();
        while ((await redis.control.keys('*:spaces')).length < before.length);
      }
    });
    await expectRight(told);
  });

  test('restored from an older copy', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 100);
      await redis.control.save();
      await more(told, 'right', 500);
      await redis.kill();
      await redis.start();
    });
    expect(told.rebuilding).toBeGreaterThan(0);
    await expectRight(told);
  });

  test('restored while nobody writes: whoever reads first is not told old rows', async () => {
    for (const owner of OWNERS) await world.add(owner);
    await redis.control.save();
    let position = 0;
    for (const owner of OWNERS) position = await world.add(owner);
    await awaitPassed(one.engine, position);
    await world.until(one, 'anna', 2);
    await redis.kill();
    await redis.start();
    const before = await world.until(one, 'anna', 2);
    expect(before.filter((said) => said !== 'rebuilding')).toEqual([]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('full: takes no rows, so nobody is told old ones, until there is room again', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      await redis.control.config('SET', 'maxmemory', 1);
      while (!one.faults.some((fault) => String(fault).includes('OOM')))
        await more(told, 'right', 1);
      // Answers that were read before the first refusal may still be on their way.
      await more(told, 'rebuilding', 200);
      const { right } = told;
      await more(told, 'rebuilding', 200);
      expect(told.right).toBe(right);
      await redis.control.config('SET', 'maxmemory', 0);
    });
    await expectRight(told);
  });

  /** What an eviction takes: any key of any partition, and no other with it. */
  test.each(['head', 'rows', 'order'])('a partition without its %s has nothing', async (part) => {
    let position = 0;
    for (const owner of OWNERS) position = await world.add(owner);
    await awaitPassed(one.engine, position);
    const [taken] = await redis.control.keys(`*{${partitionOf('anna')}}*:${part}`);
    expect(await redis.control.unlink(taken ?? '')).toBe(1);
    expect(await world.ask(one, 'anna')).not.toHaveProperty('said');
    expect(await world.until(one, 'boris', 1)).not.toContain('wrong');
    const told = await underLoad(world, one, OWNERS, (told) => more(told, 'right', 10));
    await expectRight(told);
  });

  test('set to evict while in use: never wrong, and right again when set back', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      await redis.control.config('SET', 'maxmemory-policy', 'allkeys-random');
      await redis.control.config('SET', 'maxmemory', 1);
      await more(told, 'rebuilding', 50);
      await redis.control.config('SET', 'maxmemory', 0);
      await redis.control.config('SET', 'maxmemory-policy', 'noeviction');
    });
    await expectRight(told);
  });
});
