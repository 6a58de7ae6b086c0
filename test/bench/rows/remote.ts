/**
 * Processes of the service that share a log and a Redis. The log is the stand-in, or the server of
 * EVENTSTOREDB_TEST_URL.
 */
import { env } from 'node:process';
import { serviceLogger } from '#src/main.ts';
import { openProjector } from '#src/wiring/projector.ts';
import { endStandIns, standIn } from '../../support/eventstoredb/start.ts';
import { endRedis, startRedis } from '../../support/redis/redis-server.ts';
import type { Role } from '../children.ts';
import { benchConfig, openBench } from '../service.ts';

export type Settings = Record<string, string>;

/** All processes of a service derive their keys from one root secret. */
const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');

/** Runs `act` with the settings for these servers, and ends the servers afterwards. */
export const withServers = async <Value>(
  act: (settings: Settings) => Promise<Value>,
): Promise<Value> => {
  try {
    const redis = await startRedis();
    const log = env['EVENTSTOREDB_TEST_URL']?.trim() || (await standIn()).url;
    return await act({ EVENT_LOG_URL: log, READ_MODEL_URL: redis.url.href, ROOT_KEY });
  } finally {
    // A running process would keep a failed run from ending.
    await Promise.all([endStandIns(), endRedis()]);
  }
};

export type MemberArgs = { directory: string; settings: Settings };

export const apiServer: Role<MemberArgs, { url: string }> = async ({ directory, settings }) => {
  const service = await openBench(directory, { role: 'api' }, settings);
  return { details: { url: await service.listen() }, close: () => service.close() };
};

export const projectorServer: Role<MemberArgs> = async ({ directory, settings }) => {
  const projector = await openProjector(benchConfig(directory, settings), serviceLogger('error'));
  return { details: undefined, close: () => projector.close() };
};
