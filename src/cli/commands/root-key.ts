/** The change of the root key. */
import { type CommonOptions, configFor } from '#src/cli/options.ts';
import { hasLog, noDataError } from '#src/cli/service.ts';
import { CommandError, EXIT, printResult } from '#src/cli/terminal.ts';
import { rotateRoot } from '#src/system/keyring.ts';
import { createRoot, hasRoot, readRoot, replaceRoot, stagedRootOf } from '#src/system/secrets.ts';
import { openRoot, withKeyring } from '#src/wiring/vault.ts';

type RotateOptions = CommonOptions & { new?: string };

/**
 * Wraps the keyring with a new root key. The new one is durable in a file before the keyring needs it, so the command can be
 * repeated after a crash at any step.
 */
export const rotateRootKey = async (options: RotateOptions): Promise<void> => {
  const config = configFor(options);
  if (!hasLog(config)) throw noDataError(config);
  const { dataDirectory: directory } = config;
  const isStored = hasRoot(directory);
  if (!isStored && options.new === undefined)
    throw new CommandError(
      EXIT.usage,
      'the root key is not in the data directory, so name a file for the new one: --new FILE. It is created if there is none',
    );
  const root = openRoot(config);
  const file = options.new ?? stagedRootOf(directory);
  const next = readRoot(file) ?? createRoot(file);
  await withKeyring(config, (store) => rotateRoot(store, { root, next }));
  if (isStored) replaceRoot(directory, next);
  const todo = [
    ...(isStored ? ['root.key is the new root key: store it apart from backups.'] : []),
    ...(config.rootKey ? [`Set ROOT_KEY to the content of ${file} for all processes.`] : []),
    'Processes that run continue. Keep the former root key as long as the backups from before.',
  ];
  printResult(options, { rotated: true, file: isStored ? 'root.key' : file }, todo.join('\n'));
};
