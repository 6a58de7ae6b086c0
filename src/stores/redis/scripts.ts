/**
 * The scripts. Each uses one partition (KEYS: head, rows, order, before), or the table of spaces. Redis runs and
 * persists a script atomically, so that a crash keeps all of its effects or none.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { Position } from '#src/ports/event-log.ts';
import {
  ALL_ROWS,
  type ListEntry,
  type ListQuery,
  type Row,
  type RowKey,
  ALL_PARTITIONS,
  PARTITIONS,
  type Space,
  readModelOf,
} from '#src/ports/read-model.ts';
import { HASH_DIGITS, hashText, RowDamaged, rowText, hexOf } from '#src/stores/row-digest.ts';

/**
 * The keys of a partition in Redis. Every key begins with the log's identity, so that rows of other logs are not
 * visible. A partition's keys share its number as their hash tag, so that one script can use all of them even in Redis
 * Cluster. A space's id is drawn when it is created and never reused, so that nothing which survived a flush, a drop or
 * a restore is mistaken for part of it.
 */
export type PartitionKeys = readonly [head: string, rows: string, order: string, before: string];

export type Keys = {
  /** A hash: `id:{space}`, `live:{projection}@{version}` and `dropping:{id}`. */
  spaces: string;
  /** Members that fold this set of read models. */
  projectors(set: string): string;
  /** Members that count calls against the limits. */
  counters: string;
  /** What one client has used of one limit. */
  limit(digest: string): string;
  /**
   * The head holds the partition's checkpoint, its numbers of rows and of members of the order, and the sum of its
   * digest. `before` exists while a process reads a snapshot of the partition.
   */
  partition(id: string, partition: number): PartitionKeys;
};

export const keysOf = (log: string): Keys => {
  const prefix = `tributary:${log.replaceAll(/[{}]/g, '-')}`;
  return {
    spaces: `${prefix}:spaces`,
    projectors: (set) => `${prefix}:projectors:${set}`,
    counters: `${prefix}:counters`,
    limit: (digest) => `${prefix}:limit:${digest}`,
    partition: (id, partition) => {
      const base = `${prefix}:{${partition}}:${id}`;
      return [`${base}:head`, `${base}:rows`, `${base}:order`, `${base}:before`];
    },
  };
};

/** Hexadecimal digits of a sort position: enough for all safe integers, which then sort as text. */
const SORT_DIGITS = 14;

/** Added to the version of a read model. Rows of format 0 had no hash, and entries of format 1 another one. */
export const ROW_FORMAT = 2_000;

/** NUL occurs in no scope and no key, and sorts before all other characters. */
const SEPARATOR = '\0';

export const fieldOf = (scope: string, key: string): string => `${scope}${SEPARATOR}${key}`;

export const splitField = (field: string): [scope: string, key: string] => {
  const at = field.indexOf(SEPARATOR);
  return [field.slice(0, at), field.slice(at + 1)];
};

const sortText = (sort: number): string => {
  if (!Number.isSafeInteger(sort) || sort < 0)
    throw new Error(`a sort position must be a whole number of at least 0, not ${sort}`);
  return sort.toString(16).padStart(SORT_DIGITS, '0');
};

const HEX = /^[\da-f]+$/;

/** Parses a sum or a sort position. Throws RowDamaged. */
export const parseHex = (text: string): number => {
  if (!HEX.test(text)) throw new RowDamaged('a number is not hexadecimal');
  return Number.parseInt(text, 16);
};

/** Encodes a checkpoint with a hash of it and of the key that has it, which names the space and the partition. */
export const encodeCheckpoint = (head: string, checkpoint: Position): string =>
  checkpoint === 0 ? '0' : `${checkpoint} ${hashText(`${head} ${checkpoint}`)}`;

/** Throws RowDamaged if the text is not the one that was written into this key. */
export const decodeCheckpoint = (head: string, text: string): Position => {
  const checkpoint = Number.parseInt(text, 10);
  if (encodeCheckpoint(head, checkpoint) !== text)
    throw new RowDamaged('the hash of a checkpoint does not fit');
  return checkpoint;
};

/** Encodes a row: its hash, its sort position, if it has one, then its JSON, which begins with a bracket. */
export const encodeRow = (key: RowKey, sort: number | null, row: Row): string => {
  const json = JSON.stringify(row);
  return hashText(rowText(key, sort, json)) + (sort === null ? '' : sortText(sort)) + json;
};

const jsonAt = (value: string): number =>
  HASH_DIGITS + (['{', '['].includes(value.charAt(HASH_DIGITS)) ? 0 : SORT_DIGITS);

/** Returns the JSON of a row, which may be damaged. */
export const rowJson = (value: string): string => value.slice(jsonAt(value));

type DecodedRow = { hash: string; sort: number | null; json: string };

/** Throws RowDamaged if the value is not the one that was written for this row. */
export const decodeRow = (key: RowKey, value: string): DecodedRow => {
  const at = jsonAt(value);
  const sort = at === HASH_DIGITS ? null : parseHex(value.slice(HASH_DIGITS, at));
  const [hash, json] = [value.slice(0, HASH_DIGITS), value.slice(at)];
  if (hashText(rowText(key, sort, json)) !== hash)
    throw new RowDamaged('the hash of a row does not fit');
  return { hash, sort, json };
};

export const parseRow = ({ json }: DecodedRow): Row => JSON.parse(json) as Row;

/** Precedes the name of a list; it sorts after SEPARATOR and before all other characters. */
const LIST_SEPARATOR = '\u0001';

/** The name by which the members of the order begin: the scope, and the list if it is not that of all rows. */
const orderName = (scope: string, list: string | undefined): string =>
  list === undefined ? scope : `${scope}${LIST_SEPARATOR}${list}`;

/** The member of the order for an entry of a row. */
export const memberOf = (scope: string, key: string, [list, sort]: ListEntry): string =>
  `${orderName(scope, list)}${SEPARATOR}${sortText(sort)}${SEPARATOR}${key}`;

/** The member of the order for a row in the list of all rows. */
export const memberOfRow = ({ scope, key }: RowKey, sort: number): string =>
  `${orderName(scope, undefined)}${SEPARATOR}${sortText(sort)}${SEPARATOR}${key}`;

/** Parses a member of the order. Throws RowDamaged. */
export const splitMember = (member: string): RowKey & { entry: ListEntry } => {
  const [name = '', sort = '', key = ''] = member.split(SEPARATOR);
  const [scope = '', list = ALL_ROWS] = name.split(LIST_SEPARATOR);
  return { scope, key, entry: [list, parseHex(sort)] };
};

/** The name of a list in the order, and the limits of ZRANGEBYLEX for the rows of a query. */
export const orderRange = ({
  scope,
  list,
  before,
  beforeKey,
  downTo,
}: Omit<ListQuery, 'limit'>): [name: string, max: string, min: string] => {
  const name = orderName(scope, list);
  const bound = (sort: number): string => sortText(Math.max(0, Math.ceil(sort)));
  const isUnbounded = before === undefined || before > Number.MAX_SAFE_INTEGER;
  const key = beforeKey === undefined ? '' : `${SEPARATOR}${beforeKey}`;
  return [
    name,
    isUnbounded ? `(${name}${LIST_SEPARATOR}` : `(${name}${SEPARATOR}${bound(before)}${key}`,
    `[${name}${SEPARATOR}${downTo === undefined ? '' : bound(downTo)}`,
  ];
};

/** Decodes a member of the order without its scope: the sort position and the key. Throws RowDamaged. */
export const decodeMember = (member: string): { sort: number; key: string } => ({
  sort: parseHex(member.slice(0, SORT_DIGITS)),
  key: member.slice(SORT_DIGITS + 1),
});

export type Client = Redis | Cluster;

export type Script = {
  run(
    client: Client,
    keys: readonly string[],
    args?: readonly (string | number)[],
  ): Promise<unknown>;
};

/** Runs by digest; by text when a restarted server no longer knows the digest. */
export const script = (flags: string, body: string): Script => {
  const text = `#!lua${flags}\n${body}`;
  const sha = createHash('sha1').update(text).digest('hex');
  return {
    async run(client, keys, args = []) {
      try {
        return await client.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        return client.eval(text, keys.length, ...keys, ...args);
      }
    },
  };
};

export const mastersOf = (client: Client): Redis[] =>
  'nodes' in client ? client.nodes('master') : [client];

/** Sends the commands that `send` issues synchronously in one packet to each server. */
export const together = <T>(client: Client, send: () => T): T => {
  const streams = mastersOf(client).map(({ stream }) => stream);
  for (const stream of streams) stream?.cork();
  try {
    return send();
  } finally {
    for (const stream of streams) stream?.uncork();
  }
};

// Redis can lose a key (a wrong eviction policy, a shard that was emptied): a partition whose size
// differs from its head counts as lost.
export const READ_HEAD = `
  local head = redis.call('HMGET', KEYS[1], 'at', 'rows', 'placed', 'dropped', 'sum')
  local rows, placed = redis.call('HLEN', KEYS[2]), redis.call('ZCARD', KEYS[3])
  local at = head[1]
  if rows ~= tonumber(head[2]) or placed ~= tonumber(head[3]) then at = false end
`;

/** Returns the checkpoint, or an empty string if the partition is lost, number of rows, and sum; nil without a head. */
export const HEAD = script(
  ' flags=no-writes',
  `${READ_HEAD}
  if not head[1] then return false end
  return {at or '', rows, head[5] or ''}`,
);

// Returns only the checkpoint when the caller has the rows of that checkpoint.
const UNCHANGED = `
  if not at then return false end
  if at == ARGV[#ARGV] then return at end
`;

/** ARGV: field, cached checkpoint. Returns checkpoint and row. */
export const FIND = script(
  ' flags=no-writes',
  `${READ_HEAD} ${UNCHANGED}
  return {at, redis.call('HGET', KEYS[2], ARGV[1])}`,
);

/** A script that returns this many bytes or rows keeps Redis busy for about a millisecond. */
export const PAGE_BYTES = 131_072;
export const PAGE_ROWS = 500;

/**
 * ARGV: scope, name of the list, max, min, limit, 'oldest' or an empty string, cached checkpoint. Returns the
 * checkpoint, whether the page ends at a limit of this script, then for each row its member of the order without the
 * name, and the row.
 */
export const PAGE = script(
  ' flags=no-writes',
  `${READ_HEAD} ${UNCHANGED}
  local most = math.min(ARGV[5], ${PAGE_ROWS})
  local result, bytes = {at, ''}, 0
  local sort, key = #ARGV[2] + 2, #ARGV[2] + ${SORT_DIGITS} + 3
  local members
  if ARGV[6] == 'oldest' then
    members = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[4], ARGV[3], 'LIMIT', 0, most)
  else
    members = redis.call('ZREVRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, most)
  end
  for i, member in ipairs(members) do
    local row = redis.call('HGET', KEYS[2], ARGV[1] .. '\\0' .. string.sub(member, key)) or ''
    result[#result + 1] = string.sub(member, sort)
    result[#result + 1] = row
    bytes = bytes + #row
    if bytes >= ${PAGE_BYTES} and i < #members or i == ${PAGE_ROWS} then
      result[2] = 'cut'
      break
    end
  end
  return result`,
);

/**
 * ARGV: checkpoint, or an empty string for any, then fields. Returns their rows, in order; nil when the
 * partition has another checkpoint. Returns no rows of a lost partition: it is folded from the start,
 * and rows that are left would be counted twice.
 */
export const LOAD = script(
  ' flags=no-writes',
  `${READ_HEAD}
  local result = {}
  if ARGV[1] ~= '' and ARGV[1] ~= (at or '0') then return false end
  if not at then return result end
  for first = 2, #ARGV, 1000 do
    local last = math.min(first + 999, #ARGV)
    local values = redis.call('HMGET', KEYS[2], unpack(ARGV, first, last))
    for i = 1, last - first + 1 do result[first + i - 2] = values[i] end
  end
  return result`,
);

/**
 * ARGV: from, to, the number of rows, field and value in turn for each row, then command, member and hash in turn for
 * each entry of a list that changes. An empty value deletes. Returns 1; 0, without effect, when the checkpoint is not
 * \`from\`. Nothing after the first write can fail.
 */
export const COMMIT = script(
  '',
  `${READ_HEAD}
  if head[4] or (at or '0') ~= ARGV[1] then return 0 end
  if not at then
    redis.call('UNLINK', unpack(KEYS))
  end
  local sum = at and tonumber(head[5], 16) or 0
  local function add(hash, sign) sum = (sum + sign * (tonumber(hash, 16) or 0)) % ${16 ** HASH_DIGITS} end
  local isRead = redis.call('EXISTS', KEYS[4]) == 1
  local function change(command, member)
    if isRead then
      local had = redis.call('ZSCORE', KEYS[3], member) and '1' or ''
      redis.call('HSETNX', KEYS[4], 'm' .. member, had)
    end
    if command == 'ZADD' then return redis.call('ZADD', KEYS[3], 0, member) end
    return -redis.call('ZREM', KEYS[3], member)
  end
  local function hashIn(value) return string.sub(value, 1, ${HASH_DIGITS}) end
  local entries = 4 + 2 * ARGV[3]
  for i = 4, entries - 1, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    local cut = string.find(field, '\\0', 1, true)
    local function member(stored)
      local place = string.sub(stored, ${HASH_DIGITS + 1}, ${HASH_DIGITS + SORT_DIGITS})
      return string.sub(field, 1, cut) .. place .. '\\0' .. string.sub(field, cut + 1)
    end
    local stored = redis.call('HGET', KEYS[2], field)
    if isRead then redis.call('HSETNX', KEYS[4], 'r' .. field, stored or '') end
    if stored then add(hashIn(stored), -1) end
    if value == '' then
      if stored then
        redis.call('HDEL', KEYS[2], field)
        change('ZREM', member(stored))
      end
    else
      redis.call('HSET', KEYS[2], field, value)
      add(hashIn(value), 1)
      local first = string.byte(value, ${HASH_DIGITS + 1})
      if not stored and first ~= 123 and first ~= 91 then change('ZADD', member(value)) end
    end
  end
  for i = entries, #ARGV, 3 do add(ARGV[i + 2], change(ARGV[i], ARGV[i + 1])) end
  sum = string.format('%0${HASH_DIGITS}x', sum)
  rows, placed = redis.call('HLEN', KEYS[2]), redis.call('ZCARD', KEYS[3])
  redis.call('HSET', KEYS[1], 'at', ARGV[2], 'rows', rows, 'placed', placed, 'sum', sum)
  return 1`,
);

// While a partition is filled, its head has only the name of who fills it, so that it counts as lost. A process that begins or
// commits later takes it over, and the rest of the fill has no effect.
const IS_FILLER = `if redis.call('HGET', KEYS[1], 'filler') ~= ARGV[1] then return 0 end`;

/** ARGV: a name for this fill. Returns 1; 0 if the partition has a checkpoint. */
export const BEGIN_FILL = script(
  '',
  `${READ_HEAD}
  if head[4] or (at or '0') ~= '0' then return 0 end
  redis.call('UNLINK', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'filler', ARGV[1])
  return 1`,
);

/** ARGV: the name of the fill, 2 for rows or 3 for members of the order, then pairs. Returns 1; 0 if the fill has ended. */
export const ADD_FILL = script(
  '',
  `${IS_FILLER}
  local command = ARGV[2] == '2' and 'HSET' or 'ZADD'
  for first = 3, #ARGV, 1000 do
    redis.call(command, KEYS[tonumber(ARGV[2])], unpack(ARGV, first, math.min(first + 999, #ARGV)))
  end
  return 1`,
);

/** ARGV: the name of the fill, checkpoint, rows, members, sum. Returns 1; 0 if the fill has ended, or records are missing. */
export const END_FILL = script(
  '',
  `${IS_FILLER}
  local rows, placed = redis.call('HLEN', KEYS[2]), redis.call('ZCARD', KEYS[3])
  if rows ~= tonumber(ARGV[3]) or placed ~= tonumber(ARGV[4]) then return 0 end
  redis.call('UNLINK', KEYS[1])
  redis.call('HSET', KEYS[1], 'at', ARGV[2], 'rows', rows, 'placed', placed, 'sum', ARGV[5])
  return 1`,
);

/** Creates the head, by which readers distinguish an empty partition from a lost one. */
const BEGIN = script(
  '',
  `if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], 'at', 0, 'rows', 0, 'placed', 0, 'sum', '${hexOf(0)}')
  end
  return 1`,
);

/** Removes a partition that has a damaged record. Returns 1; 0 if another process did. */
const LOSE = script(
  ' flags=allow-oom',
  `if redis.call('HEXISTS', KEYS[1], 'at') == 0 then return 0 end
  redis.call('UNLINK', unpack(KEYS))
  return 1`,
);

/**
 * ARGV: seconds. Frees the rows off the main thread, and marks the partition as dropped for that time:
 * otherwise a projector that was paused before would start to fill it again.
 */
const CLEAR = script(
  ' flags=allow-oom',
  `redis.call('UNLINK', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'dropped', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  return 1`,
);

/** KEYS: spaces. ARGV: space, id for it if it has none. Returns its id. */
const ADD_SPACE = script(
  '',
  `redis.call('HSETNX', KEYS[1], 'id:' .. ARGV[1], ARGV[2])
  return redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])`,
);

/** KEYS: spaces. ARGV: space, its pointer. Removes both; returns the id, to be cleared. */
const REMOVE_SPACE = script(
  ' flags=allow-oom',
  `local id = redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])
  if not id then return false end
  redis.call('HDEL', KEYS[1], 'id:' .. ARGV[1])
  if redis.call('HGET', KEYS[1], ARGV[2]) == ARGV[1] then redis.call('HDEL', KEYS[1], ARGV[2]) end
  redis.call('HSET', KEYS[1], 'dropping:' .. id, ARGV[1])
  return id`,
);

/**
 * KEYS: members. ARGV: name, milliseconds. Renews a member, removes those whose time is up, and returns
 * the others. Uses the clock of Redis, because those of the members can differ.
 */
export const RENEW_MEMBER = script(
  ' flags=allow-oom',
  `local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('ZRANGE', KEYS[1], 0, -1)`,
);

export type Versioned = { name: string; version: number };

const ID_BYTES = 6;
/** Partitions that are cleared at once. Redis frees them off its main thread, between other commands. */
const CLEARED_AT_ONCE = 8;
/** How long a projector can be paused and still learn that its space was dropped. */
const DROPPED_SECONDS = 86_400;

/** `live:leads@3` of `leads@3.1`. */
const pointerOf = (space: Space): string => `live:${space.slice(0, space.lastIndexOf('.'))}`;

type SpacesOptions = {
  projections?: readonly Versioned[] | undefined;
  onDiscarded?: ((reason: string) => void) | undefined;
};

/** The table of spaces, small enough to be read whole, as this process read it last. */
export class Spaces {
  readonly #writes: Client;
  readonly #keys: Keys;
  readonly #onDiscarded: SpacesOptions['onDiscarded'];
  /** The pointer of each projection's version in this process. */
  readonly #pointers: ReadonlyMap<string, string>;
  #table: Record<string, string> = {};

  constructor(writes: Client, keys: Keys, { projections = [], onDiscarded }: SpacesOptions) {
    this.#writes = writes;
    this.#keys = keys;
    this.#onDiscarded = onDiscarded;
    this.#pointers = new Map(
      projections.map(({ name, version }) => [name, `live:${name}@${version}`]),
    );
  }

  async refresh(client: Client): Promise<void> {
    this.#table = await client.hgetall(this.#keys.spaces);
  }

  idOf(space: Space): string | undefined {
    return this.#table[`id:${space}`];
  }

  /** The live space of this process's version. */
  live(name: string): { space: Space; id: string } | undefined {
    const pointer = this.#pointers.get(name) ?? `live:${name}@1`;
    const space = this.#table[pointer];
    const id = space === undefined ? undefined : this.idOf(space);
    return space !== undefined && id !== undefined ? { space, id } : undefined;
  }

  /** The spaces of one projection, in all versions. */
  all(name: string): Space[] {
    return Object.keys(this.#table)
      .filter((field) => field.startsWith('id:') && readModelOf(field.slice(3)) === name)
      .map((field) => field.slice(3));
  }

  /** Returns the id of the space, which is created if there is none. */
  async add(space: Space): Promise<string> {
    const args = [space, randomBytes(ID_BYTES).toString('base64url')];
    const id = String(await ADD_SPACE.run(this.#writes, [this.#keys.spaces], args));
    this.#table[`id:${space}`] = id;
    return id;
  }

  /** Makes the space live for processes of its version; other versions are not affected. */
  async goLive(space: Space): Promise<void> {
    const id = await this.add(space);
    const partitions = ALL_PARTITIONS.map((partition) =>
      BEGIN.run(this.#writes, this.#keys.partition(id, partition)),
    );
    await Promise.all(partitions);
    const pointer = pointerOf(space);
    await this.#writes.hset(this.#keys.spaces, { [pointer]: space });
    this.#table[pointer] = space;
  }

  async remove(space: Space): Promise<void> {
    const pointer = pointerOf(space);
    const id = await REMOVE_SPACE.run(this.#writes, [this.#keys.spaces], [space, pointer]);
    delete this.#table[`id:${space}`];
    if (this.#table[pointer] === space) delete this.#table[pointer];
    if (typeof id === 'string') await this.#clear(id);
  }

  /** Removes the rows of a partition and reports it, unless another process did, so that it is filled again. */
  async lose(space: Space, partition: number, reason: string): Promise<void> {
    const id = this.idOf(space);
    if (
      id !== undefined &&
      (await LOSE.run(this.#writes, this.#keys.partition(id, partition))) === 1
    )
      this.#onDiscarded?.(`${space}, partition ${partition}: ${reason}`);
  }

  /** Completes drops that a process began and did not finish. */
  async finishDrops(): Promise<void> {
    await this.refresh(this.#writes);
    for (const field of Object.keys(this.#table))
      if (field.startsWith('dropping:')) await this.#clear(field.slice('dropping:'.length));
  }

  async #clear(id: string): Promise<void> {
    const clear = (partition: number) =>
      CLEAR.run(this.#writes, this.#keys.partition(id, partition), [DROPPED_SECONDS]);
    for (let first = 0; first < PARTITIONS; first += CLEARED_AT_ONCE)
      await Promise.all(Array.from({ length: CLEARED_AT_ONCE }, (_, i) => clear(first + i)));
    await this.#writes.hdel(this.#keys.spaces, `dropping:${id}`);
  }
}
