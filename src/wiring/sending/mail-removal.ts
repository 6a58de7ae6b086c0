import type { Logger } from 'pino';
import { removeStoredMail } from '#src/adapters/delivery/mail-directory.ts';
import type { Scheduling } from '#src/app/dispatch/attempts.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { DAY_MS } from '#src/app/shared/time.ts';

const KEPT_MS = 30 * DAY_MS;
const EVERY_MS = 600_000;

type RemovalDeps = Pick<Deps, 'vault' | 'clock'> &
  Pick<Scheduling, 'schedule'> & { directory: string; logger: Pick<Logger, 'error'> };

/**
 * Removes stored messages after 30 days, and those of an erased person, at start and every ten minutes: an erasure happens
 * in any process, and the files are those of this one.
 */
export const mailRemoval = ({ vault, clock, schedule, directory, logger }: RemovalDeps) => {
  let running = Promise.resolve();
  let cancel = (): void => undefined;
  const isErased = async (subject: string): Promise<boolean> =>
    (await vault.knows(subject)) === 'destroyed';
  const remove = async (): Promise<void> => {
    try {
      await removeStoredMail(directory, { before: clock.now() - KEPT_MS, isErased });
    } catch (error) {
      logger.error({ err: error }, 'stored mail is not removed');
    }
    cancel = schedule(start, EVERY_MS);
  };
  const start = (): void => {
    running = remove();
  };
  return {
    start,
    idle: () => running,
    async stop(): Promise<void> {
      await running;
      cancel();
    },
  };
};
