import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limiter, SharedLimiter } from '#src/calls/limits.ts';
import type { SharedCount } from '#src/ports/system.ts';

/** A shared count with a manual clock, which answers when the test calls `trip`. */
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
    /** One round trip: answers every waiting call and runs its continuations. */
    async trip(): Promise<void> {
      const due = waiting;
      waiting = [];
      for (const answer of due) answer();
      for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    },
    limit: (perMinute: number) =>
      new SharedLimiter({ count: perMinute, per: 'minute' }, at.monotonic, {
        count: at.count,
        name: 'read',
      }),
  };
  return at;
};

/** Counts the allowed calls of `calls`, spread over the limits, with a round trip after each `every`. */
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

describe('A limit shared by several processes', () => {
  it('A limit shared by several processes allows a client of all processes at most a tenth more than the limit', async () => {
    for (const processes of [2, 3, 8]) {
      const at = world(processes);
      const limits = Array.from({ length: processes }, () => at.limit(600));
      const allowed = await passed(at, limits, { calls: 3_000, every: 4 });
      expect(allowed).toBeGreaterThanOrEqual(600);
      expect(allowed).toBeLessThanOrEqual(660);
    }
  });

  it('A limit shared by several processes allows a client of one process the whole limit', async () => {
    const at = world(4);
    const [limit] = [at.limit(600), at.limit(600)];
    expect(await passed(at, [limit], { calls: 800, every: 4 })).toBe(600);
  });

  it('A limit shared by several processes counts the calls that other processes allowed before', async () => {
    const at = world(2);
    const [one, other] = [at.limit(600), at.limit(600)];
    expect(await passed(at, [one], { calls: 600, every: 4 })).toBe(600);
    expect(await passed(at, [other], { calls: 600, every: 4 })).toBeLessThanOrEqual(60);
  });

  it('A limit shared by several processes compensates for extra calls, so that the long-term rate is the limit', async () => {
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

  it('A limit shared by several processes sends far fewer requests to the count than it checks calls', async () => {
    const at = world(2);
    const limits = [at.limit(6_000), at.limit(6_000)];
    await passed(at, limits, { calls: 4_000, every: 4 });
    expect(at.adds).toBeLessThan(400);
  });

  it('A limit shared by several processes allows each process its share while the count is unavailable, and the limit afterwards', async () => {
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
    // Half of the budget has refilled; the other half is still used up in both processes.
    const together = await passed(at, limits, { calls: 2_000, every: 4 });
    expect(together).toBeGreaterThanOrEqual(270);
    expect(together).toBeLessThanOrEqual(360);
  });

  it('A limit shared by several processes keeps its own view when the count was emptied', async () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    await passed(at, limits, { calls: 2_000, every: 4 });
    at.forget();
    at.now += 1_000;
    // The budget of ten calls has refilled.
    expect(await passed(at, limits, { calls: 2_000, every: 4 })).toBeLessThanOrEqual(20);
  });

  it('A limit shared by several processes allows no more calls than the limit while the count has not answered', () => {
    const at = world(2);
    const limits = [at.limit(600), at.limit(600)];
    let allowed = 0;
    for (let n = 0; n < 4_000; n += 1) if (limits[n % 2]?.take('k').allowed) allowed += 1;
    expect(allowed).toBe(600);
  });

  it('A limit shared by several processes decides as a local limit does when there is one process', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 60 }),
        async (steps) => {
          const at = world(1);
          const alone = limiter({ count: 10, per: 'minute' }, at.monotonic);
          const shared = at.limit(10);
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
