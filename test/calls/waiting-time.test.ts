/** The measures of waiting time, with injected clocks. */
import { describe, expect, it } from 'vitest';
import { eventLoopDelay } from '#src/system/metrics.ts';
import { concurrency, overload } from '#src/calls/limits.ts';
import { isRefusal } from '#src/shared/outcome.ts';

describe('The delay of the event loop', () => {
  const world = () => {
    let [now, idle] = [0, 0];
    let probe = (): void => {};
    const delay = eventLoopDelay({
      monotonic: () => now,
      idleMs: () => idle,
      every(_ms, task) {
        probe = task;
        return () => undefined;
      },
    });
    return {
      delay,
      work: (ms: number) => void (now += ms),
      wait(ms: number) {
        now += ms;
        idle += ms;
      },
      probe: () => probe(),
    };
  };

  it("The event loop's delay grows while the loop is busy, from the moment at which its timers are due", () => {
    const { delay, work, probe } = world();
    work(20);
    expect(delay.ms()).toBe(0);
    work(300);
    expect(delay.ms()).toBe(300);
    probe();
    expect(delay.ms()).toBe(0);
  });

  it("The event loop's delay does not count the time in which the loop waits for events or the process is paused", () => {
    const { delay, work, wait } = world();
    wait(5_000);
    work(5);
    expect(delay.ms()).toBe(0);
  });

  it("The event loop's delay is measured on the event loop of this process", () => {
    const delay = eventLoopDelay();
    const end = performance.now() + 100;
    while (performance.now() < end);
    expect(delay.ms()).toBeGreaterThanOrEqual(50);
    delay.stop();
  });
});

describe('The calls of a key in progress', () => {
  it('The calls of a key in progress are limited by key, and a refusal asks for the time that the oldest has taken', () => {
    let now = 0;
    const take = concurrency(2, () => now);
    const first = take('a');
    now = 3_500;
    const second = take('a');
    now = 4_000;
    expect(take('a')).toMatchObject({ code: 'rate_limited', retryAfterS: 4 });
    expect(isRefusal(take('b'))).toBe(false);
    if (!isRefusal(first)) first();
    const third = take('a');
    expect(isRefusal(third)).toBe(false);
    expect(take('a')).toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
    for (const free of [second, third]) if (!isRefusal(free)) free();
    expect(isRefusal(take('a'))).toBe(false);
  });
});

const waits = (count: number) => ({
  eventLoop: () => 2_000,
  reads: () => 0,
  appends: () => 0,
  calls: { count },
});

describe('A refusal in an overload', () => {
  it('A refusal in an overload spreads the clients over several seconds', () => {
    const refuse = overload(waits(16), 250);
    const seconds = Array.from({ length: 6 }, () => refuse('read')?.retryAfterS);
    expect(new Set(seconds)).toEqual(new Set([1, 2, 3]));
  });

  it('A refusal in an overload needs 16 waiting calls: a slow machine with fewer refuses none', () => {
    for (const budget of [undefined, 'read', 'write', 'outreach', 'redirect'] as const) {
      expect([budget, overload(waits(15), 250)(budget)]).toEqual([budget, undefined]);
      expect([budget, overload(waits(16), 250)(budget)?.code]).toEqual([budget, 'overloaded']);
    }
  });
});
