/**
 * Reads a partition as of one checkpoint in small commands, while projectors commit to it. For as long as a reader has
 * a snapshot, each commit first stores the value that a row or a member of the order had before, if it is the first
 * change since then. The reader replaces what it read by these values at the end.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { noRows, PartitionCheck, RowDamaged, type RowDigest } from '#src/stores/row-digest.ts';
import {
  decodeCheckpoint,
  decodeRow,
  type PartitionKeys,
  parseHex,
  splitField,
  splitMember,
} from './keys.ts';
import { type Client, PAGE_BYTES, READ_HEAD, script } from './scripts.ts';

/** A snapshot whose reader died ends after this time. */
const LEASE_MS = 10_000;
/** Rows or members of the first command, and of each: Redis is busy for less than a millisecond. */
const AT_FIRST = 10;
const AT_ONCE = 100;
const BUSY_MS = 20;
/** The score of every member. */
const SCORE = '0';
/** Each restart means that the partition was lost meanwhile, or the reader paused for LEASE_MS. */
const RESTARTS_MAX = 10;

/**
 * ARGV: token, milliseconds. Returns checkpoint, number of rows and sum; nil when the partition is lost, and 'busy'
 * while another reads.
 */
const BEGIN = script(
  '',
  `${READ_HEAD}
  if not at then return false end
  if redis.call('EXISTS', KEYS[4]) == 1 then return 'busy' end
  redis.call('HSET', KEYS[4], 'token', ARGV[1])
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return {at, rows, head[5]}`,
);

const IS_OWN = `${READ_HEAD}
  local isOwn = redis.call('HGET', KEYS[4], 'token') == ARGV[1]
`;

/** ARGV: token, milliseconds, HSCAN or ZSCAN, its key's index, cursor, count. Returns the cursor, and pairs. */
const PART = script(
  '',
  `${IS_OWN}
  if not isOwn or not at then return false end
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
  return redis.call(ARGV[3], KEYS[tonumber(ARGV[4])], ARGV[5], 'COUNT', ARGV[6])`,
);

/** ARGV: token. Ends the snapshot; returns 1 if it was whole until now. */
const END = script(
  '',
  `${IS_OWN}
  if isOwn then redis.call('UNLINK', KEYS[4]) end
  return isOwn and at and 1 or 0`,
);

export type PartitionSnapshot = {
  checkpoint: number;
  /** What was written with the checkpoint. */
  digest: RowDigest;
  /** The stored value of each field. */
  rows: Map<string, string>;
  /** The score of each member of the order. */
  members: Map<string, string>;
};

export const noSnapshot = (): PartitionSnapshot => ({
  checkpoint: 0,
  digest: noRows(),
  rows: new Map(),
  members: new Map(),
});

/**
 * Reads the partition; empty at checkpoint 0 if it is lost. Waits for another reader of the partition. Throws RowDamaged if
 * its head is damaged.
 */
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
    if (!Array.isArray(begun)) return noSnapshot();
    const [at, rows, sum] = begun as [string, number, string];
    const digest = { rows, sum: parseHex(sum) };
    const empty = { ...noSnapshot(), checkpoint: decodeCheckpoint(keys[0], at), digest };
    const snapshot = await readParts(client, { keys, token, snapshot: empty });
    if ((await END.run(client, keys, [token])) === 1 && snapshot) return snapshot;
    restarts += 1;
  }
  throw new Error('a partition was lost again and again while it was read: try again');
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
    ['ZSCAN', 3, (member, score) => members.set(member, score)],
    // Last: what is added while this is read is not needed, and not wrong either.
    ['HSCAN', 4, (name, value) => earlier.set(name, value)],
  ];
  for (const [command, index, take] of scans)
    for (let cursor: string | undefined = '0', count = AT_FIRST; cursor !== undefined; ) {
      const args = [token, LEASE_MS, command, index, cursor, count];
      const reply = (await PART.run(client, keys, args)) as [string, string[]] | null;
      if (!reply) return undefined;
      const [next, flat] = reply;
      for (let i = 0; i < flat.length; i += 2) take(flat[i] ?? '', flat[i + 1] ?? '');
      const chars = flat.reduce((sum, text) => sum + text.length, 0);
      count = Math.ceil(Math.min(AT_ONCE, (count * PAGE_BYTES) / (chars + 1)));
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
    else members.set(key, SCORE);
  }
};

/** Throws RowDamaged if a record is not what was written. */
export const checkSnapshot = ({ digest, rows, members }: PartitionSnapshot): true => {
  const check = new PartitionCheck();
  for (const [field, value] of rows) {
    const [scope, key] = splitField(field);
    const { hash, sort } = decodeRow({ scope, key }, value);
    check.addRow({ scope, key }, sort, Number.parseInt(hash, 16));
  }
  for (const [member, score] of members) {
    if (score !== SCORE) throw new RowDamaged('an entry of a list is in a wrong place');
    const { entry, ...row } = splitMember(member);
    check.addEntry(row, entry);
  }
  check.requireDigest(digest);
  return true;
};
