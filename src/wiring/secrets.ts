import { requireLogFile } from '#src/adapters/sqlite/log/log-open.ts';
import { hasRoot, systemSecrets, type SystemSecrets } from '#src/adapters/system/secrets.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';

/** In memory nothing outlives the process, so the root may be anybody's. */
const ROOT_OF_MEMORY = Buffer.alloc(32, 7);

/**
 * The secrets of the service. All processes of one log must have the same root, so where others may
 * work on it none is made: it comes from the environment, or lies in the data directory already.
 * Throws StartupError.
 */
export const openSecrets = (config: Config): SystemSecrets => {
  const { eventLogUrl, dataDirectory: directory, rootKey: root } = config;
  if (eventLogUrl.startsWith('memory:')) return systemSecrets({ root: root ?? ROOT_OF_MEMORY });
  if (!root && isRemoteLog(config) && !hasRoot(directory))
    throw new StartupError(
      'ROOT_KEY is not set, and with EVENT_LOG_URL on a server all processes need the same: ' +
        'credentials, review links and the keys of personal data come from it. Make one with ' +
        '"openssl rand -base64 32" and keep it where it is not lost; for a log that was copied ' +
        'from a data directory take what root.key holds there.',
    );
  // Who is told that the root is missing looks for it: not beside a file that was never ours.
  if (!root && !isRemoteLog(config) && !hasRoot(directory)) requireLogFile(directory);
  return systemSecrets({ directory, ...(root && { root }) });
};
