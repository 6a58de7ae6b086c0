import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redisLimits, type RedisLimits } from '#src/stores/redis/limits.ts';
import { type Limiter, SharedLimiter } from '#src/calls/limits.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { until } from '../../support/clients/cli.ts';
import { HANG_MS } from '../../support/hang.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';

const PER_MINUTE = 1_200;
const monotonic = (): number => performance.now();

describe.skipIf(!hasRedis)(`rate limits ${ON_REDIS}`, () => {
  let redis: TestRedis;
  let open: RedisLimits[] = [];
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(open.map((count) => count.close()));
    open = [];
    await redis.control.flushall();
  });
  afterAll(endRedis);

  const counts = async (...names: string[]): Promise<RedisLimits[]> => {
    const made: RedisLimits[] = [];
    const options = { url: redis.url, log: 'log', answerMs: HANG_MS };
    for (const name of names) made.push(await redisLimits({ ...options, name }));
    open.push(...made);
    return made;
  };
  const limitOn = (count: RedisLimits): Limiter =>
    new SharedLimiter({ count: PER_MINUTE, per: 'minute' }, monotonic, { count, name: 'read' });
  const know = (all: readonly RedisLimits[], many: number): Promise<boolean> =>
    until(() => all.every((count) => count.processes() === many));

  /** The number of allowed calls, made by the processes in turn as fast as possible. */
  const passed = async (limits: readonly Limiter[], calls = 4 * PER_MINUTE): Promise<number> => {
    let allowed = 0;
    for (let n = 0; n < calls; n += 1) {
      if (limits[n % limits.length]?.take('key').allowed) allowed += 1;
      if (n % 8 === 7) await turn();
    }
    return allowed;
  };

  it('Two processes share one limit to within a tenth', async () => {
    const both = await counts('one', 'two');
    expect(await know(both, 2)).toBe(true);
    const since = monotonic();
    const allowed = await passed(both.map(limitOn));
    const refilled = ((monotonic() - since) * PER_MINUTE) / 60_000;
    expect(allowed).toBeGreaterThanOrEqual(PER_MINUTE * 0.9);
    expect(allowed).toBeLessThanOrEqual((PER_MINUTE + refilled) * 1.1);
  });

  it('Each client has its own count, and no key in Redis contains its name', async () => {
    const [count] = await counts('one');
    await count?.add('read:key-of-somebody', 1_000);
    expect(await count?.add('read:key-of-another', 1_000)).toBeCloseTo(1_000, -2);
    expect(await count?.add('read:key-of-somebody', 1_000)).toBeGreaterThan(1_500);
    const keys = await redis.control.keys('*');
    expect(keys.join()).not.toContain('somebody');
    const limits = keys.filter((key) => key.includes(':limit:'));
    expect(limits).toHaveLength(2);
    for (const key of limits) expect(await redis.control.pttl(key)).toBeGreaterThan(0);
  });

  it('The number of processes falls when one closes', async () => {
    const [one, two] = await counts('one', 'two');
    if (!one || !two) throw new Error('no counts');
    expect(await know([one, two], 2)).toBe(true);
    await two.close();
    expect(await know([one], 1)).toBe(true);
  });

  it('Processes use equal shares of the limit while Redis is down, and share it again afterwards', async () => {
    const server = await startRedis();
    const both = [];
    for (const name of ['one', 'two'])
      both.push(await redisLimits({ url: server.url, log: 'log', name }));
    open.push(...both);
    expect(await know(both, 2)).toBe(true);
    await server.kill();
    const since = monotonic();
    const limits = both.map(limitOn);
    const allowed = await passed(limits);
    const refilled = ((monotonic() - since) * PER_MINUTE) / 60_000;
    expect(allowed).toBeGreaterThanOrEqual(PER_MINUTE * 0.9);
    expect(allowed).toBeLessThanOrEqual((PER_MINUTE + refilled) * 1.1);
    await server.start();
    const [one] = both;
    const isBack = async (): Promise<boolean> =>
      (await one?.add('read:other', 1).catch(() => undefined)) !== undefined;
    expect(await until(isBack)).toBe(true);
  });

  it('An absent server is a StartupError', async () => {
    const limits = redisLimits({ url: new URL('redis://127.0.0.1:1'), log: 'log', name: 'one' });
    await expect(limits).rejects.toThrow(StartupError);
  });
});
