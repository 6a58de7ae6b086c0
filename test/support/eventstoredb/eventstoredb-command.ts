/** Real EventStoreDB servers, started by EVENTSTOREDB_TEST_COMMAND. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { env } from 'node:process';
import { BACKWARDS, END, EventStoreDBClient, type ResolvedEvent } from '@eventstore/db-client';
import { until } from '../clients/cli.ts';
import { freePort } from '../processes/free-port.ts';
import type { LogServer } from './log-server.ts';

/** Runs one insecure node in the foreground, on {port} with the data in {directory}. */
export const COMMAND = env['EVENTSTOREDB_TEST_COMMAND']?.trim();
/** The reason of skipped tests. */
export const NO_COMMAND = 'EVENTSTOREDB_TEST_COMMAND is not set';
export const ON_COMMAND = COMMAND ? 'on a real EventStoreDB' : `(skipped: ${NO_COMMAND})`;

export type RealServer = LogServer & {
  /** Sends SIGTERM: a normal stop, which takes seconds while subscriptions are open. */
  stop(): Promise<void>;
};

const NO_CONTENT = 204;
const OUTPUT_CHARS_MAX = 4_000;
const running = new Set<ChildProcess>();
/**
 * Sends a signal to the shell of the command and to what it started: a shell such as dash does not
 * become the server unless the command says `exec`. They have a process group of their own.
 */
const signal = ({ pid }: ChildProcess, name: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // The group has ended.
  }
};
// Also servers that a failed test starts after its end.
process.once('exit', () => running.forEach((child) => signal(child, 'SIGKILL')));

/** For afterAll. */
export const endRealServers = async (): Promise<void> => {
  const ends = [...running].map((child) => once(child, 'close'));
  for (const child of running) signal(child, 'SIGKILL');
  await Promise.all(ends);
};

/** Throws with the last output when the server exits or is not ready in time. */
export const realServer = async (command: string, directory: string): Promise<RealServer> => {
  const port = await freePort();
  const line = command.replaceAll('{port}', String(port)).replaceAll('{directory}', directory);
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/health/live`).then(
      ({ status }) => status === NO_CONTENT,
      () => false,
    );
  let child: ChildProcess;
  let closed: Promise<unknown>;

  const start = async (): Promise<void> => {
    const started = spawn(line, {
      shell: true,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    running.add(started);
    // 'close', not 'exit': a server that a script leaves running still has the directory's lock.
    closed = once(started, 'close').then(() => running.delete(started));
    let output = '';
    const hear = (chunk: Buffer): void =>
      void (output = (output + chunk.toString()).slice(-OUTPUT_CHARS_MAX));
    started.stdout.on('data', hear);
    started.stderr.on('data', hear);
    await until(async () => !running.has(started) || isReady());
    if (!running.has(started) || !(await isReady())) throw new Error(`${line}\n${output}`);
  };
  const end = async (name: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    signal(child, name);
    await closed;
  };
  await start();
  return {
    port,
    data: directory,
    delivery: undefined,
    url: `esdb://127.0.0.1:${port}?tls=false`,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => signal(child, 'SIGSTOP'),
    thaw: () => signal(child, 'SIGCONT'),
    restart: start,
  };
};

/** Runs a scavenge on a real server; resolves when it is complete. */
export const scavenge = async (url: string): Promise<void> => {
  const client = EventStoreDBClient.connectionString(url);
  const at = `http://${new URL(url).host}/admin/scavenge`;
  const id = /: (\S+)/.exec(await (await fetch(at, { method: 'POST' })).text())?.[1] ?? 'none';
  const isOver = async (): Promise<boolean> => {
    const last = { direction: BACKWARDS, fromRevision: END, maxCount: 1 } as const;
    const read = client.readStream('$scavenges', { ...last, resolveLinkTos: true });
    const [found] = (await read.toArray().catch(() => [])) as ResolvedEvent[];
    const { type, data } = found?.event ?? {};
    return type === '$scavengeCompleted' && JSON.stringify(data).includes(id);
  };
  if (!(await until(isOver))) throw new Error(`scavenge ${id} does not end`);
  await client.dispose();
};
