/** Where the calls of all API processes are counted against the limits. */
import type { Logger } from 'pino';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { areRemoteViews, type Config, isRemoteLog } from '#src/config.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { SharedCount } from '#src/ports/limits.ts';
import type { Role } from './roles.ts';
import { sparing } from './told.ts';

const NAME_CHARS = 12;

/** undefined where no other process serves the same clients, or nothing is shared to count in. */
export const openCounts = async (
  config: Config,
  {
    role,
    log,
    logger,
    parts,
  }: {
    role: Role;
    log: EventLog;
    logger: Logger;
    parts: AsyncDisposableStack;
  },
): Promise<SharedCount | undefined> => {
  if (role === 'dispatcher' || !isRemoteLog(config) || !areRemoteViews(config)) return undefined;
  const { redisLimits } = await import('#src/adapters/redis/limits.ts');
  const counts = await redisLimits({
    url: config.readModelUrl,
    log: log.id,
    // Of this process alone: no answer may depend on what it is called.
    name: systemIds(systemClock().now).base62(NAME_CHARS),
    onFault: sparing(logger, 'Redis gives no answer; limits are kept by shares'),
  });
  parts.defer(() => counts.close());
  return counts;
};
