/** Copies of the upgrade fixtures, opened in this process by the version of today. */
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '#src/config.ts';
import type { Service } from '#src/main.ts';
import { openService } from '../../support/world/open-service.ts';
import type { Clock } from '#src/ports/system.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import { directories } from '../../support/processes/directories.ts';
import { startRedis } from '../../support/redis/redis-server.ts';
import { type Store, unpackDirectory, unpackLog, unpackRedis } from './archive.ts';
import { comparable, type Recording, requestHeaders, type Send } from './exchange.ts';
import { ROOT_KEY } from './services.ts';
import { UNLIMITED } from '../../support/unlimited.ts';

const temporary = directories('tributary-upgrade-');

/** For afterAll. */
export const removeCopies = (): void => temporary.removeAll();

/** Copies the stores of a fixture; answers the settings that lead to the copy. */
export const copyStores = async (commit: string, store: Store): Promise<Record<string, string>> => {
  const DATA_DIR = temporary.fresh();
  if (store === 'embedded') {
    unpackDirectory(commit, 'data', DATA_DIR);
    return { DATA_DIR };
  }
  const file = join(temporary.fresh(), 'log.ndjson');
  unpackLog(commit, file);
  const [log, redis] = [await standIn({ file }), await startRedis()];
  await unpackRedis(commit, redis.control);
  return { DATA_DIR, ROOT_KEY, EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href };
};

/** Continues where the recording ended: keys, links and lists of the fixture are as old as then. */
const clockFrom = (endedAt: number): Clock => {
  const began = performance.now();
  return {
    now: () => endedAt + Math.floor(performance.now() - began),
    monotonic: () => 0,
  };
};

/** Opens the stores; `onLine` gets each line of the service's log. */
export const openCopy = async (
  settings: Record<string, string>,
  { endedAt, publicUrl }: Pick<Recording, 'endedAt' | 'publicUrl'>,
  onLine: (line: Record<string, unknown>) => void = () => {},
): Promise<Service> => {
  const config = readConfig({ PUBLIC_URL: publicUrl, ...UNLIMITED, ...settings });
  const write = (text: string): void => onLine(JSON.parse(text) as Record<string, unknown>);
  const log = pino({ level: 'warn' }, { write });
  return openService(config, { clock: clockFrom(endedAt), log });
};

/** Sends to a service in this process, without a socket. */
export const inProcess =
  ({ server }: Service): Send =>
  async (asked, credentials) => {
    const { method, path: url, body: payload } = asked;
    const headers = requestHeaders(asked, credentials);
    const answer = await server.inject({
      method,
      url,
      headers,
      ...(payload !== undefined && { payload }),
    });
    const { statusCode: status, body } = answer;
    return { status, headers: comparable(Object.entries(answer.headers)), body };
  };
