import { readConfig } from '#src/config.ts';
import { rotate } from '#src/wiring/vault.ts';

/** Replaces the secrets of a log on a server as `root-key rotate --compromised` does; returns the settings after it. */
export const withNewSecrets = async <Settings extends { EVENT_LOG_URL: string; ROOT_KEY: string }>(
  shared: Settings,
): Promise<Settings> => {
  const root = Buffer.from(shared.ROOT_KEY, 'base64');
  const next = Buffer.from(root).fill((root[0] ?? 0) + 1);
  await rotate(readConfig({ DATA_DIR: '/nonexistent', ...shared }), {
    root,
    next,
    isCompromised: true,
  });
  return { ...shared, ROOT_KEY: next.toString('base64') };
};
