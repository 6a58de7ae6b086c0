/** Time that tests control. */
type Timer = { at: number; task: () => void };

/** Promises that resolve when a condition is true at a call of `look`. */
export const waits = () => {
  const waiting = new Set<() => void>();
  return {
    look: () => waiting.forEach((check) => check()),
    until: (holds: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!holds()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
};

type Settable = { now(): number; set(at: number): void };

const settable = (): Settable => {
  let at = Date.parse('2026-11-20T10:00:00Z');
  return {
    now: () => at,
    set: (to) => {
      at = to;
    },
  };
};

/** A clock that tests advance; tasks that become due run in order. */
export const manualTime = (clock: Settable = settable()) => {
  const timers = new Set<Timer>();
  const { look, until } = waits();
  return {
    clock: { now: clock.now, monotonic: clock.now },
    schedule: (task: () => void, ms: number) => {
      const timer = { at: clock.now() + ms, task };
      timers.add(timer);
      look();
      return () => void timers.delete(timer);
    },
    async advance(ms: number, settle: () => Promise<void>): Promise<void> {
      const end = clock.now() + ms;
      await settle();
      for (;;) {
        const [due] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (!due) break;
        timers.delete(due);
        clock.set(Math.max(clock.now(), due.at));
        due.task();
        await settle();
      }
      clock.set(end);
    },
    /** Runs the tasks due within `ms` without waiting, for calls that end only when a task runs. */
    fire(ms: number) {
      clock.set(clock.now() + ms);
      for (const timer of [...timers].filter(({ at }) => at <= clock.now())) {
        timers.delete(timer);
        timer.task();
      }
    },
    jump: (ms: number) => clock.set(clock.now() + ms),
    waiting: () => timers.size,
    /** Resolves when a task is scheduled after exactly this time. */
    scheduled: (ms: number) => until(() => [...timers].some(({ at }) => at === clock.now() + ms)),
  };
};
