import type { Scheduling } from '#src/app/dispatch/attempts.ts';

type Options = Pick<Scheduling, 'schedule'> & { everyMs: number; onFault(error: unknown): void };

/** A task of the dispatcher that runs at start, and again a time after each end, also after a failure. */
export const repeated = (task: () => Promise<unknown>, { everyMs, schedule, onFault }: Options) => {
  let running = Promise.resolve();
  let isStopped = false;
  let cancel = (): void => undefined;
  const run = async (): Promise<void> => {
    try {
      await task();
    } catch (error) {
      onFault(error);
    }
    if (!isStopped) cancel = schedule(start, everyMs);
  };
  const start = (): void => {
    running = run();
  };
  return {
    start,
    idle: () => running,
    async stop(): Promise<void> {
      isStopped = true;
      cancel();
      await running;
    },
  };
};
