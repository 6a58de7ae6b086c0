/** Commands that show what is new until they are interrupted. */
import { setTimeout as pause } from 'node:timers/promises';

const FOLLOW_EVERY_MS = 500;

/** Calls `poll` twice a second until SIGINT or SIGTERM, after which the command ends as one that succeeded. */
export const followUntilInterrupted = async (poll: () => Promise<void>): Promise<void> => {
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  while (!signal.aborted) {
    await poll();
    await pause(FOLLOW_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
};
