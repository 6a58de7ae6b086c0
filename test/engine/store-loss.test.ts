/** The engine after a loss of the store, one case each; chaos.test.ts mixes them at random. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { advance } from '#projections/engine/fold.ts';
import { findLiveSpace, advanceCheckpoints, openTarget } from '#projections/engine/target.ts';
import { SubscriptionBuffer } from '#projections/engine/engine.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { memoryStore } from '../support/memory-read-model.ts';
import type { SubscriptionItem } from '#src/ports/event-log.ts';
import { partitionOf, ALL_PARTITIONS, type ProjectionStore } from '#src/ports/read-model.ts';
import {
  append,
  appendMany,
  awaitPassed,
  copying,
  tally,
  world as localWorld,
} from '../support/world/engine.ts';
import {
  type RemoteStoreProcess,
  remoteStoreWorld,
  type RemoteStoreWorld,
} from '../support/world/remote-store-world.ts';
import { HANG_MS } from '../support/hang.ts';

const EVEN = ALL_PARTITIONS.filter((n) => n % 2 === 0);
const ODD = ALL_PARTITIONS.filter((n) => n % 2 === 1);
const OWNERS = ['anna', 'boris', 'carla'];
const SPACE = 'tally@1.1';

let world: RemoteStoreWorld;
afterEach(() => world?.end());

/** Returns true once every row is correct, without another event that would help. */
const isHealed = async (process: RemoteStoreProcess): Promise<boolean> => {
  const until = performance.now() + HANG_MS;
  for (const owner of OWNERS)
    while (!(await world.isRight(process, owner))) {
      if (performance.now() > until) return false;
      await turn();
    }
  return true;
};

describe('After a loss of the store', () => {
  test('A space goes live after a loss of the store although the loop is past the last event, where no fill stores a checkpoint', async () => {
    world = remoteStoreWorld();
    await world.start({ partitions: EVEN });
    await world.start({ partitions: ODD });
    const reader = await world.start({ partitions: [] });
    for (const owner of OWNERS) await world.add(owner);
    expect(await isHealed(reader)).toBe(true);
    expect(reader.engine.position()).toBeGreaterThan((await world.log.head()).position);
    world.lose();
    expect(await isHealed(reader)).toBe(true);
    expect(world.held().live('tally')).toBe(SPACE);
  });

  test('After a loss of the store a folding process reads the log once for all projections, and a reading process never', async () => {
    world = remoteStoreWorld([
      tally(),
      { ...tally(), name: 'other' },
      { ...tally(), name: 'third' },
    ]);
    await world.start({ partitions: EVEN });
    await world.start({ partitions: ODD });
    const reader = await world.start({ partitions: [] });
    for (const owner of OWNERS) await world.add(owner);
    expect(await isHealed(reader)).toBe(true);
    const before = world.readings();
    world.lose();
    expect(await isHealed(reader)).toBe(true);
    expect(world.readings() - before).toBe(2);
  });

  test('After a loss of the store an engine stores no checkpoint past the last event', async () => {
    world = remoteStoreWorld();
    const one = await world.start({ checkpointEvents: 1 });
    for (const owner of OWNERS) await world.add(owner);
    expect(await isHealed(one)).toBe(true);
    await one.stop();
    const { position } = await world.log.head();
    expect(await world.held().checkpoints(SPACE)).toEqual(ALL_PARTITIONS.map(() => position));
  });

  test('A batch has no effect on rows that another process replaced after they were loaded', async () => {
    const log = memoryEventLog();
    for (let i = 0; i < 3; i++) await append(log, 'anna');
    const events = await log.readFold({ after: 0, limit: 10 });
    const store = copying(memoryStore());
    const filled = async () => openTarget(store, { projection: tally(), space: SPACE });
    let isLost = true;
    // Between load and commit another process fills the space again, up to the same checkpoint.
    const losing: ProjectionStore = {
      ...store,
      async load(space, keys, at) {
        const rows = await store.load(space, keys, at);
        if (isLost) await advance({}, await filled(), { events: events.slice(0, 2), upTo: 2 });
        isLost = false;
        return rows;
      },
    };
    const target = { ...(await filled()), store: losing };
    target.checkpoints[partitionOf('anna')] = 2;
    expect(await advance({}, target, { events: events.slice(2), upTo: 3 })).toBe('held');
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'tally' }])).toMatchObject([
      { count: 3 },
    ]);
  });
});

describe('A live space that lost rows', () => {
  test('A live space that lost rows reaches no position until it is filled again', async () => {
    const { log, store, start, countOf, end } = localWorld();
    const { promise: mayRead, resolve: read } = Promise.withResolvers<void>();
    let isLost = false;
    const readFold: typeof log.readFold = async (from) => {
      if (isLost) await mayRead;
      return log.readFold(from);
    };
    const engine = await start({ log: { ...log, readFold }, recheckMs: 1e6 });
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    await store.drop(SPACE);
    await store.goLive(SPACE);
    isLost = true;
    const position = await append(log, 'anna');
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(await engine.passed(position, 0)).toBe(false);
    expect(engine.asOf().position).toBeLessThan(position);
    expect(engine.position()).toBeLessThan(position);
    read();
    await awaitPassed(engine, position);
    expect(OWNERS.map(countOf)).toEqual([3, 2, 2]);
    await end();
  });
});

describe('A lost partition', () => {
  test('A lost partition keeps its checkpoint before the missing events', async () => {
    const log = memoryEventLog();
    for (let i = 0; i < 3; i++) await append(log, 'anna');
    const events = await log.readFold({ after: 2, limit: 10 });
    const store = memoryStore();
    const target = await openTarget(store, { projection: tally(), space: SPACE });
    target.checkpoints[partitionOf('anna')] = 2;
    expect(await advance({}, target, { events, upTo: 3 })).toBe('lost');
    await advanceCheckpoints(target, 3);
    expect((await store.checkpoints(SPACE))[partitionOf('anna')]).toBe(0);
  });
});

describe('A partition without events', () => {
  test('A partition without events advances from the checkpoint that another process stored', async () => {
    const store = memoryStore();
    const [ours, theirs] = [
      await openTarget(store, { projection: tally(), space: SPACE }),
      await openTarget(store, { projection: tally(), space: SPACE }),
    ];
    await advanceCheckpoints(theirs, 5);
    await advanceCheckpoints(ours, 9);
    expect(await store.checkpoints(SPACE)).toEqual(ALL_PARTITIONS.map(() => 9));
    expect(ours.checkpoints).toEqual(ALL_PARTITIONS.map(() => 9));
    await advanceCheckpoints(theirs, 7);
    expect(theirs.checkpoints).toEqual(ALL_PARTITIONS.map(() => 9));
  });

  test('A partition without events keeps its confirmed checkpoint if the store lost it', async () => {
    const target = await openTarget(memoryStore(), { projection: tally(), space: SPACE });
    target.checkpoints = ALL_PARTITIONS.map(() => 5);
    await advanceCheckpoints(target, 9);
    expect(target.checkpoints).toEqual(ALL_PARTITIONS.map(() => 5));
  });
});

describe('A starting process', () => {
  test('A starting process keeps the live space although other processes fold new events meanwhile', async () => {
    const log = memoryEventLog();
    const store = memoryStore();
    await store.goLive(SPACE);
    const folding: ProjectionStore = {
      ...store,
      async checkpoints(space) {
        await append(log, 'anna');
        const target = await openTarget(store, { projection: tally(), space: space });
        await advanceCheckpoints(target, (await log.head()).position);
        return store.checkpoints(space);
      },
    };
    expect(await findLiveSpace(folding, tally(), log)).toBe(SPACE);
    await advanceCheckpoints(await openTarget(store, { projection: tally(), space: SPACE }), 9);
    expect(await findLiveSpace(store, tally(), log)).toBeUndefined();
  });
});

describe('A subscription buffer', () => {
  test('A subscription buffer ends with its subscription, even if it is woken repeatedly', async () => {
    const none = async function* (): AsyncGenerator<SubscriptionItem> {};
    const buffer = new SubscriptionBuffer(none(), 10);
    for (let i = 0; i < 3; i++) {
      await turn();
      buffer.wake();
      expect(await buffer.take()).toBeUndefined();
    }
  });
});
