/**
 * The scripts. Each uses one partition (KEYS: head, rows, order, before), or the table of spaces. Redis runs and
 * persists a script atomically, so that a crash keeps all of its effects or none.
 */
import { createHash } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { HASH_DIGITS, hexOf } from '#src/stores/row-digest.ts';
import { SORT_DIGITS } from './keys.ts';

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
  client instanceof Cluster ? client.nodes('master') : [client];

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
    redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
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

/** Creates the head, by which readers distinguish an empty partition from a lost one. */
export const BEGIN = script(
  '',
  `if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], 'at', 0, 'rows', 0, 'placed', 0, 'sum', '${hexOf(0)}')
  end
  return 1`,
);

/** Removes a partition that has a damaged record. Returns 1; 0 if another process did. */
export const LOSE = script(
  ' flags=allow-oom',
  `if redis.call('HEXISTS', KEYS[1], 'at') == 0 then return 0 end
  redis.call('UNLINK', unpack(KEYS))
  return 1`,
);

/**
 * ARGV: seconds. Frees the rows off the main thread, and marks the partition as dropped for that time:
 * otherwise a projector that was paused before would start to fill it again.
 */
export const CLEAR = script(
  ' flags=allow-oom',
  `redis.call('UNLINK', unpack(KEYS))
  redis.call('HSET', KEYS[1], 'dropped', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  return 1`,
);

/** KEYS: spaces. ARGV: space, id for it if it has none. Returns its id. */
export const ADD_SPACE = script(
  '',
  `redis.call('HSETNX', KEYS[1], 'id:' .. ARGV[1], ARGV[2])
  return redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])`,
);

/** KEYS: spaces. ARGV: space, its pointer. Removes both; returns the id, to be cleared. */
export const REMOVE_SPACE = script(
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
