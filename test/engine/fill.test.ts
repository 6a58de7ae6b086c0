import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fill } from '#projections/engine/fill.ts';
import { openTarget } from '#projections/engine/target.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { batchStore, appendMany, tally, world } from '../support/world/engine.ts';

let { log, store, end } = world();
beforeEach(() => ({ log, store, end } = world()));
afterEach(() => end());

const OWNERS = ['anna', 'boris', 'carla', 'dora', 'emil'];

/** Counts the turns of the event loop that other code gets while `work` runs. */
const withTurns = async (work: (turns: () => number) => Promise<void>): Promise<void> => {
  let turns = 0;
  let isDone = false;
  const others = async (): Promise<void> => {
    for (; !isDone; turns++) await turn();
  };
  const running = others();
  await work(() => turns);
  isDone = true;
  await running;
};

describe('A fill', () => {
  test('A fill of a running engine repeats a read that fails, and reads nothing twice', async () => {
    const head = await appendMany(log, OWNERS, 600);
    const target = await openTarget(store, { projection: tally(), space: 'tally@1.1' });
    const reads: number[] = [];
    const faults: unknown[] = [];
    const failing: typeof log = {
      ...log,
      async readFold(options) {
        if (reads.length === 2 && faults.length < 2)
          throw new LogUnavailable('fault', 'no', 'the server does not answer');
        reads.push(options.after);
        return log.readFold(options);
      },
    };
    const options = { log: failing, targets: [target], batchEvents: 1_000 };
    const { signal } = new AbortController();
    const onFault = (error: unknown) => void faults.push(error);
    expect(await fill({ ...options, signal, onFault })).toBe(head);
    expect(faults).toHaveLength(2);
    expect(reads).toEqual([0, 1_000, 2_000]);
  });

  test('A fill of a command fails when the log does not answer', async () => {
    await appendMany(log, OWNERS, 1);
    const target = await openTarget(store, { projection: tally(), space: 'tally@1.1' });
    const readFold = () => Promise.reject(new LogUnavailable('fault', 'no', 'away'));
    const filling = fill({ log: { ...log, readFold }, targets: [target] });
    await expect(filling).rejects.toThrow('away');
  });

  test('A fill commits each large batch once, and yields to other code between commits', async () => {
    const head = await appendMany(log, OWNERS, 600);
    const projections = ['one', 'two', 'three'].map((name) => ({ ...tally(), name }));
    const batched = batchStore();
    await withTurns(async (turns) => {
      const reads: number[] = [];
      const commits: { space: string; rows: number; turn: number }[] = [];
      const remote: ProjectionStore = {
        ...batched,
        fillEvents: 2_500,
        commit(space, batches) {
          const rows = batches.reduce((sum, { writes }) => sum + writes.length, 0);
          if (rows > 0) commits.push({ space, rows, turn: turns() });
          return batched.commit(space, batches);
        },
      };
      const targets = await Promise.all(
        projections.map((p) => openTarget(remote, { projection: p, space: `${p.name}@1.1` })),
      );
      const watched: typeof log = {
        ...log,
        readFold(options) {
          reads.push(turns());
          return log.readFold(options);
        },
      };
      expect(await fill({ log: watched, targets })).toBe(head);
      // 3,000 events are two batches (2,500 and 500) for each of three read models.
      expect(commits.map(({ space, rows }) => `${space} ${rows}`).toSorted()).toEqual([
        'one@1.1 5',
        'one@1.1 5',
        'three@1.1 5',
        'three@1.1 5',
        'two@1.1 5',
        'two@1.1 5',
      ]);
      expect(new Set(commits.map((commit) => commit.turn)).size).toBe(commits.length);
      // A page has at most 1,000 events.
      expect(reads).toHaveLength(4);
      expect(new Set(reads).size).toBe(reads.length);
    });
    for (const { name } of projections)
      for (const owner of OWNERS)
        expect(batched.peek(`${name}@1.1`, owner, 'tally'), name).toMatchObject({ count: 600 });
  });

  test('A fill uses batchEvents instead of the preference of the store', async () => {
    const head = await appendMany(log, OWNERS, 4);
    const remote = { ...store, fillEvents: 2_500 };
    const target = await openTarget(remote, { projection: tally(), space: 'tally@1.1' });
    const limits: number[] = [];
    const watched: typeof log = {
      ...log,
      readFold(options) {
        limits.push(options.limit);
        return log.readFold(options);
      },
    };
    const options = { log: watched, targets: [target], batchEvents: 8 };
    expect(await fill(options)).toBe(head);
    expect(limits).toEqual([8, 8, 8]);
  });
});
