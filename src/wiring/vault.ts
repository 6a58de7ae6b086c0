import { join } from 'node:path';
import type { EventStoreLog } from '#src/adapters/eventstoredb/event-log.ts';
import { sqliteKeyVault } from '#src/adapters/sqlite/key-vault.ts';
import type { SystemSecrets } from '#src/adapters/system/secrets.ts';
import type { Config } from '#src/config.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { KeyVault } from '#src/ports/system.ts';

const isEventStore = (log: EventLog): log is EventStoreLog => 'keyVault' in log;

/**
 * The keys of personal data, beside the log that they belong to: on a server where all its processes
 * find them, else in a file. Throws StartupError when they were made with another root secret.
 */
export const openVault = async (
  { eventLogUrl, dataDirectory }: Config,
  log: EventLog,
  { vaultKey }: Pick<SystemSecrets, 'vaultKey'>,
): Promise<KeyVault> => {
  if (isEventStore(log)) return log.keyVault(vaultKey);
  const inMemory = eventLogUrl.startsWith('memory:');
  return sqliteKeyVault(inMemory ? ':memory:' : join(dataDirectory, 'keys.db'), vaultKey);
};
