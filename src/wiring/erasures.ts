/** What a crash, or an older vault beside a newer log, has left undone of erasures. */
import type { Logger } from 'pino';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { finishErasures } from '#src/app/privacy/finish-erasures.ts';
import { type Config, isRemoteLog } from '#src/config.ts';

/** Each question to a vault on a server is a round trip, at every start of every process. */
const REMOTE_NEWEST = 100;

export type Finishing = {
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
};

/** Finishes them in the background of a service; what fails, its next start tries again. */
export const finishingErasures = (
  deps: Pick<Deps, 'readModels' | 'vault'>,
  config: Config,
  logger: Logger,
): Finishing => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    try {
      const keys = await finishErasures(deps, {
        signal,
        ...(isRemoteLog(config) && { newest: REMOTE_NEWEST }),
      });
      if (keys > 0) logger.warn({ keys }, 'keys of erased subjects destroyed');
    } catch (error) {
      logger.error({ err: error }, 'erasures wait for the next start');
    }
  };
  const done = run();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
};
