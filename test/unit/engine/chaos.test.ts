/** Engines that share a store which loses, stalls and forgets: whatever happens, they heal. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { PARTITIONS } from '#src/ports/read-model.ts';
import { tally } from '../../support/world/engine.ts';
import { type FarProcess, farWorld, type FarWorld } from '../../support/world/far-world.ts';
import { randomFrom } from '../../support/clients/journal.ts';

const SEEDS = 60;
const AT_ONCE = 12;
const BLOWS = 12;
const HEAL_MS_MAX = 10_000;
const OWNERS = ['anna', 'boris', 'carla', 'dora', 'emil', 'frida'];
const PROJECTIONS = [tally(), { ...tally(), name: 'other' }];

const shareOf = (place: number, of: number): number[] =>
  Array.from({ length: PARTITIONS }, (_, n) => n).filter((n) => n % of === place);

/** Two that read and two that fold, as the roles of a service do. */
const cast = (world: FarWorld, chance: (below: number) => number) => {
  const readers: FarProcess[] = [];
  const folders: (FarProcess | undefined)[] = [];
  const options = { batchEvents: 5 };
  const patiently = async (partitions: number[]): Promise<FarProcess> => {
    for (;;)
      try {
        return await world.start({ ...options, partitions });
      } catch {
        await wait(5);
      }
  };
  const share = async (): Promise<void> => {
    const alive = folders.flatMap((one, i) => (one ? [i] : []));
    for (const [place, i] of alive.entries()) {
      const old = folders[i];
      await old?.stop();
      folders[i] = await patiently(shareOf(place, alive.length));
    }
  };
  const blows: (() => Promise<void> | void)[] = [
    () => world.lose(),
    () => world.lose(),
    async () => {
      world.away(true);
      await wait(chance(30));
      world.away(false);
    },
    async () => {
      const i = chance(2);
      await folders[i]?.kill();
      folders[i] = undefined;
      await share();
      await wait(chance(30));
      // Until the other has heard of it, both fold all.
      folders[i] = await patiently(shareOf(0, 1));
      await wait(chance(30));
      await share();
    },
    async () => {
      const one = [...readers, ...folders][chance(4)];
      one?.pause();
      await wait(chance(30));
      one?.wake();
    },
    async () => {
      const i = chance(2);
      await readers[i]?.kill();
      readers[i] = await patiently([]);
    },
  ];
  const open = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) folders[i] = await patiently(shareOf(i, 2));
    for (let i = 0; i < 2; i++) readers[i] = await patiently([]);
  };
  return { open, blows, readers };
};

const survive = async (seed: number): Promise<string | undefined> => {
  const chance = randomFrom(seed * 7_919);
  const world = farWorld(PROJECTIONS, () => wait(chance(4)));
  const { open, blows, readers } = cast(world, chance);
  await open();
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      await world.add(OWNERS[chance(OWNERS.length - 1)] ?? '');
      await wait(1);
    }
  })();
  for (let i = 0; i < BLOWS; i++) {
    await blows[chance(blows.length)]?.();
    await wait(chance(20));
  }
  isOver = true;
  await writing;
  const until = performance.now() + HEAL_MS_MAX;
  const late: string[] = [];
  for (const [i, reader] of readers.entries())
    for (const owner of OWNERS)
      while (!(await world.isRight(reader, owner))) {
        if (performance.now() > until) {
          late.push(`reader ${i} knows nothing of ${owner}`);
          break;
        }
        await wait(5);
      }
  const mismatches = late.length > 0 ? [] : await world.mismatches();
  await world.end();
  const faults = [...late, ...mismatches.map((one) => JSON.stringify(one))];
  return faults.length > 0 ? `seed ${seed}: ${faults.join(', ')}` : undefined;
};

describe('engines over a store that loses, stalls and forgets', () => {
  test('heal in quiet, whoever died, and count nothing twice', async () => {
    const faults: string[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < SEEDS) {
        const fault = await survive((next += 1));
        if (fault) faults.push(fault);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    expect(faults).toEqual([]);
  });
});
