import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { verify } from '#projections/engine/operator.ts';
import type { Projection } from '#projections/projection.ts';
import { type OpeningCatalog, PoisonEvent } from '#src/ports/catalog.ts';
import type { EventLog, FoldEvent } from '#src/ports/event-log.ts';
import { partitionOf, type ProjectionStore } from '#src/ports/read-model.ts';
import { append, appendMany, awaitPassed, copying, tally, world } from '../support/world/engine.ts';
import { HANG_MS } from '../support/hang.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];

let { log, store, start, countOf, end } = world();
beforeEach(() => ({ log, store, start, countOf, end } = world()));
afterEach(() => end());

const faults = async (projections: readonly Projection[] = [tally()]) =>
  (await verify({ log, store, projections })).mismatches;

describe('An engine', () => {
  test('An engine goes live at once on an empty log, and folds every appended event', async () => {
    const engine = await start();
    expect(store.live('tally')).toBe('tally@1.1');
    expect(await engine.ready).toBe(true);
    const position = await append(log, 'anna');
    await awaitPassed(engine, position);
    expect(countOf('anna')).toBe(1);
    expect(engine.asOf()).toEqual({ position, at: (await log.head()).at });
  });

  test('An engine continues where the previous run ended, and folds no event twice', async () => {
    let evolved = 0;
    const projections = [tally({ onEvolve: () => (evolved += 1) })];
    const first = await start({ projections });
    await awaitPassed(first, await appendMany(log, OWNERS, 5));
    await first.stop();
    const position = await appendMany(log, OWNERS, 5);
    const second = await start({ projections });
    await awaitPassed(second, position);
    expect(evolved).toBe(40);
    expect(OWNERS.map(countOf)).toEqual([10, 10, 10, 10]);
    expect(await faults()).toEqual([]);
  });

  test('An engine advances the checkpoints of partitions without events, so that a restart reads little', async () => {
    const engine = await start({ checkpointEvents: 10 });
    await awaitPassed(engine, await appendMany(log, ['anna'], 25));
    const checkpoints = await store.checkpoints('tally@1.1');
    expect(Math.min(...checkpoints)).toBeGreaterThanOrEqual(10);
    await engine.stop();
    expect(await store.checkpoints('tally@1.1')).toEqual(new Array(64).fill(25));
  });

  test('An engine folds an event once that the log delivers twice', async () => {
    const twice: EventLog = {
      ...log,
      subscribe: (from) => ({
        async *[Symbol.asyncIterator]() {
          for await (const item of log.subscribe(from)) {
            yield item.kind === 'events'
              ? { ...item, events: [...item.events, ...item.events] }
              : item;
            yield item;
          }
        },
      }),
    };
    const engine = await start({ log: twice });
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    expect(OWNERS.map(countOf)).toEqual([5, 5, 5, 5]);
  });

  test('An engine folds events while it inspects the store', async () => {
    let answer = (): void => {};
    let reads = 0;
    const slow: ProjectionStore = {
      ...store,
      async checkpoints(space) {
        reads += 1;
        if (reads > 1) await new Promise<void>((resolve) => (answer = resolve));
        return store.checkpoints(space);
      },
    };
    const engine = await start({ store: slow, recheckMs: 60_000 });
    engine.recheck();
    await awaitPassed(engine, await append(log, 'anna'));
    expect(reads).toBe(2);
    answer();
    await engine.stop();
    expect(countOf('anna')).toBe(1);
  });

  test('An engine folds only the partitions that it is assigned', async () => {
    const anna = partitionOf('anna');
    const rest = Array.from({ length: 64 }, (_, i) => i).filter((i) => i !== anna);
    const shared = copying(store);
    const one = await start({ store: shared, partitions: [anna] });
    await awaitPassed(one, await appendMany(log, OWNERS, 3));
    const raw = (owner: string) => store.peek('tally@1.1', owner, 'tally');
    expect([raw('anna'), raw('boris')]).toEqual([expect.objectContaining({ count: 3 }), undefined]);
    const two = await start({ store: shared, partitions: rest });
    await awaitPassed(two, (await log.head()).position);
    expect(raw('boris')).toMatchObject({ count: 3 });
    expect(raw('anna')).toMatchObject({ count: 3 });
  });
});

describe('An event that begins its row', () => {
  const places = (begins: boolean) => ({
    ...tally(),
    ...(begins && { begins: ['RequestBound' as const] }),
    place: ({ owner, position }: FoldEvent) => ({ scope: owner, key: `${position}` }),
  });

  test('An event that begins its row loads no row, and leaves the same rows as with a load', async () => {
    const loads: number[] = [];
    const counting = {
      ...store,
      load: async (...load: Parameters<typeof store.load>) => {
        loads.push(load[1].length);
        return store.load(...load);
      },
    };
    const projections = [places(true)];
    const engine = await start({ store: counting, projections });
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    expect(loads).toEqual([]);
    expect(await faults(projections)).toEqual([]);
    expect(await faults([places(false)])).toEqual([]);
  });
});

describe('Every event is folded exactly once', () => {
  test('Every event is folded exactly once with two engines over one store that advance the same partitions', async () => {
    const shared = copying(store);
    let stale = 0;
    const counting = {
      ...shared,
      load: async (...wanted: Parameters<typeof shared.load>) => {
        const rows = await shared.load(...wanted);
        if (!rows) stale += 1;
        return rows;
      },
      commit: async (...batch: Parameters<typeof shared.commit>) => {
        const answers = await shared.commit(...batch);
        stale += answers.filter((answer) => answer === 'stale').length;
        return answers;
      },
    };
    const one = await start({ store: counting });
    const two = await start({ store: counting });
    const position = await appendMany(log, OWNERS, 50);
    await Promise.all([awaitPassed(one, position), awaitPassed(two, position)]);
    expect(stale).toBeGreaterThan(0);
    expect(OWNERS.map(countOf)).toEqual([50, 50, 50, 50]);
    expect(await faults()).toEqual([]);
  });

  test('Every event is folded exactly once when a commit fails, whether or not it was applied', async () => {
    const shared = copying(store);
    const seen: unknown[] = [];
    let commits = 0;
    const failing = {
      ...shared,
      commit: async (...batch: Parameters<typeof shared.commit>) => {
        commits += 1;
        if (commits === 2) throw new Error('not applied');
        const answers = await shared.commit(...batch);
        if (commits === 4) throw new Error('applied, but not confirmed');
        return answers;
      },
    };
    const engine = await start({ store: failing, onFault: (error) => seen.push(error) });
    for (let i = 0; i < 6; i++) await awaitPassed(engine, await append(log, 'anna'));
    expect(seen).toHaveLength(2);
    expect(countOf('anna')).toBe(6);
  });

  test('Every event is folded exactly once after a flush of the store, and no position is passed before it is filled again', async () => {
    const engine = await start({ recheckMs: 1e6 });
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    await store.drop('tally@1.1');
    expect(countOf('anna')).toBeUndefined();
    await awaitPassed(engine, await append(log, 'anna'));
    engine.recheck();
    while (store.live('tally') === null) await new Promise((turn) => setImmediate(turn));
    expect(OWNERS.map(countOf)).toEqual([6, 5, 5, 5]);
    await awaitPassed(engine, await append(log, 'boris'));
    expect(countOf('boris')).toBe(6);
    expect(await faults()).toEqual([]);
  });

  test('Every event is folded exactly once when another process has begun a new space, which all processes then fill', async () => {
    const anna = partitionOf('anna');
    const rest = Array.from({ length: 64 }, (_, i) => i).filter((i) => i !== anna);
    const shared = copying(store);
    const one = await start({ store: shared, partitions: [anna], recheckMs: 1e6 });
    const two = await start({ store: shared, partitions: rest, recheckMs: 1e6 });
    const position = await appendMany(log, OWNERS, 3);
    await Promise.all([awaitPassed(one, position), awaitPassed(two, position)]);
    await store.drop('tally@1.1');
    const begun = { partition: partitionOf('nobody'), from: 0, to: 1, writes: [] };
    await store.commit('tally@1.3', [begun]);
    while (store.live('tally') === null) {
      one.recheck();
      two.recheck();
      await new Promise((turn) => setImmediate(turn));
    }
    expect(store.live('tally')).toBe('tally@1.3');
    expect(OWNERS.map(countOf)).toEqual([3, 3, 3, 3]);
  });

  test('Every event is folded exactly once after the store was restored from an older copy', async () => {
    const engine = await start({ recheckMs: 1e6 });
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    // The copy is live and has no rows.
    await store.drop('tally@1.1');
    await store.goLive('tally@1.1');
    const position = await append(log, 'anna');
    await awaitPassed(engine, position);
    expect(OWNERS.map(countOf)).toEqual([3, 2, 2, 2]);
    await awaitPassed(engine, await append(log, 'dora'));
    expect(await faults()).toEqual([]);
  });
});

describe('A poison event', () => {
  test('A poison event parks its partition before itself, while the other partitions continue and nobody waits', async () => {
    const parked: unknown[] = [];
    const projections = [tally({ poison: 'bad' })];
    const engine = await start({
      projections,
      onParked: (name, what) => parked.push([name, what]),
    });
    await appendMany(log, OWNERS, 2);
    const position = await append(log, 'anna', 'bad');
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    const what = {
      partition: partitionOf('anna'),
      position,
      stream: expect.stringMatching(/^anna-/) as string,
      reason: 'RequestBound: poison',
    };
    expect(parked).toEqual([['tally', what]]);
    expect(OWNERS.map(countOf)).toEqual([2, 4, 4, 4]);
    expect(engine.parkedFor('tally', 'anna')).toEqual(what);
    expect(engine.parkedFor('tally', 'boris')).toBeUndefined();
    const [status] = await engine.status();
    expect(status).toMatchObject({ name: 'tally', version: 1, space: 'tally@1.1', parked: [what] });
    expect(status?.checkpoint).toBeLessThan(position);
    expect(status?.lagEvents).toBe((await log.head()).position - (status?.checkpoint ?? 0));
    expect(await faults(projections)).toEqual([]);
    await engine.stop();

    const fixed = await start();
    await awaitPassed(fixed, (await log.head()).position);
    expect(OWNERS.map(countOf)).toEqual([5, 4, 4, 4]);
    expect((await fixed.status())[0]).toMatchObject({ parked: [], lagEvents: 0 });
  });

  test('A poison event in the middle of a batch keeps the effects of the events before it', async () => {
    await appendMany(log, ['anna'], 3);
    await append(log, 'anna', 'bad');
    await appendMany(log, ['anna', 'boris'], 3);
    const engine = await start({ projections: [tally({ poison: 'bad' })] });
    expect(await engine.ready).toBe(true);
    expect([countOf('anna'), countOf('boris')]).toEqual([3, 3]);
  });
});

describe('A wait for a position', () => {
  test('A wait for a position ends at once, in the order of positions, after its time limit, or with the run', async () => {
    const engine = await start();
    await awaitPassed(engine, await append(log, 'anna'));
    expect(await engine.passed(1, 0)).toBe(true);
    expect(await engine.passed(2, 0)).toBe(false);
    expect(await engine.passed(99, 1)).toBe(false);
    const order: number[] = [];
    const waits = [4, 2, 3].map(async (position) => {
      expect(await engine.passed(position, HANG_MS)).toBe(true);
      order.push(position);
    });
    const never = engine.passed(99, 5_000);
    await appendMany(log, ['anna'], 3);
    await Promise.all(waits);
    expect(order).toEqual([2, 3, 4]);
    await engine.stop();
    expect(await never).toBe(false);
  });
});

describe('The catalog', () => {
  const fake = (poison?: number) => {
    const applied: number[] = [];
    let reached = 0;
    return {
      applied,
      catalog: {
        apply: (events: readonly FoldEvent[], upTo: number) => {
          if (events.some(({ position }) => position === poison)) throw new PoisonEvent('poison');
          applied.push(...events.map(({ position }) => position));
          reached = upTo;
        },
        checkpoint: () => reached,
        generation: () => 0,
        opened: Promise.resolve(),
        opening: () => undefined,
      } as unknown as OpeningCatalog,
      empty: () => (reached = applied.length = 0),
    };
  };
  const withdraw = async (): Promise<number> => {
    const position = (await log.head()).position + 1;
    const data = { product_id: `prd_${position}`, reason: 'gone' };
    const meta = { at: 1, actor: 'staff', surface: 'cli', operation: 'x', request: 'r', v: 1 };
    const id = `00000000-0000-7000-9000-${position.toString().padStart(12, '0')}`;
    const event = { id, type: 'ProductWithdrawn', data, meta };
    await log.append(`catalog-product_${position}`, -1, [event]);
    return position;
  };

  test('The catalog gets product events from its own checkpoint on, and is filled again after it was emptied', async () => {
    const { catalog, applied, empty } = fake();
    const first = await withdraw();
    await append(log, 'anna');
    const engine = await start({ catalog, recheckMs: 1e6 });
    const second = await withdraw();
    await awaitPassed(engine, second);
    expect(applied).toEqual([first, second]);
    expect((await engine.status()).at(-1)).toMatchObject({ name: 'catalog', lagEvents: 0 });
    empty();
    engine.recheck();
    await awaitPassed(engine, await withdraw());
    while (applied.length < 3) await new Promise((turn) => setImmediate(turn));
    expect(applied).toEqual([first, second, second + 1].toSorted((a, b) => a - b));
  });

  test('The catalog folds a large import in steps, and yields to other code between them', async () => {
    const { catalog, applied } = fake();
    for (let i = 0; i < 250; i++) await withdraw();
    let turns = 0;
    let isRunning = true;
    const count = (): void => {
      if (applied.length > 0 && applied.length < 250) turns += 1;
      if (isRunning) setImmediate(count);
    };
    count();
    const engine = await start({ catalog });
    await awaitPassed(engine, 250);
    isRunning = false;
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(applied).toEqual(Array.from({ length: 250 }, (_, n) => n + 1));
  });

  test('The catalog stops before a product event that it cannot fold, while the read models continue', async () => {
    const { catalog, applied } = fake(2);
    const engine = await start({ catalog });
    for (let i = 0; i < 3; i++) await withdraw();
    await awaitPassed(engine, await append(log, 'anna'));
    expect(applied).toEqual([1]);
    expect(countOf('anna')).toBe(1);
    const reason = 'ProductWithdrawn: poison';
    const stream = expect.stringMatching(/^catalog-/) as string;
    const parked = [{ partition: 0, position: 2, stream, reason }];
    expect((await engine.status()).at(-1)).toMatchObject({
      name: 'catalog',
      checkpoint: 1,
      parked,
    });
    await engine.stop();
    expect(catalog.checkpoint()).toBe(1);
    const next = await start({ catalog });
    await awaitPassed(next, (await log.head()).position);
    expect((await next.status()).at(-1)).toMatchObject({ checkpoint: 1, parked });
  });
});
