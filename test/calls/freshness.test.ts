/** What it costs the log that a process makes sure of what it refuses. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { freshness } from '#src/calls/failure.ts';

/** The shortest time between two reads of the head, in milliseconds. */
const GATHER_MS = 10;

/** A process at position 5 of a log that has `head`, with a clock that only pauses move. */
const opened = (head: () => Promise<number>) => {
  let now = 0;
  let reads = 0;
  const fresh = freshness({
    log: {
      async head() {
        reads += 1;
        return { position: await head(), at: null };
      },
    },
    following: {
      asOf: () => ({ position: 5, at: null }),
      passed: async (position) => position <= 7,
    },
    clock: { monotonic: () => now },
    async pause(ms) {
      now += ms;
      await turn();
    },
  });
  return { fresh, reads: () => reads, elapsed: () => now };
};

it('A storm of refusals reads the head of the log once in ten milliseconds, however many callers there are', async () => {
  const { fresh, reads, elapsed } = opened(async () => 5);
  for (let wave = 0; wave < 20; wave += 1) {
    const answers = await Promise.all(Array.from({ length: 500 }, () => fresh.compare(5)));
    expect(new Set(answers)).toEqual(new Set(['current']));
  }
  expect(reads()).toBe(20);
  expect(elapsed()).toBe(19 * GATHER_MS);
});

it('A refusal is compared with a head that was read after its request came', async () => {
  const answers = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let read = 0;
  const { fresh, reads } = opened(() => answers[read++]?.promise ?? Promise.resolve(0));
  const first = fresh.compare(5);
  while (reads() === 0) await turn();
  const second = fresh.compare(5);
  answers[0]?.resolve(5);
  expect(await first).toBe('current');
  answers[1]?.resolve(6);
  expect(await second).toBe('advanced');
  expect(reads()).toBe(2);
});

it('A refusal waits for what the process lacks, and is not given if that takes too long', async () => {
  expect(await opened(async () => 7).fresh.compare(5)).toBe('advanced');
  expect(await opened(async () => 8).fresh.compare(5)).toBe('behind');
});
