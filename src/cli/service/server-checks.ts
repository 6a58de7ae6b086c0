/** Checks of the servers: those of the stores, and the service itself. */
import { pino } from 'pino';
import { z } from 'zod';
import { hasRemoteReadModels, type Config, isRemoteLog, redactUrl } from '#src/config.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { type Check, runCheck, ok, warning } from './check.ts';
import type { RunningServer } from './server-file.ts';

const READYZ_MS_MAX = 5_000;
/** Log id under which no rows are stored. */
const NO_LOG = 'check';

const names = z.array(z.string()).nullable();
const health = z.object({
  status: z.string(),
  parked: names,
  waiting: names,
  unreadable: z.array(z.string()).default([]),
});
type Health = z.infer<typeof health>;

const checkLog = (config: Config): Promise<Check> =>
  runCheck('log', async () => {
    const logger = pino({ level: 'silent' });
    const { log, close } = await openEventLog(config, { logger, directory: 'inspect' });
    try {
      const { position } = await log.head();
      const url = redactUrl(config.eventLogUrl);
      return ok(`${url} answers; log ${log.id.slice(0, 8)}, at ${position}`);
    } finally {
      await close();
    }
  });

const checkReadModels = ({ readModelUrl: url }: Config): Promise<Check> =>
  runCheck('read models', async () => {
    const { redisStore } = await import('#src/stores/redis/read-model.ts');
    await (await redisStore({ url, log: NO_LOG })).close();
    return ok(`${redactUrl(url.href)} answers, and stores rows`);
  });

/** Checks each store that is a server, in up to five seconds. */
export const checkStores = (config: Config): Promise<Check[]> =>
  Promise.all([
    ...(isRemoteLog(config) ? [checkLog(config)] : []),
    ...(hasRemoteReadModels(config) ? [checkReadModels(config)] : []),
  ]);

/** Asks a running server, for up to five seconds, whether its read models follow the log. */
export const checkReads = async ({ url }: RunningServer): Promise<Check> => {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READYZ_MS_MAX) });
    return { name: 'reads', ...readsResult(health.parse(await answer.json())) };
  } catch (error) {
    return { name: 'reads', ...warning(`/readyz gives no answer: ${(error as Error).message}`) };
  }
};

const readsResult = ({ status, parked, waiting, unreadable }: Health) => {
  if (unreadable.length > 0)
    return warning(
      `${unreadable.join(', ')} cannot be read: they are being filled, or the disk fails (see the log)`,
    );
  if (parked?.length)
    return warning(`${parked.join(', ')} parked: see tributary projections status`);
  if (waiting?.length)
    return warning(`${waiting.join(', ')} behind: does a projector run, and does Redis answer it?`);
  if (status !== 'ready')
    return warning('the server is not ready: its log does not answer, or it is still catching up');
  return ok('every read model follows the log');
};
