/**
 * The scripts, each of one partition (KEYS: head, rows, order) or of the table of spaces. Redis runs
 * a script alone and writes it down as one, so that a crash keeps all of it or none.
 */
import { createHash } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { SORT_DIGITS } from './keys.ts';

export type Client = Redis | Cluster;

export type Script = { text: string; sha: string };

export const script = (flags: string, body: string): Script => {
  const text = `#!lua${flags}\n${body}`;
  return { text, sha: createHash('sha1').update(text).digest('hex') };
};

/** Runs it by its digest: a server that was restarted has forgotten the text, and is told again. */
export const run = async (
  client: Client,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number)[] = [],
): Promise<unknown> => {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.eval(text, keys.length, ...keys, ...args);
  }
};

/** What `send` sends before it first waits goes out in one packet to each server, not in one each. */
export const together = <T>(client: Client, send: () => T): T => {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const streams = nodes.map(({ stream }) => stream);
  for (const stream of streams) stream?.cork();
  try {
    return send();
  } finally {
    for (const stream of streams) stream?.uncork();
  }
};

// Redis may have thrown a key away (a wrong eviction policy, a shard that was emptied): a partition
// that has not what its head says has nothing.
const LOOK = `
  local head = redis.call('HMGET', KEYS[1], 'at', 'rows', 'placed', 'dropped')
  local rows, placed = redis.call('HLEN', KEYS[2]), redis.call('ZCARD', KEYS[3])
  local at = head[1]
  if rows ~= tonumber(head[2]) or placed ~= tonumber(head[3]) then at = false end
`;

/** How far the partition is folded; nil when it is lost. */
export const AT = script(' flags=no-writes', `${LOOK} return at`);

// The checkpoint alone when it is the one that the asker's rows are of: the same rows again.
const KNOWN = `
  if not at then return false end
  if at == ARGV[#ARGV] then return at end
`;

/** ARGV: field, known checkpoint. Checkpoint and row. */
export const FIND = script(
  ' flags=no-writes',
  `${LOOK} ${KNOWN}
  return {at, redis.call('HGET', KEYS[2], ARGV[1])}`,
);

/** ARGV: scope, max, min, limit, known checkpoint. Checkpoint, then place-and-key and row in turn. */
export const PAGE = script(
  ' flags=no-writes',
  `${LOOK} ${KNOWN}
  local found = {at}
  local behind, from = #ARGV[1] + 2, #ARGV[1] + ${SORT_DIGITS} + 3
  local members = redis.call('ZREVRANGEBYLEX', KEYS[3], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
  for _, member in ipairs(members) do
    found[#found + 1] = string.sub(member, behind)
    found[#found + 1] = redis.call('HGET', KEYS[2], ARGV[1] .. '\\0' .. string.sub(member, from))
  end
  return found`,
);

/**
 * ARGV: checkpoint, or nothing for any, then fields. Their rows, in order; nil when the partition
 * stands elsewhere. None of a partition that is lost: it is folded from the start, and what is left
 * of it would be counted twice.
 */
export const LOAD = script(
  ' flags=no-writes',
  `${LOOK}
  local found = {}
  if ARGV[1] ~= '' and ARGV[1] ~= (at or '0') then return false end
  if not at then return found end
  for first = 2, #ARGV, 1000 do
    local last = math.min(first + 999, #ARGV)
    local values = redis.call('HMGET', KEYS[2], unpack(ARGV, first, last))
    for i = 1, last - first + 1 do found[first + i - 2] = values[i] end
  end
  return found`,
);

/** Checkpoint, then field and row in turn. */
export const EVERYTHING = script(
  ' flags=no-writes',
  `${LOOK}
  if not at then return false end
  return {at, redis.call('HGETALL', KEYS[2])}`,
);

/**
 * ARGV: from, to, then field and value in turn; an empty value deletes. 1, or 0 and no effect when
 * the partition does not stand at \`from\`. Nothing after the first write can fail.
 */
export const COMMIT = script(
  '',
  `${LOOK}
  if head[4] or (at or '0') ~= ARGV[1] then return 0 end
  if not at then
    redis.call('UNLINK', KEYS[2], KEYS[3])
    rows, placed = 0, 0
  end
  for i = 3, #ARGV, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    local cut = string.find(field, '\\0', 1, true)
    local function member(stored)
      local place = string.sub(stored, 1, ${SORT_DIGITS})
      return string.sub(field, 1, cut) .. place .. '\\0' .. string.sub(field, cut + 1)
    end
    if value == '' then
      local stored = redis.call('HGET', KEYS[2], field)
      if stored then
        rows = rows - redis.call('HDEL', KEYS[2], field)
        placed = placed - redis.call('ZREM', KEYS[3], member(stored))
      end
    elseif redis.call('HSET', KEYS[2], field, value) == 1 then
      rows = rows + 1
      local first = string.byte(value, 1)
      if first ~= 123 and first ~= 91 then
        placed = placed + redis.call('ZADD', KEYS[3], 0, member(value))
      end
    end
  end
  redis.call('HSET', KEYS[1], 'at', ARGV[2], 'rows', rows, 'placed', placed)
  return 1`,
);

/** Readers tell an empty partition from one that is lost by its head. */
export const BEGIN = script(
  '',
  `if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], 'at', 0, 'rows', 0, 'placed', 0)
  end
  return 1`,
);

/**
 * ARGV: seconds. Frees the rows off the main thread, and leaves word for a projector that was
 * paused before: else it would begin the partition again for nobody.
 */
export const CLEAR = script(
  ' flags=allow-oom',
  `redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'dropped', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  return 1`,
);

/** KEYS: spaces. ARGV: space, id for it if it has none. Its id. */
export const ADD_SPACE = script(
  '',
  `redis.call('HSETNX', KEYS[1], 'id:' .. ARGV[1], ARGV[2])
  return redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])`,
);

/** KEYS: spaces. ARGV: space, what may point to it. Takes it out of the table; its id, to be cleared. */
export const REMOVE_SPACE = script(
  ' flags=allow-oom',
  `local id = redis.call('HGET', KEYS[1], 'id:' .. ARGV[1])
  if not id then return false end
  redis.call('HDEL', KEYS[1], 'id:' .. ARGV[1])
  for i = 2, #ARGV do
    if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
  end
  redis.call('HSET', KEYS[1], 'dropping:' .. id, ARGV[1])
  return id`,
);

/**
 * KEYS: the roll. ARGV: name, milliseconds. Who is on it, those whose time is up left out. By the
 * clock of Redis: those of the projectors may differ.
 */
export const ROLL_CALL = script(
  ' flags=allow-oom',
  `local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('ZRANGE', KEYS[1], 0, -1)`,
);
