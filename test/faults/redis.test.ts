/** Faults of Redis: a reader gets the right rows or a refusal, and the right rows again soon after. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { partitionOf } from '#src/ports/read-model.ts';
import { buildDiskFaults, type DiskFaults } from '../support/disk/disk-faults.ts';
import { until } from '../support/clients/cli.ts';
import { directories } from '../support/processes/directories.ts';
import { awaitPassed } from '../support/world/engine.ts';
import type { TestRedis } from '../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../support/redis/redis-server.ts';
import type { Process, RedisWorld, Answers } from '../support/redis/redis-world.ts';
import { awaitAnswers, redisWorld, underLoad } from '../support/redis/redis-world.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];
const temporary = directories('redis-disk-');
const disk = buildDiskFaults(temporary.fresh());
afterAll(temporary.removeAll);

const awaitFault = async ({ faults }: Process, text: string): Promise<void> =>
  expect(await until(() => faults.some((fault) => String(fault).includes(text)))).toBe(true);

describe.skipIf(!hasRedis)(`The read models in Redis, ${ON_REDIS},`, () => {
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

  /** No answer was wrong, and the rows are equal to a fresh fold in the end. */
  const expectRight = async (answers: Answers): Promise<void> => {
    expect(answers.wrong).toEqual([]);
    expect(answers.right).toBeGreaterThan(0);
    expect(await world.mismatches(one)).toEqual([]);
  };

  test('The read models in Redis are never wrong while Redis is killed and starts again empty, and are complete afterwards', async () => {
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      await redis.kill();
      await awaitAnswers(answers, 'rebuilding', 200);
      await redis.start();
    });
    await expectRight(answers);
  });

  test('The read models in Redis are refused without waiting while Redis is stalled, and no calls queue up', async () => {
    let sent = 0;
    let refused = 0;
    const calls = async (): Promise<number> => {
      const stats = await redis.control.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    };
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      const before = await calls();
      redis.signal('SIGSTOP');
      await awaitAnswers(answers, 'rebuilding', 1_000);
      // Continues until the socket is closed, too.
      await awaitFault(one, 'socket timeout');
      refused = answers.rebuilding;
      redis.signal('SIGCONT');
      sent = (await calls()) - before;
    });
    expect(sent).toBeLessThan(refused / 2);
    await expectRight(answers);
  });

  test('The read models in Redis are never wrong while Redis is flushed under load, and are complete afterwards', async () => {
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      for (let i = 0; i < 3; i++) {
        await awaitAnswers(answers, 'right', 200);
        const before = await redis.control.keys('*:spaces');
        await redis.control.flushall();
        while ((await redis.control.keys('*:spaces')).length < before.length);
      }
    });
    await expectRight(answers);
  });

  test('The read models in Redis are never wrong after Redis loads an older copy under load', async () => {
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 100);
      await redis.control.save();
      await awaitAnswers(answers, 'right', 500);
      await redis.kill();
      await redis.start();
    });
    expect(answers.rebuilding).toBeGreaterThan(0);
    await expectRight(answers);
  });

  test('The read models in Redis are refused to the first reader after Redis loads an older copy while nobody writes', async () => {
    for (const owner of OWNERS) await world.add(owner);
    await redis.control.save();
    let position = 0;
    for (const owner of OWNERS) position = await world.add(owner);
    await awaitPassed(one.engine, position);
    await world.readUntil(one, 'anna', 2);
    await redis.kill();
    await redis.start();
    const before = await world.readUntil(one, 'anna', 2);
    expect(before.filter((answer) => answer !== 'rebuilding')).toEqual([]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('The read models in Redis are refused instead of stale while Redis is full, and are complete afterwards', async () => {
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      await redis.control.config('SET', 'maxmemory', 1);
      await awaitFault(one, 'OOM');
      // Reads that began before the first refused write can still be pending.
      await awaitAnswers(answers, 'rebuilding', 200);
      const { right } = answers;
      await awaitAnswers(answers, 'rebuilding', 200);
      expect(answers.right).toBe(right);
      await redis.control.config('SET', 'maxmemory', 0);
    });
    await expectRight(answers);
  });

  /** An eviction can remove any one key of a partition. */
  test.each(['head', 'rows', 'order'])(
    'The read models in Redis are complete again after the %s of a partition was evicted',
    async (part) => {
      let position = 0;
      for (const owner of OWNERS) position = await world.add(owner);
      await awaitPassed(one.engine, position);
      const [evicted] = await redis.control.keys(`*{${partitionOf('anna')}}*:${part}`);
      expect(await redis.control.unlink(evicted ?? '')).toBe(1);
      expect((await world.ask(one, 'anna')).kind).not.toBe('wrong');
      expect(await world.readUntil(one, 'boris', 1)).not.toContain('wrong');
      const answers = await underLoad(world, one, OWNERS, (answers) =>
        awaitAnswers(answers, 'right', 10),
      );
      await expectRight(answers);
    },
  );

  /** Changes the count in the stored row of an owner. */
  const damage = async (owner: string): Promise<void> => {
    const [rows = ''] = await redis.control.keys(`*{${partitionOf(owner)}}*:rows`);
    const field = `${owner}\0tally`;
    const value = (await redis.control.hget(rows, field)) ?? '';
    await redis.control.hset(rows, field, value.replace('"count":1', '"count":3'));
  };
  const reported = (owner: string): RegExp =>
    new RegExp(`^tally@1\\.1, partition ${partitionOf(owner)}: .*hash`);

  test('The read models in Redis are filled again after a damaged row was read, which is never answered', async () => {
    for (const owner of OWNERS) await awaitPassed(one.engine, await world.add(owner));
    await damage('anna');
    expect((await world.ask(one, 'anna')).kind).toBe('rebuilding');
    const answers = await world.readUntil(one, 'anna', 1);
    expect(answers.filter((answer) => answer !== 'rebuilding')).toEqual([]);
    expect(one.discarded).toEqual([expect.stringMatching(reported('anna'))]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('The read models in Redis are filled again after a damaged row was loaded for an event', async () => {
    for (const owner of OWNERS) await awaitPassed(one.engine, await world.add(owner));
    await one.stop();
    await damage('anna');
    one = await world.start();
    await awaitPassed(one.engine, await world.add('anna'));
    expect(await world.readUntil(one, 'anna', 2)).not.toContain('wrong');
    expect(one.discarded).toEqual([expect.stringMatching(reported('anna'))]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('The read models in Redis are filled again by the projector after verify found a damaged row', async () => {
    const api = await world.start({ partitions: [] });
    for (const owner of OWNERS) await awaitPassed(one.engine, await world.add(owner));
    await damage('anna');
    await expect(world.mismatches(api)).rejects.toThrow('is being filled');
    expect(api.discarded).toEqual([expect.stringMatching(reported('anna'))]);
    const answers = await world.readUntil(api, 'anna', 1);
    expect(answers.filter((answer) => answer !== 'rebuilding')).toEqual([]);
    expect(await world.mismatches(api)).toEqual([]);
  });

  test('The read models in Redis are never wrong while Redis evicts rows, and are complete once it stops', async () => {
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      await redis.control.config('SET', 'maxmemory-policy', 'allkeys-random');
      await redis.control.config('SET', 'maxmemory', 1);
      await awaitAnswers(answers, 'rebuilding', 50);
      await redis.control.config('SET', 'maxmemory', 0);
      await redis.control.config('SET', 'maxmemory-policy', 'noeviction');
    });
    await expectRight(answers);
  });
});

describe.skipIf(!hasRedis || !disk)(
  `A Redis that persists its rows (needs cc on Linux), ${ON_REDIS},`,
  () => {
    const faults = disk as DiskFaults;
    afterAll(endRedis);

    test('Redis that persists its rows makes reads refused instead of stale while its disk is full, and complete afterwards', async () => {
      const settings = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
      const redis = await startRedis(settings, { environment: faults.settings });
      const world = redisWorld(redis.url);
      const one = await world.start();
      const answers = await underLoad(world, one, OWNERS, async (answers) => {
        await awaitAnswers(answers, 'right', 200);
        faults.fail(['write'], 'ENOSPC', redis.directory);
        await awaitFault(one, 'No space left');
        // Reads that began before the first refused write can still be pending.
        await awaitAnswers(answers, 'rebuilding', 200);
        const { right } = answers;
        await awaitAnswers(answers, 'rebuilding', 200);
        expect(answers.right).toBe(right);
        faults.end();
      });
      expect(answers.wrong).toEqual([]);
      expect(await world.mismatches(one)).toEqual([]);
      await world.end();
    });
  },
);
