/** J: filling the read models in Redis from a log, compared with filling them in memory. */
import { endRedis, startRedis } from '../../support/redis/redis-server.ts';
import type { Bench } from '../bench.ts';
import { interleaved, middleOf } from '../measure.ts';
import { once } from './rebuild.ts';
import { rowOf } from '../table.ts';

const ROUNDS = 2;

export const benchRedisRebuild: Bench = async ({ million }) => {
  const { directory, events } = million;
  await million.log();
  const redis = await startRedis();
  try {
    const args = { directory, events };
    const intoRedis = async () => {
      await redis.control.flushall();
      return once('remote', { ...args, url: redis.url.href });
    };
    const taken = await interleaved(
      { redis: intoRedis, process: () => once('remote', args) },
      ROUNDS,
    );
    const measured = {
      id: 'J',
      what: `projecting ${events.toLocaleString('en')} events into Redis, vs in process`,
      value: middleOf(taken.redis, ({ perSecond }) => perSecond),
      unit: '1/s',
      control: middleOf(taken.process, ({ perSecond }) => perSecond),
    } as const;
    return [rowOf(measured, { of: 'ratio', atLeast: 0.6 })];
  } finally {
    await endRedis();
  }
};
