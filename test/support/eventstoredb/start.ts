/** Starts the stand-in for EventStoreDB and sends it commands. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../processes/free-port.ts';
import type { Command, Stats } from './stand-in/state.ts';
import type { LogServer } from './log-server.ts';

export type StandIn = LogServer & {
  /** The ports of all nodes, which share one store. */
  readonly ports: readonly number[];
  tell(command: Command): Promise<void>;
  stats(): Promise<Stats>;
  /** Resolves when the process has ended. */
  gone(): Promise<void>;
};

const MAIN = join(import.meta.dirname, 'stand-in/main.ts');
const running = new Set<ChildProcess>();

/** For afterAll. */
export const endStandIns = async (): Promise<void> => {
  const ends = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(ends);
};

/** With `file`, committed events survive a restart. */
export const standIn = async (
  options: { file?: string; nodes?: number } = {},
): Promise<StandIn> => {
  let child: ChildProcess;
  let exit: Promise<unknown>;
  let ids = 0;
  const answers = new Map<number, (answer: unknown) => void>();
  const start = async (): Promise<void> => {
    const started = fork(MAIN, [ports.join(), ...(options.file ? [options.file] : [])]);
    child = started;
    running.add(started);
    exit = once(started, 'exit').then(() => running.delete(started));
    await once(started, 'message');
    started.on('message', ({ id, answer }: { id: number; answer: unknown }) => {
      answers.get(id)?.(answer);
      answers.delete(id);
    });
  };
  const ask = (command: Command): Promise<unknown> =>
    new Promise((resolve) => {
      ids += 1;
      answers.set(ids, resolve);
      child.send({ id: ids, command });
    });
  const ports: number[] = [];
  for (let node = 0; node < (options.nodes ?? 1); node += 1) ports.push(await freePort());
  await start();
  const [port = 0] = ports;
  return {
    port,
    ports,
    data: options.file,
    url: `esdb://127.0.0.1:${port}?tls=false`,
    tell: async (command) => void (await ask(command)),
    stats: async () => (await ask({ name: 'stats' })) as Stats,
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    gone: async () => void (await exit),
    restart: start,
  };
};
