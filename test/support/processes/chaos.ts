/** A service of many processes, each of which can be killed and restarted at any time. */
import type { ChildService } from './child-service.ts';
import type { RemoteWorld } from './remote.ts';

/** One process of the service, restarted with the same data directory. */
export type Slot = {
  readonly role: string;
  readonly directory: string;
  /** Undefined while it is down. */
  now(): ChildService | undefined;
  start(): Promise<void>;
  kill(): Promise<void>;
};

const TRIES_MAX = 20;

export const slot = (world: RemoteWorld, role: string): Slot => {
  const directory = world.directory();
  let current: ChildService | undefined;
  const start = async (left = TRIES_MAX): Promise<void> => {
    try {
      current = await world.start(role, directory);
    } catch (error) {
      // A server that it needs is down, too; a supervisor would also try again.
      if (left === 0) throw error;
      await start(left - 1);
    }
  };
  return {
    role,
    directory,
    now: () => current,
    start: () => start(),
    async kill() {
      const victim = current;
      current = undefined;
      await victim?.end('SIGKILL');
    },
  };
};

export type Blow = { name: string; strike(): Promise<void> };

type Blows = (
  world: RemoteWorld,
  slots: readonly Slot[],
  pause: (mostMs: number) => Promise<void>,
) => Blow[];

/** Faults of a process; each one ends when the process runs again. */
export const processBlows: Blows = (_, slots, pause) => [
  ...slots.map((one, i) => ({
    name: `${one.role} ${i} killed`,
    async strike() {
      await one.kill();
      await pause(500);
      await one.start();
    },
  })),
  ...slots.map((one, i) => ({
    name: `${one.role} ${i} paused`,
    async strike() {
      one.now()?.child.kill('SIGSTOP');
      await pause(5_000);
      one.now()?.child.kill('SIGCONT');
    },
  })),
];

/** Faults of the log and of Redis; each one ends when the server runs again. */
export const serverBlows: Blows = ({ log, redis }, _, pause) => [
  {
    name: 'redis killed, and empty afterwards',
    async strike() {
      await redis.kill();
      await pause(1_500);
      await redis.start();
    },
  },
  {
    name: 'redis paused',
    async strike() {
      redis.signal('SIGSTOP');
      await pause(1_500);
      redis.signal('SIGCONT');
    },
  },
  {
    name: 'log killed',
    async strike() {
      await log.kill();
      await pause(1_500);
      await log.restart();
    },
  },
  {
    name: 'log paused',
    async strike() {
      log.freeze();
      await pause(1_500);
      log.thaw();
    },
  },
];
