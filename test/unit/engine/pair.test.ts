import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pairedEngines, pairedReadModels, pairedStores } from '#projections/engine/pair.ts';
import { localReadModels } from '#projections/engine/readers.ts';
import { rebuild } from '#projections/engine/rebuild.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { append, awaitPassed, copying, tally, world } from '../../support/world/engine.ts';

const NEAR = { ...tally(), name: 'near' };
const FAR = { ...tally(), name: 'far' };
const isNear = (name: string): boolean => name === 'near';

let { log, start, end } = world();
beforeEach(() => ({ log, start, end } = world()));
afterEach(() => end());

describe('a near store and a far one', () => {
  const both = async () => {
    const [nearStore, farStore] = [memoryStore(), memoryStore()];
    let isFull = false;
    let isAway = false;
    let looks = 0;
    let comeBack = (): void => {};
    const shared = copying(farStore);
    const ill: ProjectionStore = {
      ...shared,
      async commit(space, batches) {
        if (isFull) throw new Error('full');
        if (isAway) await new Promise<void>((back) => (comeBack = back));
        return shared.commit(space, batches);
      },
    };
    const refresh = async (): Promise<void> => {
      looks += 1;
      await new Promise((turn) => setImmediate(turn));
      if (isAway) throw new Error('away');
    };
    const near = await start({ store: nearStore, projections: [NEAR] });
    const far = await start({ store: ill, projections: [FAR] });
    const engine = pairedEngines(near, far, isNear, { refresh });
    const readModels = pairedReadModels(
      localReadModels(nearStore, [NEAR], near),
      localReadModels(farStore, [FAR], far),
      isNear,
    );
    const count = async (name: string) =>
      (await readModels.get<{ count: number }>(name, 'anna', 'tally'))?.count;
    const illness = (now: 'full' | 'away' | 'well'): void => {
      isFull = now === 'full';
      isAway = now === 'away';
      if (now === 'well') comeBack();
    };
    const store = pairedStores(nearStore, ill, isNear);
    return { near, engine, count, illness, store, looks: () => looks };
  };

  test('have passed what both have folded', async () => {
    const { engine, count } = await both();
    expect(await engine.ready).toBe(true);
    await awaitPassed(engine, await append(log, 'anna'));
    expect([await count('near'), await count('far')]).toEqual([1, 1]);
    expect(engine.asOf().position).toBe(1);
    expect((await engine.status()).map(({ name }) => name)).toEqual(['near', 'far']);
    expect(engine.owed('far', 'anna')).toBe(1);
    expect(engine.owed('none', 'anna')).toBeUndefined();
  });

  test.each(['full', 'away'] as const)(
    'the near one goes on while the far one is %s, and nobody waits for that',
    async (now) => {
      const { near, engine, count, illness } = await both();
      await awaitPassed(engine, await append(log, 'anna'));
      illness(now);
      const position = await append(log, 'anna');
      await awaitPassed(near, position);
      const began = performance.now();
      expect(await engine.passed(position, 60_000)).toBe(false);
      expect(performance.now() - began).toBeLessThan(1_000);
      expect([await count('near'), await count('far')]).toEqual([2, 1]);
      expect(engine.asOf().position).toBe(1);
      illness('well');
      await awaitPassed(engine, position);
      expect(await count('far')).toBe(2);
      expect(engine.failing()).toBe(false);
    },
  );

  test('the far one is asked once whether it is there, for all who wait', async () => {
    const { engine, illness, looks } = await both();
    illness('away');
    const position = await append(log, 'anna');
    const waiting = Array.from({ length: 20 }, () => engine.passed(position, 60_000));
    const passed = await Promise.all(waiting);
    illness('well');
    await awaitPassed(engine, position);
    expect(passed).toEqual(waiting.map(() => false));
    expect(looks()).toBeLessThan(waiting.length / 2);
  });

  test('are rebuilt as one', async () => {
    const { engine, store, count } = await both();
    await awaitPassed(engine, await append(log, 'anna'));
    for (const projection of [NEAR, FAR]) {
      const done = await rebuild({ log, store, engine, projection });
      expect(done).toMatchObject({ space: `${projection.name}@1.2`, rows: 1 });
    }
    await awaitPassed(engine, await append(log, 'anna'));
    expect([await count('near'), await count('far')]).toEqual([2, 2]);
  });
});
