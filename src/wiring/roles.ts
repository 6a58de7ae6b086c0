/** What a process of the service does. */
import { areRemoteViews, type Config, isRemoteLog } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';

export const ROLES = ['all', 'api', 'projector', 'dispatcher'] as const;
export type Role = (typeof ROLES)[number];

/** Throws StartupError when these stores leave nothing to do to a process of this role. */
export const requireRole = (role: Role, config: Config): void => {
  if (role === 'all' || role === 'api') return;
  if (!isRemoteLog(config))
    throw new StartupError(
      `--role ${role} works on a log that other processes share, and an embedded log has one ` +
        'process. Set EVENT_LOG_URL=esdb://HOST, or run --role all.',
    );
  if (role === 'projector' && !areRemoteViews(config))
    throw new StartupError(
      '--role projector folds read models that other processes read, and embedded ones are folded ' +
        'where they are read. Set READ_MODEL_URL=redis://HOST, or leave the projector out.',
    );
};

/** Whether this process folds the read models that others may read too. */
export const foldsAll = (role: Role, config: Config): boolean =>
  role === 'all' || !isRemoteLog(config);
