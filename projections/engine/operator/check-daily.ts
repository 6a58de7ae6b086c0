import { setImmediate as turn } from 'node:timers/promises';
import { ALL_PARTITIONS } from '#src/ports/read-model.ts';
import type { EngineOptions } from '../options.ts';

const DAY_MS = 86_400_000;

type Checked = Pick<EngineOptions, 'store' | 'projections' | 'partitions' | 'signal' | 'onFault'>;

/**
 * Reads every record of the live spaces once a day, so that damage is found that no reader meets. The store reports what is
 * damaged and removes it; the engine fills it again.
 */
export const checkDaily = (options: Checked): void => {
  const { signal, onFault } = options;
  const timer = setInterval(
    () => void checkLive(options).catch((error: unknown) => onFault?.(error)),
    DAY_MS,
  ).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
};

/** Checks one partition after the other, with a turn for other work between them. */
export const checkLive = async ({
  store,
  projections,
  partitions = ALL_PARTITIONS,
  signal,
}: Checked): Promise<void> => {
  for (const { name } of projections) {
    const { live } = await store.spaces(name);
    if (live === null) continue;
    for (const partition of partitions) {
      if (signal.aborted) return;
      // The store has reported the damage.
      await store.check?.(live, partition).catch(() => {});
      await turn();
    }
  }
};
