/** Runs processes of the service with their roles, on EventStoreDB or its stand-in, and a real Redis. */
import { basename } from 'node:path';
import { type ChildService, endChildren, serveChild } from './child-service.ts';
import { directories } from './directories.ts';
import { untilServed } from '../clients/cli.ts';
import { endLogServers, logServer, type LogServer } from '../eventstoredb/log-server.ts';
import { endRedis, startRedis, type TestRedis } from '../redis/redis-server.ts';

const temporary = directories('tributary-remote-');
/** The root secret that all processes of a service share. */
const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');

export type RemoteWorld = {
  log: LogServer;
  redis: TestRedis;
  settings: Record<string, string>;
  directory(): string;
  start(role: string, directory?: string, ...more: string[]): Promise<ChildService>;
  /**
   * Makes a process lag for as long as a test needs: it receives no records until they are released,
   * also after it or the log is started again. A real server (`COMMAND`) cannot.
   */
  holdDelivery(to: ChildService): Promise<void>;
  releaseDelivery(to: ChildService): Promise<void>;
};

/** Starts an empty log, whose committed events survive a kill, and an empty Redis: `start` gives one of its servers. */
export const remoteWorld = async (
  start: () => Promise<TestRedis> = startRedis,
): Promise<RemoteWorld> => {
  const log = await logServer();
  const redis = await start();
  /** The connection of each process, which is named after its directory. */
  const connections = new WeakMap<ChildService, string>();
  const toDelivery = async (to: ChildService, how: 'hold' | 'release'): Promise<void> => {
    if (!log.delivery) throw new Error('a real server cannot hold back records');
    await log.delivery[how](connections.get(to));
  };
  const settings = {
    EVENT_LOG_URL: log.url,
    READ_MODEL_URL: redis.url.href,
    ROOT_KEY,
    // One origin for all, so that answers do not depend on the process.
    PUBLIC_URL: 'https://t.example',
  };
  return {
    log,
    redis,
    settings,
    directory: () => temporary.fresh(),
    async start(role, at = temporary.fresh(), ...more) {
      const connection = basename(at);
      const named = { ...settings, EVENT_LOG_URL: `${log.url}&connectionName=${connection}` };
      const service = await serveChild(at, named, ['--role', role, ...more]);
      connections.set(service, connection);
      return service;
    },
    holdDelivery: (to) => toDelivery(to, 'hold'),
    releaseDelivery: (to) => toDelivery(to, 'release'),
  };
};

/** Ends all processes and servers; for afterAll. */
export const endRemote = async (): Promise<void> => {
  await endChildren();
  await Promise.all([endLogServers(), endRedis()]);
  temporary.removeAll();
};

export type Answer = { status: number; body: Record<string, unknown>; headers: Headers };

type Asked = { body?: object | undefined } & Record<string, unknown>;

/** Sends a request of an agent once, for tests of a 503. */
export const askOnce = async (
  { url }: Pick<ChildService, 'url'>,
  key: string,
  path: string,
  { body, ...headers }: Asked = {},
): Promise<Answer> => {
  const response = await fetch(`${url}/api/affiliate/v1${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(headers as Record<string, string>),
    },
  });
  const text = await response.text();
  return {
    status: response.status,
    body: JSON.parse(text) as Record<string, unknown>,
    headers: response.headers,
  };
};

/** Sends a request of an agent until its answer is not 503. */
export const ask = (...request: Parameters<typeof askOnce>): Promise<Answer> =>
  untilServed(() => askOnce(...request));

/** The position in the Consistency-Token of an answer; NaN without one. */
export const positionOf = (headers: Headers): number => {
  const token = Buffer.from(headers.get('consistency-token') ?? '', 'base64url').toString();
  return Number(token.split(':')[1]);
};
