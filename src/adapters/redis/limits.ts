/** What clients take of their limits, counted in Redis for all processes of a log. */
import { createHash } from 'node:crypto';
import type { SharedCount } from '#src/ports/limits.ts';
import { bytesOf, connect } from './connect.ts';
import { gate } from './gate.ts';
import { keysOf } from './keys.ts';
import { ROLL_CALL, run, script } from './scripts.ts';

const CALL_MS = 1_000;
/** A process that has not called for so long leaves its share to the others. */
const GONE_MS = 3_000;
const ANSWER_MS = 50;
const ANSWER_MS_MAX = 200;
/** Of a key, in bytes: nobody can read from it whose it is. */
const DIGEST_BYTES = 16;

/**
 * ARGV: cost in ms. How far ahead the arrival time is then. By the clock of Redis, which is the same
 * for all; two minutes ahead at most, so that a clock which was put back locks nobody out for long.
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
  /** Identity of the log: processes of another count by themselves. */
  log: string;
  /** Ours, that no other process has. */
  name: string;
  /** The server is away, said once per outage. */
  onFault?(error: unknown): void;
};

/** Throws StartupError, within five seconds, when the server cannot be used. */
export const redisLimits = async (options: RedisLimitsOptions): Promise<RedisLimits> => {
  const { url, log, name, onFault = () => {} } = options;
  const { reads, close } = await connect(url, onFault);
  const keys = keysOf(log);
  const lane = gate({
    waitMs: ANSWER_MS,
    waitMsMax: ANSWER_MS_MAX,
    probe: () => reads.ping(),
    bytes: () => bytesOf(reads),
  });
  let processes = 1;
  const call = async (): Promise<void> => {
    const found = await lane.ask(() => run(reads, ROLL_CALL, [keys.counters], [name, GONE_MS]));
    processes = Math.max(1, (found as string[]).length);
  };
  // Who is away is told by the connection, once; until it is back the number known last holds.
  const timer = setInterval(() => void call().catch(() => {}), CALL_MS).unref();
  await call().catch(onFault);
  return {
    async add(key, costMs) {
      const digest = createHash('sha256').update(key).digest().subarray(0, DIGEST_BYTES);
      const where = keys.limit(digest.toString('base64url'));
      return Number(await lane.ask(() => run(reads, ADD, [where], [costMs])));
    },
    processes: () => processes,
    async close() {
      clearInterval(timer);
      await lane.ask(() => reads.zrem(keys.counters, name)).catch(() => {});
      lane.close();
      close();
    },
  };
};
