/** How long a process trusts its state of credentials, and how the log confirms the state. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { confirmation } from '#src/app/pipeline/confirmation.ts';

const BOUND_MS = LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX;

/** A log whose answers the test gives, and a manual clock. */
const world = () => {
  let now = 0;
  const asked: ((isFolded: boolean | Error) => void)[] = [];
  let scheduled: { at: number; task: () => void }[] = [];
  const ending = new AbortController();
  const made = confirmation({
    log: {
      head: () =>
        new Promise((resolve, reject) => {
          asked.push((answer) => {
            if (answer instanceof Error) reject(answer);
            else resolve({ position: answer ? 1 : 2, at: 0 });
          });
        }),
    },
    passed: async (position) => position === 1,
    clock: { monotonic: () => now },
    signal: ending.signal,
    schedule: (task, ms) => void scheduled.push({ at: now + ms, task }),
  });
  return {
    ...made,
    asked,
    end: () => ending.abort(),
    waiting: () => scheduled.length,
    async pass(ms: number) {
      now += ms;
      const due = scheduled.filter(({ at }) => at <= now);
      scheduled = scheduled.filter(({ at }) => at > now);
      for (const { task } of due) task();
      await turn();
    },
    async answer(isFolded: boolean | Error = true) {
      const give = asked.shift();
      if (!give) throw new Error('nothing was asked');
      give(isFolded);
      await turn();
    },
    /** Advances the clock without running timers. */
    stand: (ms: number) => void (now += ms),
  };
};

const isSettled = async (promise: Promise<void> | undefined): Promise<boolean> => {
  let settled = false;
  void promise?.then(() => (settled = true));
  await turn();
  return settled;
};

it('The state of credentials is trusted while the log answers, and for ten more seconds', async () => {
  const known = world();
  for (let n = 0; n < 60; n++) {
    await known.answer();
    expect(known.holds()).toBe(true);
    expect(known.awaited()).toBeUndefined();
    await known.pass(500);
  }
  await known.pass(BOUND_MS - 500);
  expect(known.holds()).toBe(true);
  await known.pass(1);
  expect(known.holds()).toBe(false);
  // An answer confirms the state at the time of its request.
  known.stand(500);
  await known.answer();
  expect(known.holds()).toBe(false);
  await known.pass(500);
  await known.answer();
  expect(known.holds()).toBe(true);
});

it('The state of credentials is not confirmed by a head that is not folded yet, or by an error', async () => {
  const known = world();
  for (let n = 0; n <= BOUND_MS / 500; n++) {
    await known.answer(n % 2 === 0 ? false : new Error('away'));
    await known.pass(500);
  }
  expect(known.holds()).toBe(false);
  await known.answer();
  expect(known.holds()).toBe(true);
});

it('A request after a pause waits for an answer to a question that was sent after the pause', async () => {
  const known = world();
  known.stand(2_500);
  const first = known.awaited();
  expect(known.awaited()).toBe(first);
  // Sent before the pause.
  await known.answer();
  expect(await isSettled(first)).toBe(false);
  await known.answer();
  expect(await isSettled(first)).toBe(true);
  expect(known.awaited()).toBeUndefined();
});

it('A request waits at most one second, once for each time that the log stops answering', async () => {
  const known = world();
  await known.answer();
  await known.pass(1_500);
  const first = known.awaited();
  await known.pass(999);
  expect(await isSettled(first)).toBe(false);
  await known.pass(1);
  expect(await isSettled(first)).toBe(true);
  expect(known.holds()).toBe(true);
  expect(known.awaited()).toBeUndefined();
  await known.answer();
  await known.pass(500);
  await known.answer();
  expect(known.awaited()).toBeUndefined();
  known.stand(2_000);
  expect(known.awaited()).toBeDefined();
});

it('A stopped confirmation sends no more questions', async () => {
  const known = world();
  known.end();
  await known.answer(new Error('closed'));
  expect(known.waiting()).toBe(0);
});
