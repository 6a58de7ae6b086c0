/** What the servers of a service say to doctor: the same that a start would ask them. */
import { pino } from 'pino';
import { hasRemoteReadModels, type Config, isRemoteLog, redactUrl } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { openEventLog } from '#src/wiring/event-log.ts';

type Found = { name: string; state: 'ok' | 'fault'; detail: string };

/** Rows of no log have this name: the check leaves none. */
const NO_LOG = 'doctor';

const found = async (name: string, ask: () => Promise<string>): Promise<Found> => {
  try {
    return { name, state: 'ok', detail: await ask() };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return { name, state: 'fault', detail: error.message };
  }
};

const askLog = async (config: Config): Promise<string> => {
  const logger = pino({ level: 'silent' });
  const { log, close } = await openEventLog(config, { logger, holdsDirectory: false });
  try {
    const { position } = await log.head();
    return `${redactUrl(config.eventLogUrl)} answers; log ${log.id.slice(0, 8)}, at ${position}`;
  } finally {
    await close();
  }
};

const askViews = async ({ readModelUrl }: Config): Promise<string> => {
  const { redisStore } = await import('#src/adapters/redis/read-model.ts');
  await (await redisStore({ url: readModelUrl, log: NO_LOG })).close();
  return `${redactUrl(readModelUrl.href)} answers, and keeps what it is given`;
};

/** One line for each store that is a server; takes up to five seconds each. */
export const serverChecks = (config: Config): Promise<Found[]> =>
  Promise.all([
    ...(isRemoteLog(config) ? [found('log', () => askLog(config))] : []),
    ...(hasRemoteReadModels(config) ? [found('read models', () => askViews(config))] : []),
  ]);
