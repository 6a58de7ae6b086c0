/** How long a process trusts its state of credentials, and how the log confirms the state. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { confirmation } from '#src/calls/authenticate.ts';

const BOUND_MS = LIMITS.CREDENTIALS_UNCONFIRMED_MS_MAX;

/** A log whose answers the test gives, and a manual clock. */
const world = () => {
  let now = 0;
  const pendingAnswers: ((isFolded: boolean | Error) => void)[] = [];
  let scheduled: { at: number; task: () => void }[] = [];
  const ending = new AbortController();
  const subject = confirmation({
    log: {
      head: () =>
        new Promise((resolve, reject) => {
          pendingAnswers.push((answer) => {
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
    ...subject,
    asked: pendingAnswers,
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
      const give = pendingAnswers.shift();
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
  const state = world();
  for (let n = 0; n < 60; n++) {
    await state.answer();
    expect(state.holds()).toBe(true);
    expect(state.awaited()).toBeUndefined();
    await state.pass(500);
  }
  await state.pass(BOUND_MS - 500);
  expect(state.holds()).toBe(true);
  await state.pass(1);
  expect(state.holds()).toBe(false);
  // An answer confirms the state at the time of its request.
  state.stand(500);
  await state.answer();
  expect(state.holds()).toBe(false);
  await state.pass(500);
  await state.answer();
  expect(state.holds()).toBe(true);
});

it('The state of credentials is not confirmed by a head that is not folded yet, or by an error', async () => {
  const state = world();
  for (let n = 0; n <= BOUND_MS / 500; n++) {
    await state.answer(n % 2 === 0 ? false : new Error('away'));
    await state.pass(500);
  }
  expect(state.holds()).toBe(false);
  await state.answer();
  expect(state.holds()).toBe(true);
});

it('A request after a pause waits for an answer to a question that was sent after the pause', async () => {
  const state = world();
  state.stand(2_500);
  const first = state.awaited();
  expect(state.awaited()).toBe(first);
  // Sent before the pause.
  await state.answer();
  expect(await isSettled(first)).toBe(false);
  await state.answer();
  expect(await isSettled(first)).toBe(true);
  expect(state.awaited()).toBeUndefined();
});

it('A request waits at most one second, once for each time that the log stops answering', async () => {
  const state = world();
  await state.answer();
  await state.pass(1_500);
  const first = state.awaited();
  await state.pass(999);
  expect(await isSettled(first)).toBe(false);
  await state.pass(1);
  expect(await isSettled(first)).toBe(true);
  expect(state.holds()).toBe(true);
  expect(state.awaited()).toBeUndefined();
  await state.answer();
  await state.pass(500);
  await state.answer();
  expect(state.awaited()).toBeUndefined();
  state.stand(2_000);
  expect(state.awaited()).toBeDefined();
});

it('A stopped confirmation sends no more questions', async () => {
  const state = world();
  state.end();
  await state.answer(new Error('closed'));
  expect(state.waiting()).toBe(0);
});
