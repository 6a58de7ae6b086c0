import { markFile } from '#src/adapters/system/log-mark-file.ts';
import { LogMemory, type MarkPlace } from '#src/adapters/log-memory.ts';
import { type Config, hasRemoteReadModels } from '#src/config.ts';

/**
 * Opens what this process remembers of its log on a server: in its data directory, unless it has none, and in the
 * Redis of its read models. With `inspect` nothing is stored. Throws StartupError if Redis cannot be used.
 */
export const openLogMemory = async (
  config: Config,
  directory: 'hold' | 'ignore' | 'inspect',
): Promise<LogMemory> => {
  const places = await openMarkPlaces(config, directory !== 'ignore');
  return new LogMemory(
    directory === 'inspect' ? places.map((place) => ({ ...place, store: async () => {} })) : places,
  );
};

export const openMarkPlaces = async (
  config: Config,
  hasDirectory: boolean,
): Promise<MarkPlace[]> => {
  const places: MarkPlace[] = hasDirectory ? [markFile(config.dataDirectory)] : [];
  if (!hasRemoteReadModels(config)) return places;
  const { redisLogMark } = await import('#src/adapters/redis/log-mark.ts');
  return [...places, await redisLogMark({ url: config.readModelUrl })];
};
