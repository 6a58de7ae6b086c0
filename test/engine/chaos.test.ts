/** Engines over a shared store that loses rows, stalls and is unavailable, at random. */
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ALL_PARTITIONS } from '#src/ports/read-model.ts';
import { randomFrom } from '../support/clients/journal.ts';
import { tally } from '../support/world/engine.ts';
import {
  type RemoteStoreProcess,
  remoteStoreWorld,
  type RemoteStoreWorld,
} from '../support/world/remote-store-world.ts';
import { HANG_MS } from '../support/hang.ts';

/** SEED repeats the seed of a failure, which the failure names. */
const ONLY_SEED = env['SEED'];
const SEEDS = ONLY_SEED ? [Number(ONLY_SEED)] : Array.from({ length: 60 }, (_, i) => i + 1);
const CONCURRENCY = 12;
const FAULTS = 12;
const OWNERS = ['anna', 'boris', 'carla', 'dora', 'emil', 'frida'];
const PROJECTIONS = [tally(), { ...tally(), name: 'other' }];

const assignedTo = (place: number, of: number): number[] =>
  ALL_PARTITIONS.filter((n) => n % of === place);

/** Two processes that read and two that fold, like the roles of a service. */
const createProcesses = (world: RemoteStoreWorld, random: (below: number) => number) => {
  const readers: RemoteStoreProcess[] = [];
  const projectors: (RemoteStoreProcess | undefined)[] = [];
  const startWithRetries = async (partitions: number[]): Promise<RemoteStoreProcess> => {
    for (;;)
      try {
        return await world.start({ batchEvents: 5, partitions });
      } catch {
        await wait(5);
      }
  };
  const reassign = async (): Promise<void> => {
    const alive = projectors.flatMap((one, i) => (one ? [i] : []));
    for (const [place, i] of alive.entries()) {
      await projectors[i]?.stop();
      projectors[i] = await startWithRetries(assignedTo(place, alive.length));
    }
  };
  const faults: (() => Promise<void> | void)[] = [
    () => world.lose(),
    () => world.lose(),
    async () => {
      world.away(true);
      await wait(random(30));
      world.away(false);
    },
    async () => {
      const i = random(2);
      await projectors[i]?.kill();
      projectors[i] = undefined;
      await reassign();
      await wait(random(30));
      // Both projectors fold all partitions until the other one learns about the new one.
      projectors[i] = await startWithRetries(assignedTo(0, 1));
      await wait(random(30));
      await reassign();
    },
    async () => {
      const one = [...readers, ...projectors][random(4)];
      one?.pause();
      await wait(random(30));
      one?.wake();
    },
    async () => {
      const i = random(2);
      await readers[i]?.kill();
      readers[i] = await startWithRetries([]);
    },
  ];
  const start = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) projectors[i] = await startWithRetries(assignedTo(i, 2));
    for (let i = 0; i < 2; i++) readers[i] = await startWithRetries([]);
  };
  return { start, faults, readers };
};

/** Returns a description of what is wrong after the faults of a seed; undefined if nothing is. */
const runSeed = async (seed: number): Promise<string | undefined> => {
  const random = randomFrom(seed * 7_919);
  const world = remoteStoreWorld(PROJECTIONS, () => wait(random(4)));
  const { start, faults, readers } = createProcesses(world, random);
  await start();
  let isDone = false;
  const writing = (async () => {
    while (!isDone) {
      await world.add(OWNERS[random(OWNERS.length - 1)] ?? '');
      await wait(1);
    }
  })();
  for (let i = 0; i < FAULTS; i++) {
    await faults[random(faults.length)]?.();
    await wait(random(20));
  }
  isDone = true;
  await writing;
  const deadline = performance.now() + HANG_MS;
  const errors: string[] = [];
  for (const [i, reader] of readers.entries())
    for (const owner of OWNERS)
      while (!(await world.isRight(reader, owner))) {
        if (performance.now() > deadline) {
          errors.push(`reader ${i} has no rows of ${owner}`);
          break;
        }
        await wait(5);
      }
  const mismatches = errors.length > 0 ? [] : await world.mismatches();
  await world.end();
  errors.push(...mismatches.map((one) => JSON.stringify(one)));
  return errors.length > 0 ? `SEED=${seed}: ${errors.join(', ')}` : undefined;
};

describe('Engines over a store that loses rows, stalls and is unavailable', () => {
  test('Engines over a store that loses rows, stalls and is unavailable recover without further events, regardless of which process stopped, and count no event twice', async () => {
    const pending = [...SEEDS];
    const errors: string[] = [];
    const runPending = async (): Promise<void> => {
      for (let seed = pending.shift(); seed !== undefined; seed = pending.shift()) {
        const error = await runSeed(seed);
        if (error) errors.push(error);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, runPending));
    expect(errors).toEqual([]);
  });
});
