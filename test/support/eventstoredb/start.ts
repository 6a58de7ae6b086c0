/** Starts the stand-in for EventStoreDB and sends it commands. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { env } from 'node:process';
import { freePort } from '../processes/free-port.ts';
import type { Command, Stats } from './stand-in/state.ts';
import type { LogServer } from './log-server.ts';

export type StandIn = LogServer & {
  readonly delivery: NonNullable<LogServer['delivery']>;
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

/** With `file`, committed events survive a restart. Without `pace`, STAND_IN_PACE says how late records are delivered. */
export const standIn = async (
  options: { file?: string; nodes?: number; pace?: string } = {},
): Promise<StandIn> => {
  let child: ChildProcess;
  let exit: Promise<unknown>;
  let ids = 0;
  const answers = new Map<number, (answer: unknown) => void>();
  const held = new Set<string>();
  const start = async (): Promise<void> => {
    const settings = {
      ...env,
      STAND_IN_PACE: options.pace ?? env['STAND_IN_PACE'],
      STAND_IN_HELD: JSON.stringify([...held]),
    };
    const parameters = [ports.join(), ...(options.file ? [options.file] : [])];
    const started = fork(MAIN, parameters, { env: settings });
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
    delivery: {
      async hold(connection = '') {
        held.add(connection);
        await ask({ name: 'holdDelivery', connection });
      },
      async release(connection = '') {
        held.delete(connection);
        await ask({ name: 'releaseDelivery', connection });
      },
    },
    url: `esdb://127.0.0.1:${port}?tls=false`,
    async tell(command) {
      if (command.name === 'reset') held.clear();
      await ask(command);
    },
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
