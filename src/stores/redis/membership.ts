import { connect } from './connect.ts';
import { keysOf } from './keys.ts';
import { RENEW_MEMBER } from './scripts.ts';

/** The projectors that fold one set of read models now. Each member has to renew in time. */
export type Membership = {
  /** Joins, or stays a member, for `ttlMs`. Resolves to the names of all members, sorted. */
  renew(ttlMs: number): Promise<string[]>;
  /** Leaves before the time is up. */
  leave(): Promise<void>;
  close(): Promise<void>;
};

export type MembershipOptions = {
  url: URL;
  /** Identity of the log. */
  log: string;
  /** The read models folded here; projectors of other versions have a membership of their own. */
  set: string;
  /** Name of this process, unique among the members. */
  name: string;
  onFault?(error: unknown): void;
};

export const redisMembership = async (options: MembershipOptions): Promise<Membership> => {
  const { url, log, set, name, onFault = () => {} } = options;
  const { writes, close } = await connect(url, onFault);
  const key = keysOf(log).projectors(set);
  return {
    renew: async (ttlMs) =>
      ((await RENEW_MEMBER.run(writes, [key], [name, ttlMs])) as string[]).toSorted(),
    leave: async () => void (await writes.zrem(key, name)),
    close: async () => close(),
  };
};
