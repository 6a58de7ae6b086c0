/** Who folds a set of read models in this Redis now: names in order, each with its time to go. */
import { connect } from './connect.ts';
import { keysOf } from './keys.ts';
import { ROLL_CALL, run } from './scripts.ts';

export type Roll = {
  /** Says that we are here for the next `ttlMs`; answers who is, in one order for all. */
  call(ttlMs: number): Promise<string[]>;
  /** Others need not wait until our time is up. */
  leave(): Promise<void>;
  close(): Promise<void>;
};

export const redisRoll = async (options: {
  url: URL;
  /** Identity of the log; those of others are not on the roll. */
  log: string;
  /** What we fold; those who fold other versions are not on the roll, and fold all of theirs. */
  set: string;
  /** Ours, that nobody else has. */
  name: string;
  onFault?(error: unknown): void;
}): Promise<Roll> => {
  const { url, log, set, name, onFault = () => {} } = options;
  const { writes, close } = await connect(url, onFault);
  const key = keysOf(log).projectors(set);
  return {
    call: async (ttlMs) =>
      ((await run(writes, ROLL_CALL, [key], [name, ttlMs])) as string[]).toSorted(),
    leave: async () => void (await writes.zrem(key, name)),
    close: async () => close(),
  };
};
