import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pairEngines, pairReadModels, localReadModels } from '#projections/engine/engine.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import { memoryStore } from '../support/memory-read-model.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { append, awaitPassed, copying, tally, world } from '../support/world/engine.ts';

const LOCAL = { ...tally(), name: 'local' };
const REMOTE = { ...tally(), name: 'remote' };
const isLocal = (name: string): boolean => name === 'local';

let { log, start, end } = world();
beforeEach(() => ({ log, start, end } = world()));
afterEach(() => end());

describe('A local and a remote store', () => {
  const openBoth = async () => {
    const [localStore, remoteStore] = [memoryStore(), memoryStore()];
    let isFull = false;
    let isUnavailable = false;
    let refreshes = 0;
    let resume = (): void => {};
    const shared = copying(remoteStore);
    const faulty: ProjectionStore = {
      ...shared,
      async commit(space, batches) {
        if (isFull) throw new Error('full');
        if (isUnavailable) await new Promise<void>((resolve) => (resume = resolve));
        return shared.commit(space, batches);
      },
    };
    const refresh = async (): Promise<void> => {
      refreshes += 1;
      await new Promise((turn) => setImmediate(turn));
      if (isUnavailable) throw new Error('unavailable');
    };
    const local = await start({ store: localStore, projections: [LOCAL] });
    const remote = await start({ store: faulty, projections: [REMOTE] });
    const engine = pairEngines(local, remote, { refresh });
    const readModels = pairReadModels(
      localReadModels(localStore, [LOCAL], local),
      localReadModels(remoteStore, [REMOTE], remote),
      isLocal,
    );
    const count = async (name: string) =>
      (await readModels.get<{ count: number }>(name, 'anna', 'tally'))?.count;
    const setRemote = (state: 'full' | 'unavailable' | 'working'): void => {
      isFull = state === 'full';
      isUnavailable = state === 'unavailable';
      if (state === 'working') resume();
    };
    const stacks = [
      { projection: LOCAL, store: localStore, engine: local },
      { projection: REMOTE, store: faulty, engine: remote },
    ];
    return { local, remote, engine, count, setRemote, stacks, refreshes: () => refreshes };
  };

  test('A local and a remote store pass a position once both have folded it', async () => {
    const { local, remote, engine, count } = await openBoth();
    expect(await Promise.all([local.ready, remote.ready])).toEqual([true, true]);
    await awaitPassed(engine, await append(log, 'anna'));
    expect([await count('local'), await count('remote')]).toEqual([1, 1]);
    expect(engine.asOf().position).toBe(1);
    expect((await engine.status()).map(({ name }) => name)).toEqual(['local', 'remote']);
    expect(remote.requiredCheckpoint('remote', 'anna')).toBe(1);
    expect(remote.requiredCheckpoint('none', 'anna')).toBeUndefined();
  });

  test.each(['full', 'unavailable'] as const)(
    'A local store continues while the remote one is %s, and nobody waits for the remote one',
    async (state) => {
      const { local, engine, count, setRemote } = await openBoth();
      await awaitPassed(engine, await append(log, 'anna'));
      setRemote(state);
      const position = await append(log, 'anna');
      await awaitPassed(local, position);
      // The wait would exceed the time limit of the test if it were not cut short.
      expect(await engine.passed(position, 600_000)).toBe(false);
      expect([await count('local'), await count('remote')]).toEqual([2, 1]);
      expect(engine.asOf().position).toBe(1);
      setRemote('working');
      await awaitPassed(engine, position);
      expect(await count('remote')).toBe(2);
      expect(engine.isFailing()).toBe(false);
    },
  );

  test('A local and a remote store share one refresh of the remote one among all callers', async () => {
    const { engine, setRemote, refreshes } = await openBoth();
    setRemote('unavailable');
    const position = await append(log, 'anna');
    const waiting = Array.from({ length: 20 }, () => engine.passed(position, 600_000));
    const passed = await Promise.all(waiting);
    setRemote('working');
    await awaitPassed(engine, position);
    expect(passed).toEqual(waiting.map(() => false));
    expect(refreshes()).toBeLessThan(waiting.length / 2);
  });

  test('A local and a remote store are rebuilt in one reading of the log without losing events', async () => {
    const { engine, stacks, count } = await openBoth();
    await awaitPassed(engine, await append(log, 'anna'));
    let reads = 0;
    const counted: typeof log = {
      ...log,
      readFold(range) {
        reads += 1;
        return log.readFold(range);
      },
    };
    const stores = stacks.map(({ projection, ...stack }) => ({
      ...stack,
      projections: [projection],
    }));
    expect(await rebuildAll({ log: counted, stores })).toMatchObject([
      { space: 'local@1.2', rows: 1 },
      { space: 'remote@1.2', rows: 1 },
    ]);
    expect(reads).toBe(1);
    await awaitPassed(engine, await append(log, 'anna'));
    expect([await count('local'), await count('remote')]).toEqual([2, 2]);
  });
});
