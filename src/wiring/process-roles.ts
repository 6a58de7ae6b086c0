import { type Config, hasRemoteReadModels, isRemoteLog } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';

export const PROCESS_ROLES = ['all', 'api', 'projector', 'dispatcher'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/** Throws StartupError if the configured stores do not allow a separate process of this role. */
export const requireRole = (role: ProcessRole, config: Config): void => {
  if (role === 'all' || role === 'api') return;
  if (!isRemoteLog(config))
    throw new StartupError(
      `--role ${role} requires a log that processes share, and an embedded log has one process. ` +
        'Set EVENT_LOG_URL=esdb://HOST, or run --role all.',
    );
  if (role === 'projector' && !hasRemoteReadModels(config))
    throw new StartupError(
      '--role projector requires read models that processes share, and embedded ones are folded ' +
        'by the process that reads them. Set READ_MODEL_URL=redis://HOST, or start no projector.',
    );
};

/** Returns true if this process folds the read models that processes can share. */
export const foldsSharedReadModels = (role: ProcessRole, config: Config): boolean =>
  role === 'all' || !isRemoteLog(config);
