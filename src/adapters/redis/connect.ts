/** How a Redis is reached, and what it must be like before anything relies on it. */
import { Cluster, Redis } from 'ioredis';
import { StartupError } from '#src/ports/startup-error.ts';
import { addressOf, shownUrl } from './address.ts';
import { readyWithin, requireRights, RIGHTS } from './ready.ts';
import type { Client } from './scripts.ts';

export type Connections = {
  /** Requests wait for it: what it cannot send at once fails. */
  reads: Client;
  /** Projectors wait for it: its own socket, so that a large batch delays no request. */
  writes: Client;
  isCluster: boolean;
  close(): void;
};

/** Where the connections differ. */
type Lane = { socketTimeout?: number; enableAutoPipelining?: boolean };

/** Of the five seconds that a start may take in all. */
const START_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 500;
/** A socket that owes an answer this long is given up: its other end may be gone for good. */
const READ_SOCKET_MS = 1_000;
const WRITE_SOCKET_MS = 10_000;

const SETTINGS = {
  connectTimeout: 2_000,
  // After a connection that failed its timer runs on, and keeps the process alive.
  disconnectTimeout: 200,
  socketTimeout: READ_SOCKET_MS,
  // A batch whose outcome is unknown is refused by its checkpoint, not sent again unasked.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxLoadingRetryTime: 200,
  connectionName: 'tributary',
  // After a failover the old name may lead to a replica for a while.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
};

const retryMs = (times: number): number => Math.min(times * 50, RECONNECT_MS_MAX);

/**
 * Opens the connections. Throws StartupError within five seconds when the server cannot be reached,
 * or is one on which rows would be lost. `onFault` hears of each outage once.
 */
export const connect = async (
  url: URL,
  onFault: (error: unknown) => void,
): Promise<Connections> => {
  const opened: Client[] = [];
  const open = async (over: Lane, isCluster: boolean): Promise<Client> => {
    const client = isCluster ? clusterOf(url, over) : standaloneOf(url, over);
    opened.push(client);
    await readyWithin(client, url, START_MS_MAX - (performance.now() - began));
    return client;
  };
  const began = performance.now();
  try {
    const first = await open({ socketTimeout: 2_000 }, false);
    const info = await infoOf(first, url);
    const isCluster = info.get('cluster_enabled') === '1';
    // Of a cluster any node will do to find the masters by.
    if (!isCluster) requireServer(info, url);
    // Many requests at once share a packet; a batch of rows would wait for the one before it.
    const reads = await open({ enableAutoPipelining: true }, isCluster);
    const writes = await open({ socketTimeout: WRITE_SOCKET_MS }, isCluster);
    if (writes instanceof Cluster)
      for (const node of writes.nodes('master')) requireServer(await infoOf(node, url), url);
    await requireRights(writes, url);
    first.disconnect();
    for (const client of [reads, writes]) hearFaults(client, onFault);
    return {
      reads,
      writes,
      isCluster,
      close: () => opened.forEach((client) => client.disconnect()),
    };
  } catch (error) {
    for (const client of opened) client.disconnect();
    throw error;
  }
};

/** Bytes that came in over the sockets that are open now. */
export const bytesOf = (client: Client): number => {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  return nodes.reduce((sum, { stream }) => sum + (stream?.bytesRead ?? 0), 0);
};

const standaloneOf = (url: URL, over: Lane): Redis =>
  new Redis({ ...SETTINGS, retryStrategy: retryMs, ...over, ...addressOf(url) });

const clusterOf = (url: URL, { enableAutoPipelining, ...over }: Lane): Cluster => {
  const { host, port, db, ...account } = addressOf(url);
  if (db > 0)
    throw new StartupError(`Redis at ${shownUrl(url)} is a cluster, and has no database ${db}.`);
  return new Cluster([{ host, port }], {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryMs,
    clusterNodeRetryStrategy: retryMs,
    enableAutoPipelining: enableAutoPipelining ?? false,
    // Certificates name hosts, not addresses.
    ...(account.tls && { dnsLookup: (address, done) => done(null, address) }),
    redisOptions: { ...SETTINGS, ...over, ...account },
  });
};

const infoOf = async (client: Client, url: URL): Promise<Map<string, string>> => {
  try {
    const lines = (await client.info()).split('\r\n');
    return new Map(lines.map((line) => line.split(':', 2) as [string, string]));
  } catch (error) {
    throw new StartupError(
      `Redis at ${shownUrl(url)} does not say what it is: ${String(error)}. ${RIGHTS}`,
    );
  }
};

/** Exported for its test: an old server cannot be had everywhere. */
export const requireServer = (info: ReadonlyMap<string, string>, url: URL): void => {
  const refuse = (what: string): never => {
    throw new StartupError(`Redis at ${shownUrl(url)} ${what}`);
  };
  const version = info.get('redis_version') ?? '0';
  if (Number.parseInt(version) < 7)
    refuse(
      `is version ${version}; 7.0 or later is needed. Upgrade it, or use READ_MODEL_URL=sqlite:views.`,
    );
  if (info.get('role') !== 'master')
    refuse('is a replica, which takes no writes. Name the master in READ_MODEL_URL.');
  const policy = info.get('maxmemory_policy');
  if (policy !== 'noeviction')
    refuse(
      `throws rows away when its memory is full (maxmemory-policy ${policy}). Set ` +
        'maxmemory-policy to noeviction: then it refuses new rows instead, and those it has stay right.',
    );
};

const hearFaults = (client: Client, onFault: (error: unknown) => void): void => {
  let isDown = false;
  const hear = (error: unknown): void => {
    if (isDown) return;
    isDown = true;
    onFault(error);
  };
  client.on('error', hear);
  client.on('node error', hear);
  client.on('ready', () => (isDown = false));
};
