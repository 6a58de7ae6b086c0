import type { Scheduling } from '#src/sending/attempts.ts';

type Options = Pick<Scheduling, 'schedule'> & { everyMs: number; onFault(error: unknown): void };

/** A task of the dispatcher that runs at start, and again a time after each end, also after a failure. `stop` aborts it. */
export const repeated = (
  task: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, schedule, onFault }: Options,
) => {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = Promise.resolve();
  let cancel = (): void => undefined;
  const run = async (): Promise<void> => {
    try {
      await task(signal);
    } catch (error) {
      onFault(error);
    }
    if (!signal.aborted) cancel = schedule(start, everyMs);
  };
  const start = (): void => {
    running = run();
  };
  return {
    start,
    idle: () => running,
    async stop(): Promise<void> {
      stopping.abort();
      cancel();
      await running;
    },
  };
};
