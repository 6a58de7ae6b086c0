/**
 * Reads a partition as of one checkpoint in small commands, while projectors commit to it. For as long as a reader has
 * a snapshot, each commit first stores the value that a row or a member of the order had before, if it is the first
 * change since then. The reader replaces what it read by these values at the end.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { PartitionKeys } from './keys.ts';
import { type Client, READ_HEAD, script } from './scripts.ts';

/** A snapshot whose reader died ends after this time. */
const LEASE_MS = 10_000;
/** Rows or members of one command: Redis is busy for a fraction of a millisecond. */
const AT_ONCE = 100;
const BUSY_MS = 20;
/** Each restart means that a process of another version committed, or that the partition was lost meanwhile. */
const RESTARTS_MAX = 10;

/** ARGV: token, milliseconds. Returns the checkpoint; nil when the partition is lost, and 'busy' while another reads. */
const BEGIN = script(
  '',
  `${READ_HEAD}
  if not at then return false end
  if redis.call('EXISTS', KEYS[4]) == 1 then return 'busy' end
  redis.call('HSET', KEYS[4], 'token', ARGV[1], 'at', at)
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return at`,
);

/** Whether the snapshot exists, and no process has committed that stores no earlier values. */
const IS_WHOLE = `${READ_HEAD}
  local snapshot = redis.call('HMGET', KEYS[4], 'token', 'at')
  local isOwn = snapshot[1] == ARGV[1]
  local isWhole = isOwn and snapshot[2] == at
`;

/** ARGV: token, milliseconds, HSCAN or ZSCAN, its key's index, cursor, count. Returns the cursor, and pairs. */
const PART = script(
  '',
  `${IS_WHOLE}
  if not isWhole then return false end
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return redis.call(ARGV[3], KEYS[tonumber(ARGV[4])], ARGV[5], 'COUNT', ARGV[6])`,
);

/** ARGV: token. Ends the snapshot; returns 1 if it was whole until now. */
const END = script(
  '',
  `${IS_WHOLE}
  if isOwn then redis.call('UNLINK', KEYS[4]) end
  return isWhole and 1 or 0`,
);

export type PartitionSnapshot = {
  checkpoint: number;
  /** The stored value of each field. */
  rows: Map<string, string>;
  /** The members of the order. */
  members: Set<string>;
};

/** Reads the partition; empty at checkpoint 0 if it is lost. Waits for another reader of the partition. */
export const readSnapshot = async (
  client: Client,
  keys: PartitionKeys,
): Promise<PartitionSnapshot> => {
  for (let restarts = 0; restarts <= RESTARTS_MAX; ) {
    const token = randomBytes(12).toString('base64url');
    const begun = await BEGIN.run(client, keys, [token, LEASE_MS]);
    if (begun === 'busy') {
      await delay(BUSY_MS);
      continue;
    }
    const empty = { checkpoint: Number(begun ?? 0), rows: new Map(), members: new Set<string>() };
    if (begun === null) return empty;
    const snapshot = await readParts(client, { keys, token, snapshot: empty });
    if ((await END.run(client, keys, [token])) === 1 && snapshot) return snapshot;
    restarts += 1;
  }
  throw new Error('a partition changes by processes of an older version: stop them, and try again');
};

type Reading = { keys: PartitionKeys; token: string; snapshot: PartitionSnapshot };

/** Undefined when the snapshot has ended. */
const readParts = async (
  client: Client,
  { keys, token, snapshot }: Reading,
): Promise<PartitionSnapshot | undefined> => {
  const { rows, members } = snapshot;
  const earlier = new Map<string, string>();
  const scans: [command: string, index: number, take: (name: string, value: string) => void][] = [
    ['HSCAN', 2, (field, value) => rows.set(field, value)],
    ['ZSCAN', 3, (member) => members.add(member)],
    // Last: what is added while this is read is not needed, and not wrong either.
    ['HSCAN', 4, (name, value) => earlier.set(name, value)],
  ];
  for (const [command, index, take] of scans)
    for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
      const args = [token, LEASE_MS, command, index, cursor, AT_ONCE];
      const reply = (await PART.run(client, keys, args)) as [string, string[]] | null;
      if (!reply) return undefined;
      const [next, flat] = reply;
      for (let i = 0; i < flat.length; i += 2) take(flat[i] ?? '', flat[i + 1] ?? '');
      cursor = next === '0' ? undefined : next;
    }
  for (const [name, value] of earlier) restore(snapshot, name, value);
  return snapshot;
};

/** Names begin with `r` for a row and with `m` for a member; an empty value means that there was none. */
const restore = ({ rows, members }: PartitionSnapshot, name: string, value: string): void => {
  const key = name.slice(1);
  if (name.startsWith('r')) {
    if (value === '') rows.delete(key);
    else rows.set(key, value);
  } else if (name.startsWith('m')) {
    if (value === '') members.delete(key);
    else members.add(key);
  }
};
