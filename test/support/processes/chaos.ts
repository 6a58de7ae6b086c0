/** A service of many processes, in which any may be killed at any time and comes back. */
import type { ChildService } from './child-service.ts';
import type { RemoteWorld } from './remote.ts';

/** A place of a process: whoever holds it now, under the same data directory. */
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
  let held: ChildService | undefined;
  const start = async (left = TRIES_MAX): Promise<void> => {
    try {
      held = await world.start(role, directory);
    } catch (error) {
      // A server that it needs is down as well: a supervisor would try again, too.
      if (left === 0) throw error;
      await start(left - 1);
    }
  };
  return {
    role,
    directory,
    now: () => held,
    start: () => start(),
    async kill() {
      const victim = held;
      held = undefined;
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

/** What can happen to a process; each blow ends with all that it struck up again. */
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

/** And to what they need. */
export const serverBlows: Blows = ({ log, redis }, _, pause) => [
  {
    name: 'redis killed, and empty after',
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
