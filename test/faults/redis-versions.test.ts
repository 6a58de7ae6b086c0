/** Processes of two versions over one Redis, as in an upgrade: each version reads and folds its own space. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { partitionOf } from '#src/ports/read-model.ts';
import { rebuild, tally } from '../support/world/engine.ts';
import type { TestRedis } from '../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../support/redis/redis-server.ts';
import type { Process, ProcessOptions, RedisWorld } from '../support/redis/redis-world.ts';
import { redisWorld } from '../support/redis/redis-world.ts';

const OWNERS = ['anna', 'boris', 'gus', 'hana'];
const versionOne = { projections: [tally()], recheckMs: 50 };
const versionTwo = { projections: [tally({ version: 2 })], recheckMs: 50 };
const api = { partitions: [] };

describe.skipIf(!hasRedis)(`Processes of two versions on one Redis, ${ON_REDIS},`, () => {
  let redis: TestRedis;
  let world: RedisWorld;
  let counts: Map<string, number>;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(endRedis);
  beforeEach(async () => {
    await redis.control.flushall();
    world = redisWorld(redis.url);
    counts = new Map();
  });
  afterEach(() => world.end());

  const start = async (options: ProcessOptions): Promise<Process> => {
    const process = await world.start(options);
    await process.engine.ready;
    return process;
  };
  const write = async (): Promise<void> => {
    for (const owner of OWNERS) {
      await world.add(owner);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
  };
  const awaitComplete = async (process: Process, owner: string): Promise<void> => {
    for (;;) {
      const answer = await world.ask(process, owner);
      if (answer.kind === 'right' && answer.count === counts.get(owner)) return;
      if (answer.kind === 'wrong') throw new Error(`${owner} got ${JSON.stringify(answer)}`);
      await new Promise((turn) => setImmediate(turn));
    }
  };
  /** Waits until every process answers every owner with all events. */
  const awaitAllComplete = async (...processes: Process[]): Promise<void> => {
    for (const process of processes)
      for (const owner of OWNERS) await awaitComplete(process, owner);
  };

  const awaitSpace = async ({ engine }: Process, space: string): Promise<void> => {
    while ((await engine.status())[0]?.space !== space)
      await new Promise((turn) => setImmediate(turn));
  };

  test('Processes of two versions on one Redis fold all partitions of their own space, and answer together until one version stops', async () => {
    const shares = new Set(OWNERS.map((owner) => partitionOf(owner) % 2));
    expect(shares.size).toBe(2);
    const oldProjector = await start({ ...versionOne, name: 'b' });
    const oldApi = await start({ ...versionOne, ...api });
    await write();
    await awaitAllComplete(oldApi);
    const newProjector = await start({ ...versionTwo, name: 'a' });
    const newApi = await start({ ...versionTwo, ...api });
    for (let i = 0; i < 3; i++) {
      await write();
      await awaitAllComplete(oldApi, newApi);
    }
    expect((await oldApi.engine.status())[0]?.space).toBe('tally@1.1');
    expect((await newApi.engine.status())[0]?.space).toBe('tally@2.1');
    expect((await oldApi.store.spaces('tally')).live).toBe('tally@1.1');
    expect((await newApi.store.spaces('tally')).live).toBe('tally@2.1');
    // A rebuild by the new version changes nothing of the old one.
    const { store } = newProjector;
    const [projection = tally()] = versionTwo.projections;
    for (const space of ['tally@2.2', 'tally@2.3']) {
      await rebuild({ log: world.log, store, projection });
      await awaitSpace(newProjector, space);
      await write();
      await awaitAllComplete(oldApi, newApi);
    }
    expect((await store.spaces('tally')).all.toSorted()).toEqual([
      'tally@1.1',
      'tally@2.2',
      'tally@2.3',
    ]);
    await oldProjector.stop();
    await write();
    await awaitAllComplete(newApi);
  });

  test('Processes of two versions on one Redis continue from the old space after a return to the old version', async () => {
    const before = await start({ ...versionOne, name: 'b' });
    await write();
    await awaitAllComplete(before);
    await before.stop();
    const after = await start({ ...versionTwo, name: 'a' });
    await write();
    await awaitAllComplete(after);
    await after.stop();
    let evolved = 0;
    const counted = tally({ onEvolve: () => (evolved += 1) });
    const again = await start({ projections: [counted], name: 'c' });
    await awaitAllComplete(again);
    expect(evolved).toBe(OWNERS.length);
    expect((await again.store.spaces('tally')).live).toBe('tally@1.1');
  });
});
