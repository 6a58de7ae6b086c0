/** What a loss of the store may cost, one case each; engine-chaos.test.ts mixes them at random. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { advance } from '#projections/engine/advance.ts';
import { mailbox } from '#projections/engine/mailbox.ts';
import { liveSpace } from '#projections/engine/spaces.ts';
import { moveOn, openTarget } from '#projections/engine/target.ts';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import type { SubscriptionItem } from '#src/ports/event-log.ts';
import { partitionOf, PARTITIONS, type ProjectionStore } from '#src/ports/read-model.ts';
import {
  append,
  appendMany,
  awaitPassed,
  copying,
  tally,
  world as near,
} from '../../support/world/engine.ts';
import { type FarProcess, farWorld, type FarWorld } from '../../support/world/far-world.ts';

const ALL = Array.from({ length: PARTITIONS }, (_, n) => n);
const EVEN = ALL.filter((n) => n % 2 === 0);
const ODD = ALL.filter((n) => n % 2 === 1);
const OWNERS = ['anna', 'boris', 'carla'];
const SPACE = 'tally@1.1';
const SETTLES_MS = 5_000;

let world: FarWorld;
afterEach(() => world?.end());

/** In quiet: no event comes that would help. */
const healed = async (process: FarProcess): Promise<boolean> => {
  const until = performance.now() + SETTLES_MS;
  for (const owner of OWNERS)
    while (!(await world.isRight(process, owner))) {
      if (performance.now() > until) return false;
      await turn();
    }
  return true;
};

describe('after a loss of the store', () => {
  test('a space waits for no position behind the last event, where no fill comes to', async () => {
    world = farWorld();
    await world.start({ partitions: EVEN });
    await world.start({ partitions: ODD });
    const reader = await world.start({ partitions: [] });
    for (const owner of OWNERS) await world.add(owner);
    expect(await healed(reader)).toBe(true);
    expect(reader.engine.position()).toBeGreaterThan((await world.log.head()).position);
    world.lose();
    expect(await healed(reader)).toBe(true);
    expect(world.held().live('tally')).toBe(SPACE);
  });

  test('each that folds reads the log once for all its projections, and who reads never', async () => {
    world = farWorld([tally(), { ...tally(), name: 'other' }, { ...tally(), name: 'third' }]);
    await world.start({ partitions: EVEN });
    await world.start({ partitions: ODD });
    const reader = await world.start({ partitions: [] });
    for (const owner of OWNERS) await world.add(owner);
    expect(await healed(reader)).toBe(true);
    const before = world.readings();
    world.lose();
    expect(await healed(reader)).toBe(true);
    expect(world.readings() - before).toBe(2);
  });

  test('who folds moves no checkpoint behind the last event', async () => {
    world = farWorld();
    const one = await world.start({ moveOnEvents: 1 });
    for (const owner of OWNERS) await world.add(owner);
    expect(await healed(one)).toBe(true);
    await one.stop();
    const { position } = await world.log.head();
    expect(await world.held().checkpoints(SPACE)).toEqual(ALL.map(() => position));
  });

  test('rows that were loaded elsewhere are not folded on', async () => {
    const log = memoryEventLog();
    for (let i = 0; i < 3; i++) await append(log, 'anna');
    const events = await log.readFold({ after: 0, limit: 10 });
    const store = copying(memoryStore());
    const filled = async () => openTarget(store, tally(), SPACE);
    let isLost = true;
    // Between the load and the commit another fills it again, to the very place it was lost at.
    const losing: ProjectionStore = {
      ...store,
      async load(space, keys, at) {
        const rows = await store.load(space, keys, at);
        if (isLost) await advance({ store }, await filled(), events.slice(0, 2), 2);
        isLost = false;
        return rows;
      },
    };
    const target = await filled();
    target.checkpoints[partitionOf('anna')] = 2;
    expect(await advance({ store: losing }, target, events.slice(2), 3)).toBe('held');
    expect(await store.load(SPACE, [{ scope: 'anna', key: 'tally' }])).toMatchObject([
      { count: 3 },
    ]);
  });
});

describe('a space that answers and knows less than it did', () => {
  test('has passed nothing until it is read back', async () => {
    const { log, store, start, countOf, end } = near();
    const { promise: mayRead, resolve: read } = Promise.withResolvers<void>();
    let isLost = false;
    const readFold: typeof log.readFold = async (from) => {
      if (isLost) await mayRead;
      return log.readFold(from);
    };
    const engine = await start({ log: { ...log, readFold }, recheckMs: 1e6 });
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    await store.drop(SPACE);
    await store.goLive('tally', SPACE);
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

describe('a partition that is lost', () => {
  test('is not moved on over what is missing, whoever ends then', async () => {
    const log = memoryEventLog();
    for (let i = 0; i < 3; i++) await append(log, 'anna');
    const events = await log.readFold({ after: 2, limit: 10 });
    const store = memoryStore();
    const target = await openTarget(store, tally(), SPACE);
    target.checkpoints[partitionOf('anna')] = 2;
    expect(await advance({ store }, target, events, 3)).toBe('lost');
    await moveOn(store, target, 3);
    expect((await store.checkpoints(SPACE))[partitionOf('anna')]).toBe(0);
  });
});

describe('a partition without events', () => {
  test('is moved on from where another has moved it', async () => {
    const store = memoryStore();
    const [ours, theirs] = [
      await openTarget(store, tally(), SPACE),
      await openTarget(store, tally(), SPACE),
    ];
    await moveOn(store, theirs, 5);
    await moveOn(store, ours, 9);
    expect(await store.checkpoints(SPACE)).toEqual(ALL.map(() => 9));
    expect(ours.checkpoints).toEqual(ALL.map(() => 9));
    await moveOn(store, theirs, 7);
    expect(theirs.checkpoints).toEqual(ALL.map(() => 9));
  });

  test('that is lost stays known as lost', async () => {
    const target = await openTarget(memoryStore(), tally(), SPACE);
    target.checkpoints = ALL.map(() => 5);
    await moveOn(memoryStore(), target, 9);
    expect(target.checkpoints).toEqual(ALL.map(() => 5));
  });
});

describe('a process that starts', () => {
  test('takes no space for that of a log that is gone because others fold meanwhile', async () => {
    const log = memoryEventLog();
    const store = memoryStore();
    await store.goLive('tally', SPACE);
    const folding: ProjectionStore = {
      ...store,
      async checkpoints(space) {
        await append(log, 'anna');
        const target = await openTarget(store, tally(), space);
        await moveOn(store, target, (await log.head()).position);
        return store.checkpoints(space);
      },
    };
    expect(await liveSpace(folding, tally(), log)).toBe(SPACE);
    await moveOn(store, await openTarget(store, tally(), SPACE), 9);
    expect(await liveSpace(store, tally(), log)).toBeUndefined();
  });
});

describe('a mailbox', () => {
  test('ends with its subscription, however often it is poked', async () => {
    const none = async function* (): AsyncGenerator<SubscriptionItem> {};
    const box = mailbox(none(), 10);
    for (let i = 0; i < 3; i++) {
      await turn();
      box.poke();
      expect(await box.take()).toBeUndefined();
    }
  });
});
