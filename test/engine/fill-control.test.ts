import { beforeEach, describe, expect, test } from 'vitest';
import { FillControl, type FillLimits, FillMeter } from '#projections/engine/fill-control.ts';

let control: FillControl;
beforeEach(() => {
  control = new FillControl();
});

/** Starts to wait, and tells whether the fill may continue, after a few turns of the event loop. */
const asking = (events: number, signal?: AbortSignal) => {
  let isAllowed = false;
  const allowed = control.allow(events, signal).then(() => void (isAllowed = true));
  const isAllowedSoon = async (): Promise<boolean> => {
    for (let turns = 0; turns < 5; turns++) await new Promise((turn) => setImmediate(turn));
    return isAllowed;
  };
  return { allowed, isAllowedSoon };
};

describe('The control of fills', () => {
  test('A fill continues at once without a limit, and waits while it is paused', async () => {
    await control.allow(1_000_000);
    control.pause();
    const { allowed, isAllowedSoon } = asking(1);
    expect(await isAllowedSoon()).toBe(false);
    control.resume();
    await allowed;
  });

  test('A fill waits for its limit, and continues when the limit is removed or raised', async () => {
    control.throttle(1);
    const removed = asking(1_000_000);
    expect(await removed.isAllowedSoon()).toBe(false);
    control.throttle(undefined);
    await removed.allowed;
    control.throttle(1);
    const raised = asking(1_000);
    expect(await raised.isAllowedSoon()).toBe(false);
    control.throttle(1_000_000_000);
    await raised.allowed;
  });

  test('All fills together fold at most the events of the limit', async () => {
    const startedAt = performance.now();
    control.throttle(10_000);
    for (let batches = 0; batches < 5; batches++)
      await Promise.all([control.allow(100), control.allow(200)]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(149);
  });

  test('A paused fill that is aborted rejects', async () => {
    const controller = new AbortController();
    control.pause();
    const { allowed } = asking(1, controller.signal);
    controller.abort();
    await expect(allowed).rejects.toThrow('aborted');
  });

  test('Limits end with the last fill, and each change is told to listeners', async () => {
    const seen: FillLimits[] = [];
    const stop = control.onChange((limits) => seen.push(limits));
    const first = Promise.withResolvers<void>();
    const running = control.run(() => first.promise);
    await control.run(async () => {
      control.throttle(5);
      control.pause();
    });
    expect(control.limits).toEqual({ isPaused: true, eventsPerSecond: 5 });
    expect(control.isFilling).toBe(true);
    first.resolve();
    await running;
    expect(control.limits).toEqual({ isPaused: false, eventsPerSecond: undefined });
    expect(control.isFilling).toBe(false);
    expect(seen).toEqual([
      { isPaused: false, eventsPerSecond: 5 },
      { isPaused: true, eventsPerSecond: 5 },
      { isPaused: false, eventsPerSecond: undefined },
    ]);
    stop();
    control.pause();
    expect(seen).toHaveLength(3);
  });
});

test('A meter shows the rate of the last ten seconds, and the time that is left at this rate', () => {
  const meter = new FillMeter({ space: 'tally@1.2', position: 0, head: 100_000 });
  const since = performance.now();
  const moved = (position: number, seconds: number): void =>
    meter.update({ space: 'tally@1.2', position, head: 100_000 }, since + 1_000 * seconds);
  expect(meter.measure(since)).not.toHaveProperty('rate');
  moved(10_000, 10);
  moved(20_000, 20);
  moved(40_000, 30);
  const { rate, secondsLeft } = meter.measure(since + 30_000);
  expect(rate).toBeCloseTo(2_000, 0);
  expect(secondsLeft).toBeCloseTo(30, 0);
  // Paused: nothing is folded, so there is no time that is left.
  expect(meter.measure(since + 50_000)).toMatchObject({ rate: 0 });
  expect(meter.measure(since + 50_000)).not.toHaveProperty('secondsLeft');
});
