/** Several processes over one Redis: its checkpoints alone keep every answer right. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { partitionOf, ALL_PARTITIONS, type RemoteStore } from '#src/ports/read-model.ts';
import { awaitPassed, rebuild, tally } from '../support/world/engine.ts';
import type { TestRedis } from '../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../support/redis/redis-server.ts';
import {
  awaitAnswers,
  redisWorld,
  type RedisWorld,
  underLoad,
} from '../support/redis/redis-world.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];

describe.skipIf(!hasRedis)(`Processes that share read models, ${ON_REDIS},`, () => {
  let redis: TestRedis;
  let world: RedisWorld;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(endRedis);
  beforeEach(async () => {
    await redis.control.flushall();
    world = redisWorld(redis.url);
  });
  afterEach(() => world.end());

  test('Processes that share read models reject the batch of a projector that was paused while others continued', async () => {
    let wake = (): void => {};
    let pause: Promise<void> | undefined;
    const woken: string[] = [];
    const pausing = (store: RemoteStore): RemoteStore => ({
      ...store,
      async commit(space, batches) {
        if (!pause) return store.commit(space, batches);
        await pause;
        const answers = await store.commit(space, batches);
        woken.push(...answers);
        return answers;
      },
    });
    const one = await world.start({ wrap: pausing });
    for (const owner of OWNERS) await awaitPassed(one.engine, await world.add(owner));
    pause = new Promise((resolve) => (wake = resolve));
    await world.add('anna');
    const two = await world.start();
    for (let i = 0; i < 3; i++) await awaitPassed(two.engine, await world.add('anna'));
    expect(await world.readUntil(two, 'anna', 5)).not.toContain('wrong');
    pause = undefined;
    wake();
    await awaitPassed(one.engine, (await world.log.head()).position);
    expect(woken).toEqual(['stale']);
    expect(await world.readUntil(one, 'anna', 5)).not.toContain('wrong');
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('Processes that share read models count no event twice when two of them fold the same partitions', async () => {
    const one = await world.start();
    await world.start();
    const answers = await underLoad(world, one, OWNERS, (answers) =>
      awaitAnswers(answers, 'right', 500),
    );
    expect(answers.wrong).toEqual([]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('Processes without partitions answer from folded rows, and refuse a lagging partition', async () => {
    const projector = await world.start();
    const api = await world.start({ partitions: [] });
    await awaitPassed(api.engine, await world.add('anna'));
    await world.readUntil(api, 'anna', 1);
    await projector.stop();
    await awaitPassed(api.engine, await world.add('anna'));
    expect(await world.ask(api, 'anna')).toMatchObject({ kind: 'rebuilding' });
    expect(await world.readUntil(api, 'boris', 0)).not.toContain('wrong');
    await world.start();
    expect(await world.readUntil(api, 'anna', 2)).not.toContain('wrong');
  });

  test('Processes with different partitions fill the same space again after a flush', async () => {
    const here = ALL_PARTITIONS.filter((partition) => partition <= partitionOf('anna'));
    const there = ALL_PARTITIONS.filter((partition) => partition > partitionOf('anna'));
    expect(OWNERS.some((owner) => there.includes(partitionOf(owner)))).toBe(true);
    const one = await world.start({ partitions: here, recheckMs: 50 });
    await world.start({ partitions: there, recheckMs: 50 });
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      await redis.control.flushall();
      await awaitAnswers(answers, 'right', 200);
    });
    expect(answers.wrong).toEqual([]);
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('Processes that share read models switch to the space that another process made live', async () => {
    const one = await world.start({ recheckMs: 50 });
    const two = await world.start();
    const answers = await underLoad(world, one, OWNERS, async (answers) => {
      await awaitAnswers(answers, 'right', 200);
      const { store, engine } = two;
      await rebuild({ log: world.log, store, engine, projection: tally() });
      while ((await one.engine.status())[0]?.space !== 'tally@1.2')
        await awaitAnswers(answers, 'right', 1);
      await awaitAnswers(answers, 'right', 200);
    });
    expect(answers.wrong).toEqual([]);
    expect((await one.store.spaces('tally')).live).toBe('tally@1.2');
    expect(await world.mismatches(one)).toEqual([]);
  });

  test('Processes without partitions can rebuild a space, answer at once, and leave it to the projector', async () => {
    let folds = 0;
    const counted = (store: RemoteStore): RemoteStore => ({
      ...store,
      load(space, keys, at) {
        folds += 1;
        return store.load(space, keys, at);
      },
    });
    const projector = await world.start({ partitions: ALL_PARTITIONS, recheckMs: 50 });
    const api = await world.start({ partitions: [], recheckMs: 50, wrap: counted });
    for (const owner of OWNERS) await awaitPassed(projector.engine, await world.add(owner));
    const { store, engine } = api;
    await rebuild({ log: world.log, store, engine, projection: tally() });
    expect((await store.spaces('tally')).live).toBe('tally@1.2');
    let count = 1;
    const another = async (): Promise<number> => {
      const before = folds;
      const position = await world.add('anna');
      for (const each of [projector, api]) await awaitPassed(each.engine, position);
      expect(await world.readUntil(api, 'anna', (count += 1))).not.toContain('wrong');
      return folds - before;
    };
    // The API process stops folding the new space once the projector follows it.
    while ((await another()) > 0);
    for (let i = 0; i < 5; i++) expect(await another()).toBe(0);
    expect((await projector.engine.status())[0]?.space).toBe('tally@1.2');
    expect(await world.mismatches(api)).toEqual([]);
  });

  test('Processes of two logs in one Redis do not affect each other', async () => {
    const other = redisWorld(redis.url);
    const [ours, theirs] = [await world.start(), await other.start()];
    await awaitPassed(ours.engine, await world.add('anna'));
    for (let i = 0; i < 2; i++) await awaitPassed(theirs.engine, await other.add('anna'));
    expect(await world.readUntil(ours, 'anna', 1)).not.toContain('wrong');
    expect(await other.readUntil(theirs, 'anna', 2)).not.toContain('wrong');
    await theirs.store.drop('tally@1.1');
    expect(await world.readUntil(ours, 'anna', 1)).not.toContain('wrong');
    await other.end();
  });
});
