import { setImmediate as turn } from 'node:timers/promises';
import { PARTITIONS, type ProjectionStore } from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';

const DAY_MS = 86_400_000;

/**
 * Reads every record of the live spaces once a day, so that damage is found that no reader meets. The store reports what is
 * damaged and removes it; the engine fills it again.
 */
export const checkDaily = (
  store: ProjectionStore,
  projections: readonly Projection[],
  signal: AbortSignal,
): void => {
  const timer = setInterval(() => void checkLive(store, projections, signal), DAY_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
};

/** Checks one partition after the other, with a turn for other work between them. */
export const checkLive = async (
  store: ProjectionStore,
  projections: readonly Projection[],
  signal?: AbortSignal,
): Promise<void> => {
  for (const { name } of projections) {
    const { live } = await store.spaces(name);
    for (let partition = 0; live !== null && partition < PARTITIONS; partition++) {
      if (signal?.aborted) return;
      // The store has reported the damage.
      await store.check?.(live, partition).catch(() => {});
      await turn();
    }
  }
};
