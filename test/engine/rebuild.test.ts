import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localReadModels } from '#projections/engine/engine.ts';
import { rebuildAll, verify } from '#projections/engine/operator.ts';
import { PROJECTIONS } from '#projections/index.ts';
import type { EventLog, FoldEvent } from '#src/ports/event-log.ts';
import { FillControl } from '#projections/engine/fill-control.ts';
import { partitionOf, type ProjectionStore } from '#src/ports/read-model.ts';
import type { Tally } from '../support/world/engine.ts';
import {
  append,
  appendMany,
  awaitPassed,
  copying,
  rebuild,
  tally,
  world,
} from '../support/world/engine.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];
const projection = tally();

let { log, store, start, countOf, end } = world();
beforeEach(() => ({ log, store, start, countOf, end } = world()));
afterEach(() => end());

const check = (projections = [projection]) => verify({ log, store, projections });

/** A log that calls `work` before each batch that a rebuild reads. */
const reading = (work: (batch: number) => Promise<void> | void): EventLog => {
  let batches = 0;
  return {
    ...log,
    readFold: async (options) => {
      batches += 1;
      await work(batches);
      return log.readFold(options);
    },
  };
};

describe('A rebuild', () => {
  test('A rebuild fills the next build beside the live one during writes, and misses no event', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 10));
    const seen: (number | undefined)[] = [];
    const busy = reading(async (batch) => {
      await awaitPassed(engine, await append(log, 'anna'));
      seen.push(countOf('anna'));
      if (batch === 2) expect((await engine.status())[0]?.rebuilding?.space).toBe('tally@1.2');
    });
    const result = await rebuild({ log: busy, store, projection, engine, batchEvents: 10 });
    expect(result).toEqual({
      projection: 'tally',
      space: 'tally@1.2',
      previous: 'tally@1.1',
      rows: 4,
    });
    // Readers saw every write during the rebuild, and never an incomplete space.
    expect(seen).toEqual(seen.map((_, i) => 11 + i));
    expect(store.live('tally')).toBe('tally@1.2');
    const anna = countOf('anna') ?? 0;
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(anna + 1);
    expect((await engine.status())[0]).toMatchObject({ space: 'tally@1.2', lagEvents: 0 });
    expect((await engine.status())[0]).not.toHaveProperty('rebuilding');
    expect((await check()).mismatches).toEqual([]);
  });

  test('A rebuild produces equal rows, and corrects a wrong one', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    const before = await store.digest('tally@1.1', partitionOf('anna'));
    (store.peek('tally@1.1', 'boris', 'tally') as Tally).count = 99;
    await rebuild({ log, store, projection, engine });
    expect((await store.digest('tally@1.2', partitionOf('anna'))).digest).toBe(before.digest);
    expect(countOf('boris')).toBe(5);
  });

  test('A rebuild works without an engine, and the next engine continues from it', async () => {
    const position = await appendMany(log, OWNERS, 3);
    await rebuild({ log, store, projection });
    expect(store.live('tally')).toBe('tally@1.1');
    const engine = await start();
    await awaitPassed(engine, position);
    expect(OWNERS.map(countOf)).toEqual([3, 3, 3, 3]);
  });

  test('A rebuild is detected by an engine that did not adopt it', async () => {
    const engine = await start({ recheckMs: 1e6 });
    await awaitPassed(engine, await appendMany(log, OWNERS, 3));
    await rebuild({ log, store, projection });
    await append(log, 'anna');
    engine.recheck();
    await awaitPassed(engine, await append(log, 'anna'));
    while (countOf('anna') !== 5) await new Promise((turn) => setImmediate(turn));
    expect((await check()).mismatches).toEqual([]);
  });

  test('A rebuild leaves the live space unchanged if it is aborted, and the next one continues it', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 10));
    const controller = new AbortController();
    const stopping = reading((batch) => (batch === 3 ? controller.abort() : undefined));
    const { signal } = controller;
    await expect(
      rebuild({ log: stopping, store, projection, engine, signal, batchEvents: 10 }),
    ).rejects.toThrow('aborted');
    expect(store.live('tally')).toBe('tally@1.1');
    expect((await engine.status())[0]).not.toHaveProperty('rebuilding');
    await rebuild({ log, store, projection, engine, batchEvents: 10 });
    expect((await store.spaces('tally')).all.toSorted()).toEqual(['tally@1.1', 'tally@1.2']);
    expect(OWNERS.map(countOf)).toEqual([10, 10, 10, 10]);
    expect((await check()).mismatches).toEqual([]);
  });

  test('A rebuild does not continue a build of another log or of another version, and drops all but the newest', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    const move = (space: string, to: number) =>
      store.commit(space, [{ partition: 0, from: 0, to, writes: [] }]);
    await move('tally@1.2', 1);
    await move('tally@1.3', 2);
    await move('tally@2.7', 2);
    const next = { log, store, projection, engine };
    expect(await rebuild(next)).toMatchObject({ space: 'tally@1.3' });
    await move('tally@1.4', 1_000);
    expect(await rebuild(next)).toMatchObject({ space: 'tally@1.5' });
    expect((await store.spaces('tally')).all.toSorted()).toEqual([
      'tally@1.3',
      'tally@1.5',
      'tally@2.7',
    ]);
    expect(OWNERS.map(countOf)).toEqual([2, 2, 2, 2]);
  });

  test('A continued rebuild gives the other receiver of what it reads every event once', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 10));
    const controller = new AbortController();
    const stopping = reading((batch) => (batch === 3 ? controller.abort() : undefined));
    const { signal } = controller;
    const next = { store, projection, engine, batchEvents: 10 };
    await expect(rebuild({ ...next, log: stopping, signal })).rejects.toThrow('aborted');
    const received: number[] = [];
    const stores = [{ store, projections: [projection], engine }];
    const onBatch = async (events: readonly FoldEvent[]) =>
      void received.push(...events.map(({ position }) => position));
    await rebuildAll({ log, stores, onBatch, batchEvents: 10 });
    expect(received).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  });

  test('A paused rebuild waits beside a loop that follows the log, and continues when it is resumed', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 10));
    const control = new FillControl();
    const reads: number[] = [];
    const pausing = reading((batch) => {
      reads.push(batch);
      if (batch === 2) control.pause();
    });
    const done = rebuild({ log: pausing, store, projection, engine, control, batchEvents: 10 });
    while (reads.length < 2) await new Promise((turn) => setImmediate(turn));
    await awaitPassed(engine, await append(log, 'anna'));
    await awaitPassed(engine, await append(log, 'anna'));
    expect(reads).toEqual([1, 2]);
    expect(countOf('anna')).toBe(12);
    expect(store.live('tally')).toBe('tally@1.1');
    control.resume();
    await done;
    expect(store.live('tally')).toBe('tally@1.2');
    expect(countOf('anna')).toBe(12);
  });

  test('A rebuild starts again if the store loses its space, and misses no event', async () => {
    await appendMany(log, OWNERS, 20);
    const shared = copying(store);
    let commits = 0;
    const losing: ProjectionStore = {
      ...shared,
      async commit(space, batches) {
        commits += 1;
        // Lets the next batch start before the loss is detected.
        await new Promise((turn) => setImmediate(turn));
        if (commits === 5) await store.drop(space);
        return shared.commit(space, batches);
      },
    };
    await rebuild({ log, store: losing, projection, batchEvents: 5 });
    expect(OWNERS.map(countOf)).toEqual([20, 20, 20, 20]);
    expect((await check()).mismatches).toEqual([]);
  });

  test('A rebuild is refused if it parks before the checkpoint of the live space, or has no rows', async () => {
    const engine = await start();
    await append(log, 'anna', 'bad');
    await awaitPassed(engine, await append(log, 'boris'));
    const worse = tally({ poison: 'bad' });
    await expect(rebuild({ log, store, projection: worse, engine })).rejects.toThrow(
      'tally@1.2 stopped before',
    );
    const nothing = { ...projection, place: () => undefined };
    await expect(rebuild({ log, store, projection: nothing, engine })).rejects.toThrow('is empty');
    expect(store.live('tally')).toBe('tally@1.1');
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(2);
  });

  test('A rebuild keeps the previous space, and drops older ones', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    for (let i = 0; i < 3; i++) await rebuild({ log, store, projection, engine });
    expect((await store.spaces('tally')).all.toSorted()).toEqual(['tally@1.3', 'tally@1.4']);
    expect(store.live('tally')).toBe('tally@1.4');
  });

  test('A rebuild of all read models reads the log once', async () => {
    await appendMany(log, OWNERS, 10);
    let reads = 0;
    const counted = reading(() => void (reads += 1));
    const results = await rebuildAll({
      log: counted,
      stores: [{ store, projections: PROJECTIONS }],
      batchEvents: 50,
    });
    expect(results.map(({ space }) => space)).toEqual(
      PROJECTIONS.map(({ name, version }) => `${name}@${version}.1`),
    );
    expect(reads).toBe(1);
  });

  test('A rebuild of several read models switches to those that are right, and says why it refused another one', async () => {
    const engine = await start({ projections: [tally(), { ...tally(), name: 'other' }] });
    await awaitPassed(engine, await append(log, 'anna', 'bad'));
    const worse = { ...tally({ poison: 'bad' }), name: 'other' };
    const results = await rebuildAll({
      log,
      stores: [worse, tally()].map((one) => ({ store, projections: [one], engine })),
    });
    expect(results).toMatchObject([
      { projection: 'other', refusal: expect.stringContaining('other@1.2 stopped before') },
      { projection: 'tally', space: 'tally@1.2' },
    ]);
    expect(results[1]).not.toHaveProperty('refusal');
    expect(['other', 'tally'].map((name) => store.live(name))).toEqual(['other@1.1', 'tally@1.2']);
    expect((await store.spaces('other')).all).toEqual(['other@1.1']);
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(2);
  });
});

describe('A new version', () => {
  test('A new version of a read model is filled beside the old one, whose rows the new code never reads', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    await engine.stop();
    const changed = tally({ version: 2 });
    const readers = localReadModels(store, [changed], engine);
    await expect(readers.get('tally', 'anna', 'tally')).rejects.toThrow('is being filled');
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const next = await start({ log: reading(() => released), projections: [changed] });
    const building = { name: 'tally', version: 2, space: null, checkpoint: 0, lagEvents: 20 };
    expect(await next.status()).toEqual([{ ...building, parked: [], skipped: 0 }]);
    expect(store.live('tally')).toBe('tally@1.1');
    release();
    expect(await next.ready).toBe(true);
    expect(store.live('tally')).toBe('tally@2.1');
    expect(await readers.get('tally', 'anna', 'tally')).toMatchObject({ count: 5 });
    expect(
      (await readers.list('tally', { scope: 'anna', limit: 5 })).map(({ key }) => key),
    ).toEqual(['tally']);
    await awaitPassed(next, await append(log, 'anna'));
    expect(countOf('anna')).toBe(6);
    expect((await store.spaces('tally')).all.toSorted()).toEqual(['tally@1.1', 'tally@2.1']);
  });

  test('A new version of a read model keeps the furthest space of another version, which other processes may still read', async () => {
    const versions = [1, 2, 3].map((version) => tally({ version }));
    const [one = projection, two = projection, three = projection] = versions;
    await rebuild({ log, store, projection: two });
    await appendMany(log, OWNERS, 2);
    for (let i = 0; i < 2; i++) await rebuild({ log, store, projection: one });
    expect((await store.spaces('tally')).all.toSorted()).toEqual([
      'tally@1.1',
      'tally@1.2',
      'tally@2.1',
    ]);
    const engine = await start({ projections: [one] });
    await awaitPassed(engine, await append(log, 'anna'));
    await engine.stop();
    for (let i = 0; i < 3; i++) await rebuild({ log, store, projection: three });
    expect((await store.spaces('tally')).all.toSorted()).toEqual([
      'tally@1.2',
      'tally@3.2',
      'tally@3.3',
    ]);
  });

  test('A new version of a read model is filled once, and spaces that it replaced are dropped with retries if the store fails', async () => {
    const old = tally({ version: 1 });
    for (let i = 0; i < 2; i++) await rebuild({ log, store, projection: old });
    for (const [space, to] of [
      ['tally@0.1', 9],
      ['tally@0.2', 3],
    ] as const)
      await store.commit(space, [{ partition: 0, from: 0, to, writes: [] }]);
    const position = await appendMany(log, OWNERS, 5);
    let read = 0;
    const counted: EventLog = {
      ...log,
      readFold: async (from) => {
        const events = await log.readFold(from);
        read += events.length;
        return events;
      },
    };
    const attempts: string[] = [];
    const failing: ProjectionStore = {
      ...store,
      async drop(space) {
        attempts.push(space);
        if (attempts.length === 1) throw new Error('no answer');
        await store.drop(space);
      },
    };
    const faults: unknown[] = [];
    const engine = await start({
      log: counted,
      store: failing,
      projections: [tally({ version: 2 })],
      onFault: (error) => faults.push(error),
    });
    expect(await engine.ready).toBe(true);
    while (attempts.length < 3) await new Promise((turn) => setImmediate(turn));
    expect([faults.length, read]).toEqual([1, position]);
    expect(attempts.slice(1).toSorted()).toEqual(['tally@0.2', 'tally@1.1']);
    expect((await store.spaces('tally')).all.toSorted()).toEqual([
      'tally@0.1',
      'tally@1.2',
      'tally@2.1',
    ]);
  });

  test('A new version of a read model continues its first fill after an interruption', async () => {
    const position = await appendMany(log, OWNERS, 5);
    const controller = new AbortController();
    const { signal } = controller;
    const stopping: ProjectionStore = {
      ...store,
      async fillPartition(space, partition, filled) {
        await store.fillPartition?.(space, partition, filled);
        // Some of the partitions with rows come later.
        if (filled.rows.length > 0) controller.abort();
      },
    };
    await expect(rebuild({ log, store: stopping, projection, signal })).rejects.toThrow('aborted');
    expect(store.live('tally')).toBeNull();
    let evolved = 0;
    const engine = await start({ projections: [tally({ onEvolve: () => (evolved += 1) })] });
    expect(await engine.ready).toBe(true);
    await awaitPassed(engine, position);
    expect(OWNERS.map(countOf)).toEqual([5, 5, 5, 5]);
    expect(evolved).toBeLessThan(20);
  });

  test('A new version of a read model starts from the beginning if its rows belong to another log', async () => {
    await appendMany(log, OWNERS, 5);
    await rebuild({ log, store, projection });
    const other = world();
    const engine = await other.start({ store });
    expect(await engine.ready).toBe(true);
    expect(countOf('anna')).toBeUndefined();
    await awaitPassed(engine, await append(other.log, 'anna'));
    expect(countOf('anna')).toBe(1);
    await other.end();
  });
});

describe('Verify', () => {
  test('Verify finds a wrong row, a missing row, a surplus row and a surplus entry of a list', async () => {
    const engine = await start();
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    expect(await check()).toEqual({ partitions: 64, rows: 4, mismatches: [] });
    const space = 'tally@1.1';
    (store.peek(space, 'anna', 'tally') as Tally).count = 4;
    const checkpoints = await store.checkpoints(space);
    for (const [owner, row] of [
      ['boris', null],
      ['nobody', { count: 1 }],
    ] as const) {
      const partition = partitionOf(owner);
      const at = checkpoints[partition] ?? 0;
      const writes = [{ scope: owner, key: 'tally', row, sort: null }];
      await store.commit(space, [{ partition, from: at, to: at, writes }]);
    }
    const carla = partitionOf('carla');
    const [from, row] = [checkpoints[carla] ?? 0, store.peek(space, 'carla', 'tally') ?? {}];
    const listed = { scope: 'carla', key: 'tally', row, sort: (row as Tally).sort };
    const writes = [{ ...listed, added: [['x', 1] as const] }];
    await store.commit(space, [{ partition: carla, from, to: from, writes }]);
    const { mismatches } = await check();
    const found = mismatches.map(({ partition }) => partition);
    const wrong = ['anna', 'boris', 'carla', 'nobody'].map(partitionOf);
    expect(found.toSorted()).toEqual(wrong.toSorted());
    expect(mismatches[0]?.detail).toMatch(
      /^tally of (anna differs in count; changed last by RequestBound at \d+|carla differs in lists; changed last by RequestBound at \d+|boris is missing; changed last by RequestBound at \d+|nobody is not in the log)$/,
    );
  });
});
