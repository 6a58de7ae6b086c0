/** Counts of limits, and the mark of the log, that processes share in Redis. */
import { createHash } from 'node:crypto';
import type { SharedCount } from '#src/ports/system.ts';
import { isLogMark, type LogMark, type MarkPlace } from '#src/stores/log-memory.ts';
import { CircuitBreaker, bytesOf, connect, urlWithoutSecrets } from './connect.ts';
import { keysOf, RENEW_MEMBER, script } from './scripts.ts';

const RENEW_MS = 1_000;
/** The others take over the share of a process that has not renewed for this long. */
const GONE_MS = 3_000;
const ANSWER_MS = 50;
const ANSWER_MS_MAX = 200;
/** Bytes of a key's digest, from which the client cannot be identified. */
const DIGEST_BYTES = 16;

/**
 * ARGV: cost in milliseconds. Adds it to the arrival time, and returns how far that is ahead of the clock
 * of Redis: two minutes at most, so that a clock that was set back blocks clients only for a short time.
 */
const ADD = script(
  '',
  `local time = redis.call('TIME')
  local now = time[1] * 1000 + time[2] / 1000
  local arrival = tonumber(redis.call('GET', KEYS[1]) or '0')
  if arrival < now then arrival = now end
  arrival = math.min(arrival + ARGV[1], now + 120000)
  redis.call('SET', KEYS[1], string.format('%.3f', arrival), 'PX', math.ceil(arrival - now) + 1)
  return string.format('%.3f', arrival - now)`,
);

export type RedisLimits = SharedCount & { close(): Promise<void> };

export type RedisLimitsOptions = {
  url: URL;
  /** Identity of the log; limits are counted for each log. */
  log: string;
  /** Name of this process, unique among those of the log. */
  name: string;
  /** Called once for each outage. */
  onFault?(error: unknown): void;
  /** Longest silence of Redis during a call, in milliseconds. */
  answerMs?: number;
};

/**
 * Counts calls against the limits for all processes of a log. Throws StartupError within five seconds
 * when the server cannot be used.
 */
export const redisLimits = async (options: RedisLimitsOptions): Promise<RedisLimits> => {
  const { url, log, name, onFault = () => {}, answerMs = ANSWER_MS } = options;
  const { reads, close } = await connect(url, onFault);
  const keys = keysOf(log);
  const breaker = new CircuitBreaker({
    silenceMsMax: answerMs,
    waitMsMax: Math.max(answerMs, ANSWER_MS_MAX),
    probe: () => reads.ping(),
    bytes: () => bytesOf(reads),
  });
  let processes = 1;
  const renew = async (): Promise<void> => {
    const args = [name, GONE_MS];
    const members = await breaker.call(() => RENEW_MEMBER.run(reads, [keys.counters], args));
    processes = Math.max(1, (members as string[]).length);
  };
  // The connection reports outages; during one the last number stays in use.
  const timer = setInterval(() => void renew().catch(() => {}), RENEW_MS).unref();
  await renew().catch(onFault);
  return {
    async add(key, costMs) {
      const digest = createHash('sha256').update(key).digest().subarray(0, DIGEST_BYTES);
      const limit = keys.limit(digest.toString('base64url'));
      return Number(await breaker.call(() => ADD.run(reads, [limit], [costMs])));
    },
    processes: () => processes,
    async close() {
      clearInterval(timer);
      await breaker.call(() => reads.zrem(keys.counters, name)).catch(() => {});
      breaker.close();
      close();
    },
  };
};

/** Outside the keys of any log: says which log this Redis belongs to. */
const KEY = 'tributary:log';

/** ARGV: identity, position and text of a mark. Stores it unless the stored one is newer, or another log's. */
const STORE = script(
  '',
  `local stored = redis.call('HMGET', KEYS[1], 'id', 'position')
  if stored[1] and (stored[1] ~= ARGV[1] or tonumber(stored[2]) > tonumber(ARGV[2])) then return 0 end
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'position', ARGV[2], 'mark', ARGV[3])
  return 1`,
);

export type RedisMarkOptions = {
  url: URL;
  /** Called once for each outage. */
  onFault?(error: unknown): void;
};

const partsOf = (mark: LogMark): [id: string, position: number, text: string] => [
  mark.id,
  mark.newest?.position ?? 0,
  JSON.stringify(mark),
];

/**
 * The mark that all processes of a Redis share. Throws StartupError within five seconds when the server
 * cannot be used.
 */
export const redisLogMark = async ({
  url,
  onFault = () => {},
}: RedisMarkOptions): Promise<MarkPlace> => {
  const { reads, close } = await connect(url, onFault);
  return {
    name: `Redis at ${urlWithoutSecrets(url)}`,
    isShared: true,
    async load() {
      const text = await reads.hget(KEY, 'mark');
      const mark: unknown = text === null ? undefined : JSON.parse(text);
      return isLogMark(mark) ? mark : undefined;
    },
    store: async (mark) => void (await STORE.run(reads, [KEY], partsOf(mark))),
    async replace(mark) {
      if (!mark) {
        await reads.unlink(KEY);
        return;
      }
      const [id, position, text] = partsOf(mark);
      await reads.hset(KEY, { id, position, mark: text });
    },
    close: async () => close(),
  };
};
