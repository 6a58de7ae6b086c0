/**
 * When subscribers receive records. A real server delivers a record some time after it has answered the
 * append; the delays are those of EventStoreDB 23.10.8 under the load of the whole product on two cores.
 */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { randomFrom } from '../../clients/journal.ts';

/** At once; as a server without load; or as one under the writes of 16 clients. */
export const PACES = ['prompt', 'idle', 'loaded'] as const;
export type Pace = (typeof PACES)[number];

/** Milliseconds: half of all delays are shorter than the median, nine of ten shorter than `p90`. */
type Delays = { median: number; p90: number };
const IDLE: Delays = { median: 0.2, p90: 0.6 };
const LOADED: Delays = { median: 40, p90: 94 };
const RESTARTED: Delays = { median: 291, p90: 1_500 };
const DELAY_MS_MAX = 3_400;
/** Without load this part of the records is as late as under load. */
const IDLE_LATE_RATIO = 0.04;
/** How long a server that was started again is slower. */
const RESTART_MS = 5_000;
/** A server is slow for a while: the delay changes after this time. */
const PERIOD_MS = 250;
/** How many standard deviations the 90th percentile of a normal distribution is above its median. */
const P90_DEVIATIONS = 1.2816;

const now = (): number => performance.now();

export type Delivery = ReturnType<typeof openDelivery>;

export const openDelivery = (
  pace: () => Pace,
  { seed, restarted, held }: { seed: number; restarted: boolean; held: readonly string[] },
) => {
  const startedAt = now();
  let lanes = 0;
  /** By the name of a connection; the empty name is for all connections. */
  const holds = new Map<string, PromiseWithResolvers<void>>();
  const hold = (connection: string): void => {
    if (!holds.has(connection)) holds.set(connection, Promise.withResolvers());
  };
  const release = (connection: string): void => {
    const one = holds.get(connection);
    holds.delete(connection);
    one?.resolve();
  };
  for (const connection of held) hold(connection);

  const delaysAt = (ratio: number): Delays => {
    if (restarted && now() < startedAt + RESTART_MS) return RESTARTED;
    return pace() === 'loaded' || ratio < IDLE_LATE_RATIO ? LOADED : IDLE;
  };

  return {
    hold,
    release,
    releaseAll: () => [...holds.keys()].forEach(release),
    /** The records of one subscription in their order: each subscription has delays of its own. */
    lane(connection: string) {
      const random = randomFrom(seed * 1_000_003 + lanes * 65_537);
      lanes += 1;
      let delay = 0;
      let until = 0;
      let last = 0;
      const uniform = (): number => (random(1_000_000) + 0.5) / 1_000_000;
      const draw = (): number => {
        const { median, p90 } = delaysAt(uniform());
        const deviations = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
        const ms = median * (p90 / median) ** (deviations / P90_DEVIATIONS);
        return Math.min(ms, DELAY_MS_MAX);
      };
      return {
        /** When a record that is committed now is sent, but never before an earlier one. */
        due(): number {
          if (pace() === 'prompt') return 0;
          const at = now();
          if (at >= until) [delay, until] = [draw(), at + PERIOD_MS];
          last = Math.max(last, at + delay);
          return last;
        },
        /** Resolves at `due`, and when nothing holds back this connection. */
        async open(due: number): Promise<void> {
          for (let left = due - now(); left > 0; left = due - now())
            await (left < 1 ? turn() : wait(Math.ceil(left)));
          for (;;) {
            const held = holds.get(connection) ?? holds.get('');
            if (!held) return;
            await held.promise;
          }
        },
      };
    },
  };
};
