/** Changes and shares the secrets of logs on a server. */
import { join } from 'node:path';
import { readConfig } from '#src/config.ts';
import { sqliteKeyring } from '#src/stores/sqlite/keys/key-vault.ts';
import { copyKeyring } from '#src/system/keyring.ts';
import { rotate } from '#src/wiring/vault.ts';
import { patientLog } from '../eventstoredb/eventstoredb-logs.ts';

/** Rotates the root key of a log on a server, by default as `--compromised` does; returns the settings after it. */
export const withNewSecrets = async <Settings extends { EVENT_LOG_URL: string; ROOT_KEY: string }>(
  shared: Settings,
  isCompromised = true,
): Promise<Settings> => {
  const root = Buffer.from(shared.ROOT_KEY, 'base64');
  const next = Buffer.from(root).fill((root[0] ?? 0) + 1);
  await rotate(readConfig({ DATA_DIR: '/nonexistent', ...shared }), {
    root,
    next,
    isCompromised,
  });
  return { ...shared, ROOT_KEY: next.toString('base64') };
};

/** Gives an empty log on a server the secrets of the service in a data directory, so that both derive the same. */
export const shareSecrets = async (
  directory: string,
  { url, rootKey }: { url: string; rootKey: string },
): Promise<void> => {
  const log = await patientLog({ url });
  const stores = { from: sqliteKeyring(join(directory, 'keys.db'), true), to: log.keyring };
  await copyKeyring(stores, Buffer.from(rootKey, 'base64'));
  await log.close();
};
