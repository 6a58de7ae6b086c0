/** Connections to Redis: URL options, the wait at startup, and the circuit breaker. */
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { StartupError } from '#src/ports/startup-error.ts';
import { timeLimit } from '#src/stores/time-limit.ts';
import { readCertificate, isLoopback } from '#src/system/hosts.ts';
import { type Client, script, mastersOf } from './scripts.ts';

const PORT = 6379;
const OPTIONS = ['tlsCAFile'];

/** The URL without user, password and options, for messages. */
export const urlWithoutSecrets = ({ protocol, host, pathname }: URL): string =>
  `${protocol}//${host}${pathname}`;

/**
 * Says what others on the network can do; undefined if the connection uses TLS or does not leave this
 * machine.
 */
export const networkRiskOf = ({ protocol, hostname, password }: URL): string | undefined => {
  if (protocol === 'rediss:' || isLoopback(hostname)) return undefined;
  return password
    ? 'anybody on the network path can read the password and the business data of all owners, and change both'
    : 'anybody who can reach the port can read and change the business data of all owners';
};

const refuse = (url: URL, reason: string): never => {
  throw new StartupError(`READ_MODEL_URL (${urlWithoutSecrets(url)}) cannot be used: ${reason}.`);
};

/** Rejects unknown options: the client would use each as one of its own. */
const requireKnownOptions = (url: URL): void => {
  for (const name of url.searchParams.keys())
    if (!OPTIONS.includes(name))
      refuse(url, `the option ${name} is not supported. Supported: ${OPTIONS.join(', ')}`);
  if (url.searchParams.has('tlsCAFile') && url.protocol !== 'rediss:')
    refuse(url, 'tlsCAFile requires rediss://');
};

/** Throws StartupError for an invalid URL, and for a file that is not a certificate. */
const connectionOptions = (url: URL) => {
  requireKnownOptions(url);
  const { hostname, port, username, password, pathname, protocol, searchParams } = url;
  const database = pathname.slice(1);
  if (!/^\d{0,4}$/.test(database)) refuse(url, 'the path must be the number of a database');
  const file = searchParams.get('tlsCAFile');
  const certificate = file === null ? undefined : readCertificate(file);
  if (certificate && 'fault' in certificate) return refuse(url, certificate.fault);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || PORT),
    db: Number(database),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: certificate ?? {} }),
  };
};

const TRIAL_KEYS = ['hash', 'order', 'text'].map((name) => `tributary:{trial}:${name}`);
/** Uses the commands of the other scripts. */
const TRIAL = script(
  '',
  `redis.call('TIME')
  redis.call('HSET', KEYS[1], 'a', '1')
  redis.call('HMGET', KEYS[1], 'a')
  redis.call('ZADD', KEYS[2], 1, 'a')
  redis.call('ZREVRANGEBYLEX', KEYS[2], '+', '-')
  redis.call('SET', KEYS[3], '1', 'PX', 1000)
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return 1`,
);

/** Throws StartupError when the user lacks a right. Other failures can be temporary. */
const requireRights = async (client: Client, url: URL): Promise<void> => {
  try {
    await TRIAL.run(client, TRIAL_KEYS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    if (!/^NOPERM|ACL failure|user executing the script can't/.test(reason)) return;
    throw new StartupError(
      `Redis at ${urlWithoutSecrets(url)} denies its user a right: ${reason}. ${RIGHTS}`,
    );
  }
};

export const RIGHTS =
  'Allow it INFO, PING, EVAL, EVALSHA and the commands of strings, hashes and sorted sets, on keys ' +
  'tributary:* (ACL SETUSER NAME ~tributary:* +info +ping +eval +evalsha +@hash +@sortedset +@string ' +
  '+exists +expire +pexpire +unlink +time +client|setname, +select where the URL names a ' +
  'database, +cluster where it is one).';

/** Advice for errors that waiting does not resolve. The first match applies. */
const FINAL_ADVICE: readonly [error: RegExp, advice: string][] = [
  [
    /^(?:WRONGPASS|NOAUTH)|^ERR .*AUTH/,
    'Check user and password in READ_MODEL_URL (redis://USER:PASSWORD@HOST, percent-encoded).',
  ],
  [/^NOPERM/, RIGHTS],
  [
    /self-signed|unable to (?:verify|get)|certificate has expired|certificate is not yet valid/i,
    'Check its certificate, and tlsCAFile in READ_MODEL_URL: that names the certificate of the ' +
      "authority that signed the server's (rediss://HOST?tlsCAFile=/path/ca.crt).",
  ],
  [
    /altnames/i,
    "Check the host in READ_MODEL_URL: the server's certificate was issued for other names.",
  ],
  [
    /wrong version number|packet length too long/i,
    'Check the port: it does not use TLS. Without TLS, READ_MODEL_URL begins with redis://.',
  ],
  [
    /Unknown RESP type|Protocol error/i,
    'Check host and port in READ_MODEL_URL: the server there is not Redis.',
  ],
  [/^ERR/, 'Check READ_MODEL_URL, and what the server permits.'],
];

const finalAdvice = (reason: string): string | undefined =>
  FINAL_ADVICE.find(([error]) => error.test(reason))?.[1];

const adviceOn = (reason: string): string => {
  const advice = finalAdvice(reason);
  if (advice !== undefined) return advice;
  if (/ENOTFOUND|EAI_AGAIN/.test(reason)) return 'Check the name of the host in READ_MODEL_URL.';
  return (
    'Check READ_MODEL_URL (address, password, rediss:// if, and only if, the server uses TLS), that ' +
    'the server runs, and that this machine may connect to it.'
  );
};

/** Resolves when the client is ready. Throws StartupError, at the latest when `over` rejects. */
const ready = (client: Client, url: URL, over: Promise<never>): Promise<void> =>
  new Promise((resolve, reject) => {
    let reason = 'no answer';
    const settle = (): void => {
      // The error listeners stay: the client prints errors without a listener.
      client.off('ready', onReady);
    };
    const onReady = (): void => {
      settle();
      resolve();
    };
    const refuse = (): void => {
      settle();
      const what = `Redis at ${urlWithoutSecrets(url)} cannot be used for the read models: ${reason}.`;
      reject(new StartupError(`${what} ${adviceOn(reason)}`));
    };
    const onError = (error: Error): void => {
      reason = error.message.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '');
      if (finalAdvice(reason) !== undefined) refuse();
    };
    over.catch(refuse);
    client.on('error', onError);
    client.on('node error', onError);
    client.once('ready', onReady);
  });

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

type CircuitBreakerOptions = {
  /** Longest silence of the server, in milliseconds. */
  silenceMsMax: number;
  /** Longest wait of a call while the server answers something, possibly to others. */
  waitMsMax: number;
  /** Settles with the server's next answer, or rejects when there can be none. */
  probe(): Promise<unknown>;
  /** Bytes received so far: a large answer, or one not read yet, is not silence. */
  bytes(): number;
};

type Call = { since: number; fail(error: Error): void };

const PROBE_MS = 25;

/**
 * Circuit breaker for calls that one server answers in order. After `silenceMsMax` of silence every
 * pending call fails, and later calls fail without being sent until a probe succeeds; so no request
 * waits for a stalled server. A server that is only slow keeps receiving calls.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  /** Oldest first. */
  readonly #pending = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  #checkAt = 0;
  /** Time in which this process was too busy to send or to check, which is not the server's. */
  #busyMs = 0;
  #lastAnswer = 0;
  #lastBytes = 0;
  #isOpen = false;
  #isClosed = false;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Rejects after silence, after `waitMsMax`, or at once while the server does not answer. */
  call<T>(send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isOpen) {
        reject(new Error('the server does not answer'));
        return;
      }
      const call = { since: this.#now(), fail: reject };
      this.#pending.add(call);
      this.#scheduleCheck();
      send()
        .finally(() => {
          this.#lastAnswer = this.#now();
          this.#pending.delete(call);
        })
        .then(resolve, reject);
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #now(): number {
    return performance.now() - this.#busyMs;
  }

  #scheduleCheck(): void {
    if (this.#timer) return;
    const ms = this.#options.silenceMsMax / 2;
    this.#checkAt = performance.now() + ms;
    // After the next turn: answers can be waiting to be read when this process was busy.
    this.#timer = setTimeout(() => setImmediate(() => this.#check()), ms);
  }

  #check(): void {
    this.#timer = undefined;
    this.#busyMs += Math.max(0, performance.now() - this.#checkAt);
    const [oldest] = this.#pending;
    if (!oldest) return;
    const { silenceMsMax, waitMsMax, bytes } = this.#options;
    const silenceMs = this.#now() - Math.max(oldest.since, this.#lastAnswer);
    const received = bytes();
    const isReceiving = received !== this.#lastBytes;
    this.#lastBytes = received;
    if (silenceMs >= waitMsMax || (silenceMs >= silenceMsMax && !isReceiving)) void this.#open();
    else {
      this.#failOlderThan(waitMsMax);
      this.#scheduleCheck();
    }
  }

  #failOlderThan(ms: number): void {
    const limit = this.#now() - ms;
    for (const call of this.#pending) {
      if (call.since > limit) break;
      this.#pending.delete(call);
      call.fail(new Error(`no answer within ${Math.max(ms, this.#options.silenceMsMax)} ms`));
    }
  }

  async #open(): Promise<void> {
    this.#isOpen = true;
    this.#failOlderThan(0);
    while (!this.#isClosed) {
      try {
        await this.#options.probe();
        break;
      } catch {
        await delay(PROBE_MS, undefined, { ref: false });
      }
    }
    this.#isOpen = false;
  }
}
