import { Cluster, Redis } from 'ioredis';
import { StartupError } from '#src/ports/startup-error.ts';
import { timeLimit } from '#src/stores/time-limit.ts';
import { ready, requireRights, RIGHTS } from './ready.ts';
import { type Client, mastersOf } from './scripts.ts';
import { connectionOptions, urlWithoutSecrets } from './url-options.ts';

// The client derives a class from String, after which optimized code looks up every method of a string. V8 undoes this when
// it enumerates a String.
for (const _ in Object('')) break;

export type Connections = {
  /** For requests. */
  reads: Client;
  /** For projectors: a socket of its own, so that a large batch does not delay requests. */
  writes: Client;
  isCluster: boolean;
  close(): void;
};

/** Settings that differ between the connections. */
type ConnectionSettings = { silenceMs?: number; enableAutoPipelining?: boolean };

/** Part of the five seconds that the whole start may take. */
const START_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 500;
/** A socket without an answer for this long is closed: its other end may no longer exist. */
const READ_SOCKET_MS = 1_000;
const WRITE_SOCKET_MS = 10_000;
/** How often that is checked in this time. */
const SOCKET_CHECKS = 10;

const SETTINGS = {
  connectTimeout: 2_000,
  // The timer also runs after a failed connection, and keeps the process alive.
  disconnectTimeout: 200,
  // Never repeats a batch whose outcome is unknown: its checkpoint decides.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxLoadingRetryTime: 200,
  connectionName: 'tributary',
  // After a failover the name can resolve to a replica for a while.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
};

const retryMs = (times: number): number => Math.min(times * 50, RECONNECT_MS_MAX);

/**
 * Opens the connections. Throws StartupError after two seconds without an answer, and when the server could lose rows.
 * `onFault` is called once for each outage.
 */
export const connect = async (
  url: URL,
  onFault: (error: unknown) => void,
): Promise<Connections> => {
  const opened: { client: Client; check: NodeJS.Timeout }[] = [];
  const close = (): void => {
    for (const { client, check } of opened) {
      clearInterval(check);
      client.disconnect();
    }
  };
  const open = async (over: ConnectionSettings, isCluster: boolean): Promise<Client> => {
    const client = isCluster ? clusterOf(url, over) : standaloneOf(url, over);
    opened.push({ client, check: closeWhenSilent(client, over.silenceMs ?? READ_SOCKET_MS) });
    await ready(client, url, limit.over);
    return client;
  };
  const limit = timeLimit(START_MS_MAX, new Error('late'));
  try {
    const first = await open({}, false);
    const info = await infoOf(first, url);
    const isCluster = info.get('cluster_enabled') === '1';
    // In a cluster this node may be a replica; the masters are checked below.
    if (!isCluster) requireServer(info, url);
    // Concurrent requests share a packet. Batches of rows must not wait for one another.
    const reads = await open({ enableAutoPipelining: true }, isCluster);
    const writes = await open({ silenceMs: WRITE_SOCKET_MS }, isCluster);
    if (isCluster)
      for (const node of mastersOf(writes)) requireServer(await infoOf(node, url), url);
    await requireRights(writes, url);
    first.disconnect();
    for (const client of [reads, writes]) reportOutages(client, onFault);
    return { reads, writes, isCluster, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    limit.stop();
  }
};

/** Bytes received over the sockets that are open now. */
export const bytesOf = (client: Client): number =>
  mastersOf(client).reduce((sum, { stream }) => sum + (stream?.bytesRead ?? 0), 0);

/**
 * Closes a socket that receives nothing for `ms` while commands wait. Counts checks and not the time, because this process
 * may have been too busy to read an answer; the limit of the client would then close the socket before it reads.
 */
const closeWhenSilent = (client: Client, ms: number): NodeJS.Timeout => {
  const silent = new WeakMap<Redis['stream'], { bytes: number; checks: number }>();
  const check = ({ stream, commandQueue }: Redis): void => {
    const bytes = stream.bytesRead;
    const before = silent.get(stream);
    const isSilent = commandQueue.length > 0 && before?.bytes === bytes;
    const checks = isSilent ? before.checks + 1 : 0;
    silent.set(stream, { bytes, checks });
    if (checks >= SOCKET_CHECKS) stream.destroy(new Error(`socket timeout: no answer in ${ms} ms`));
  };
  const checkAll = (): void => {
    for (const node of mastersOf(client)) if (node.stream) check(node);
  };
  return setInterval(checkAll, ms / SOCKET_CHECKS).unref();
};

const standaloneOf = (url: URL, { enableAutoPipelining = false }: ConnectionSettings): Redis =>
  new Redis({
    ...SETTINGS,
    retryStrategy: retryMs,
    enableAutoPipelining,
    ...connectionOptions(url),
  });

const clusterOf = (url: URL, { enableAutoPipelining = false }: ConnectionSettings): Cluster => {
  const { host, port, db, ...account } = connectionOptions(url);
  if (db > 0)
    throw new StartupError(
      `Redis at ${urlWithoutSecrets(url)} is a cluster, which has no database ${db}.`,
    );
  return new Cluster([{ host, port }], {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryMs,
    clusterNodeRetryStrategy: retryMs,
    enableAutoPipelining,
    // Certificates are issued for host names, not for addresses.
    ...(account.tls && { dnsLookup: (address, done) => done(null, address) }),
    redisOptions: { ...SETTINGS, ...account },
  });
};

const infoOf = async (client: Client, url: URL): Promise<Map<string, string>> => {
  try {
    const lines = (await client.info()).split('\r\n');
    return new Map(lines.map((line) => line.split(':', 2) as [string, string]));
  } catch (error) {
    throw new StartupError(
      `Redis at ${urlWithoutSecrets(url)} refuses INFO: ${String(error)}. ${RIGHTS}`,
    );
  }
};

/** Exported for its test, because an old server is not available everywhere. */
export const requireServer = (info: ReadonlyMap<string, string>, url: URL): void => {
  const refuse = (what: string): never => {
    throw new StartupError(`Redis at ${urlWithoutSecrets(url)} ${what}`);
  };
  const version = info.get('redis_version') ?? '0';
  if (Number.parseInt(version) < 7)
    refuse(
      `is version ${version}; 7.0 or later is needed. Upgrade it, or use READ_MODEL_URL=sqlite:views.`,
    );
  if (info.get('role') !== 'master')
    refuse('is a replica, which accepts no writes. Set READ_MODEL_URL to the master.');
  const policy = info.get('maxmemory_policy');
  if (policy !== 'noeviction')
    refuse(
      `evicts rows when its memory is full (maxmemory-policy ${policy}). Set maxmemory-policy to ` +
        'noeviction: then it rejects new rows instead, and the stored rows stay correct.',
    );
};

const reportOutages = (client: Client, onFault: (error: unknown) => void): void => {
  let isDown = false;
  const report = (error: unknown): void => {
    if (isDown) return;
    isDown = true;
    onFault(error);
  };
  client.on('error', report);
  client.on('node error', report);
  client.on('ready', () => (isDown = false));
};
