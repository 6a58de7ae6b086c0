import { requireLogFile } from '#src/adapters/sqlite/log/log-open.ts';
import { hasRoot, systemSecrets, type SystemSecrets } from '#src/adapters/system/secrets.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';

/** A log in memory ends with its process, so that its root secret may be a constant. */
const MEMORY_ROOT = Buffer.alloc(32, 7);

/**
 * Opens the secrets of the service. All processes of a log must share the root secret, so none is
 * created for a remote log: it comes from the environment, or from a file in the data directory.
 * Throws StartupError.
 */
export const openSecrets = (config: Config): SystemSecrets => {
  const { eventLogUrl, dataDirectory: directory, rootKey: root } = config;
  const mailboxGeneration = config.mailboxKeyGeneration;
  if (eventLogUrl.startsWith('memory:'))
    return systemSecrets({ root: root ?? MEMORY_ROOT, mailboxGeneration });
  if (root || hasRoot(directory))
    return systemSecrets({ directory, mailboxGeneration, ...(root && { root }) });
  if (isRemoteLog(config))
    throw new StartupError(
      'ROOT_KEY is not set, and with EVENT_LOG_URL on a server all processes need the same one: ' +
        'credentials, review links and the keys of personal data are derived from it. Create one ' +
        'with "openssl rand -base64 32" and store it safely; for a log that was copied from a data ' +
        'directory, use the content of its root.key.',
    );
  // Reports a missing log file before a missing root secret, which this directory may never have had.
  requireLogFile(directory);
  return systemSecrets({ directory, mailboxGeneration });
};
