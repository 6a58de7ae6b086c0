import { systemIds } from '#src/system/ids.ts';
import { type Config, hasRemoteReadModels, isRemoteLog } from '#src/config.ts';
import type { SharedCount } from '#src/ports/limits.ts';
import type { ProcessRole } from './process-roles.ts';
import type { ReadModelOptions } from './read-models.ts';
import { throttledLog } from './logger.ts';

const NAME_CHARS = 12;

/**
 * Opens the count of calls that all API processes share. Returns undefined if no other process
 * serves the same clients, or the processes share no Redis.
 */
export const openSharedCount = async (
  config: Config,
  role: ProcessRole,
  { log, logger, parts }: Pick<ReadModelOptions, 'log' | 'logger' | 'parts'>,
): Promise<SharedCount | undefined> => {
  if (role === 'dispatcher' || !isRemoteLog(config) || !hasRemoteReadModels(config))
    return undefined;
  const { redisLimits } = await import('#src/stores/redis/limits.ts');
  const count = await redisLimits({
    url: config.readModelUrl,
    log: log.id,
    // Unique to this process, so that no response depends on it.
    name: systemIds().base62(NAME_CHARS),
    onFault: throttledLog(
      logger,
      'Redis does not answer; each process enforces its share of limits',
    ),
  });
  parts.defer(() => count.close());
  return count;
};
