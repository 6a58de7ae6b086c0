import type { Logger } from 'pino';
import { finishErasures } from '#src/privacy/finish-erasures.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { Deps } from '#src/calls/call.ts';

/** Each erasure costs a remote vault a round trip, at every start of every process. */
const REMOTE_NEWEST = 100;

/**
 * Finishes in the background the erasures that a crash, or an older vault beside a newer log, left
 * unfinished. The next start retries after a failure. `stop` waits until no call is pending.
 */
export const startFinishingErasures = (
  deps: Deps,
  config: Config,
  logger: Logger,
): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    try {
      const newest = isRemoteLog(config) ? REMOTE_NEWEST : Infinity;
      const keys = await finishErasures(deps, newest, signal);
      if (keys > 0) logger.warn({ keys }, 'keys of erased subjects destroyed');
    } catch (error) {
      logger.error({ err: error }, 'erasures stay unfinished until the next start');
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
