/** What happens to Redis, and what its readers may see of it (right, or not now; soon right again). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { appendMany, awaitPassed } from '../support/engine.ts';
import type { TestRedis } from '../support/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../support/redis-server.ts';
import type { Process, RedisWorld, Told } from '../support/redis-world.ts';
import { more, redisWorld, underLoad } from '../support/redis-world.ts';

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
  const expectRight = async (told: Told): Promise<void> => {
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
    const calls = async (): Promise<number> => {
      const stats = await redis.control.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    };
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      const before = await calls();
      redis.signal('SIGSTOP');
      await more(told, 'rebuilding', 5_000);
      redis.signal('SIGCONT');
      asked = (await calls()) - before;
    });
    expect(asked).toBeLessThan(500);
    await expectRight(told);
  });

  test('flushed under load', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      for (let i = 0; i < 3; i++) {
        await more(told, 'right', 200);
        await redis.control.flushall();
        await more(told, 'rebuilding', 1);
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

  test('restored while nobody writes: the first who reads finds out', async () => {
    await awaitPassed(one.engine, await appendMany(world.log, OWNERS, 5));
  });

  test('full: refuses rows, keeps those it has, and takes more when there is room', async () => {
    const told = await underLoad(world, one, OWNERS, async (told) => {
      await more(told, 'right', 200);
      await redis.control.config('SET', 'maxmemory', 1);
      while (!one.faults.some((fault) => String(fault).includes('OOM')))
        await more(told, 'right', 1);
      const { position } = one.engine.asOf();
      await more(told, 'right', 200);
      expect(one.engine.asOf().position).toBeLessThanOrEqual(position + 1);
      await redis.control.config('SET', 'maxmemory', 0);
    });
    expect(told.rebuilding).toBe(0);
    await expectRight(told);
  });
});
