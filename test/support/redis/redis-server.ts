/** Real Redis servers that a test starts, kills and stalls. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { directories } from '../processes/directories.ts';
import { freePort } from '../processes/free-port.ts';

const BINARY = 'redis-server';

export const hasRedis = spawnSync(BINARY, ['--version']).status === 0;
/** For the name of a suite, so that a skipped suite says why. */
export const ON_REDIS = hasRedis ? 'on redis-server' : `(skipped: ${BINARY} is not installed)`;

export type TestRedis = {
  readonly url: URL;
  readonly port: number;
  readonly directory: string;
  /** A client for the test itself. */
  readonly control: Redis;
  pid(): number;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Sends SIGKILL: loses what is not on disk. */
  kill(): Promise<void>;
  /** Starts it again on the same port and directory; resolves when it answers. */
  start(): Promise<void>;
};

const temporary = directories('tributary-redis-');
const running = new Set<ChildProcess>();
const controls = new Set<Redis>();

/** Kills every server; for afterAll. */
export const endRedis = async (): Promise<void> => {
  for (const control of controls) control.disconnect();
  controls.clear();
  const ends = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(ends);
  temporary.removeAll();
};

type RedisOptions = {
  /** Serves TLS on a second port with this certificate. */
  tls?: { key: string; cert: string };
  environment?: Record<string, string>;
};

export const startRedis = async (
  settings: readonly string[] = [],
  { tls, environment = {} }: RedisOptions = {},
): Promise<TestRedis & { tlsPort: number }> => {
  const port = await freePort();
  const directory = temporary.fresh();
  const tlsPort = tls ? await freePort() : 0;
  if (tls) {
    for (const name of ['key', 'cert'] as const)
      writeFileSync(join(directory, `${name}.pem`), tls[name], { mode: 0o600 });
    const files = ['--tls-cert-file', 'cert.pem', '--tls-key-file', 'key.pem'];
    settings = [...settings, '--tls-port', String(tlsPort), '--tls-auth-clients', 'no', ...files];
  }
  const base = ['--bind', '127.0.0.1', '--save', '', '--dir', directory, '--daemonize', 'no'];
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn(BINARY, ['--port', String(port), ...base, ...settings], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...env, ...environment },
    });
    child = started;
    running.add(started);
    started.once('exit', () => running.delete(started));
    let output = '';
    let isReady = false;
    for await (const line of createInterface({ input: started.stdout })) {
      output += `${line}\n`;
      isReady = line.includes('Ready to accept connections');
      if (isReady) break;
    }
    started.stdout.resume();
    if (!isReady) throw new Error(`${BINARY} ended:\n${output}`);
    if ((await control.ping()) !== 'PONG') throw new Error(`${BINARY} does not answer`);
  };

  const control = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => 20 });
  control.on('error', () => {});
  controls.add(control);
  await start();
  return {
    url: new URL(`redis://127.0.0.1:${port}`),
    port,
    tlsPort,
    directory,
    control,
    pid: () => child?.pid ?? 0,
    signal: (name) => void child?.kill(name),
    async kill() {
      if (!child) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    start,
  };
};

const SLOTS = 16_384;
/** The other servers keep answering while a master is dead. */
const NODE =
  '--cluster-enabled yes --cluster-node-timeout 2000 --cluster-require-full-coverage no'.split(' ');

/** Starts three masters that share the slots, and a replica of each if there are to be `replicas`. */
export const startCluster = async ({ replicas = false } = {}): Promise<TestRedis[]> => {
  const nodes: TestRedis[] = [];
  for (let i = 0; i < (replicas ? 6 : 3); i++) nodes.push(await startRedis(NODE));
  const [first, ...others] = nodes;
  if (!first) throw new Error('no node');
  const masters = nodes.slice(0, 3);
  const share = Math.ceil(SLOTS / masters.length);
  for (const [i, { control }] of masters.entries()) {
    const last = Math.min(SLOTS, (i + 1) * share) - 1;
    await control.cluster('SET-CONFIG-EPOCH', i + 1);
    await control.cluster('ADDSLOTSRANGE', i * share, last);
  }
  for (const { port } of others) await first.control.cluster('MEET', '127.0.0.1', port);
  await untilKnown(nodes);
  for (const [i, { control }] of nodes.slice(3).entries()) {
    await control.cluster('REPLICATE', String(await nodes[i]?.control.cluster('MYID')));
    while (!(await control.info('replication')).includes('master_link_status:up'));
  }
  return nodes;
};

const untilKnown = async (nodes: readonly TestRedis[]): Promise<void> => {
  const known = `cluster_known_nodes:${nodes.length}`;
  for (const { control } of nodes) {
    let info = '';
    while (!info.includes('cluster_state:ok') || !info.includes(known))
      info = await control.cluster('INFO');
  }
};
