import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limiter } from '#src/app/limits/limiter.ts';
import { sharedLimiter } from '#src/app/limits/shared-limiter.ts';
import type { SharedCount } from '#src/ports/limits.ts';

/** The count by a clock of the test; answers when the test says so. */
const world = (processes: number) => {
  const arrivals = new Map<string, number>();
  let waiting: (() => void)[] = [];
  const at = {
    now: 0,
    processes,
    isAway: false,
    adds: 0,
    monotonic: (): number => at.now,
    count: {
      add: (key: string, costMs: number) =>
        new Promise<number>((resolve, reject) => {
          at.adds += 1;
          waiting.push(() => {
            if (at.isAway) {
              reject(new Error('away'));
              return;
            }
            const arrival = Math.max(arrivals.get(key) ?? 0, at.now) + costMs;
            arrivals.set(key, arrival);
            resolve(arrival - at.now);
          });
        }),
      processes: (): number => at.processes,
    } satisfies SharedCount,
    forget: () => arrivals.clear(),
    /** One round trip: answers what was asked, and lets it be acted upon. */
    async trip(): Promise<void> {
      const due = waiting;
      waiting = [];
      for (const answer of due) answer();
      for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    },
    limit: (perMinute: number) =>
      sharedLimiter(perMinute, at.monotonic, { count: at.count, name: 'read' }),
  };
  return at;
};

/** How many of `calls` pass, taken by turns, with a round trip after every `every` of them. */
const passed = async (
  at: ReturnType<typeof world>,
  limits: readonly { take(key: string): { allowed: boolean } }[],
  { calls, every }: { calls: number; every: number },
): Promise<number> => {
  let allowed = 0;
  for (let n = 0; n < calls; n += 1) {
    if (limits[n % limits.length]?.take('k').allowed) allowed += 1;
    if (n % every === every - 1) await at.trip();
  }
  return allowed;
};

describe('a limit over several processes', () => {
  it('is one limit, within a tenth, for a client that goes to all of them', async () => {
    for (const processes of [2, 3, 8]) {
      const at = world(processes);
      const limits = Array.from({ length: processes }, () => at.limit(600));
      const allowed = await passed(at, limits, { calls: 3_000, every: 4 });
      expect(allowed).toBeGreaterThanOrEqual(600);
      expect(allowed).toBeLessThanOrEqual(660);
    }
  });

  it('gives a client of one process all of it', async () => {
    const at = world(4);
    const [limit] = [at.limit(600), at.limit(600)];
    expect(await passed(at, [limit], { calls: 800, every: 4 })).toBe(600);
  });

  it('knows what was taken elsewhere before', async () => {
    const at = world(2);
    const [one, other] = [at.limit(600), at.limit(600)];
    expect(await passed(at, [one], { calls: 600, every: 4 })).toBe(600);
    expect(await passed(at, [other], { calls: 600, every: 4 })).toBeLessThanOrEqual(60);
  });

  it('pays back what went over: in the long run the rate is the limit', async () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    await passed(at, limits, { calls: 2_000, every: 4 });
    let allowed = 0;
    for (let second = 0; second < 120; second += 1) {
      for (let tenth = 0; tenth < 10; tenth += 1) {
        at.now += 100;
        allowed += await passed(at, limits, { calls: 20, every: 4 });
      }
    }
    expect(allowed).toBeGreaterThanOrEqual(1_080);
    expect(allowed).toBeLessThanOrEqual(1_320);
  });

  it('asks far less often than it is asked', async () => {
    const at = world(2);
    const limits = [at.limit(6_000), at.limit(6_000)];
    await passed(at, limits, { calls: 4_000, every: 4 });
    expect(at.adds).toBeLessThan(400);
  });

  it('keeps to its share while the count is away, and to the limit when it is back', async () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    at.isAway = true;
    const apart = await Promise.all(
      limits.map((limit) => passed(at, [limit], { calls: 700, every: 4 })),
    );
    for (const allowed of apart) {
      expect(allowed).toBeGreaterThanOrEqual(290);
      expect(allowed).toBeLessThanOrEqual(310);
    }
    at.isAway = false;
    at.now += 30_000;
    // Half of what was taken has come back; the rest is still owed, in both processes.
    const together = await passed(at, limits, { calls: 2_000, every: 4 });
    expect(together).toBeGreaterThanOrEqual(270);
    expect(together).toBeLessThanOrEqual(360);
  });

  it('does not begin anew because the count was emptied', async () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    await passed(at, limits, { calls: 2_000, every: 4 });
    at.forget();
    at.now += 1_000;
    // Ten have come back, and are asked about.
    expect(await passed(at, limits, { calls: 2_000, every: 4 })).toBeLessThanOrEqual(20);
  });

  it('lets no more through than there is, however late the count answers', () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    let allowed = 0;
    for (let n = 0; n < 4_000; n += 1) if (limits[n % 2]?.take('k').allowed) allowed += 1;
    expect(allowed).toBe(600);
  });

  it('decides as a limit of one process does, where there is one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 60 }),
        async (steps) => {
          const at = world(1);
          const [alone, shared] = [limiter(10, at.monotonic), at.limit(10)];
          for (const step of steps) {
            at.now += step;
            expect(shared.take('k')).toEqual(alone.take('k'));
            await at.trip();
          }
        },
      ),
    );
  });
});
