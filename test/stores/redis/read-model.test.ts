import { afterAll, beforeAll, describe } from 'vitest';
import { redisStore } from '#src/stores/redis/read-model.ts';
import type { RemoteStore } from '#src/ports/read-model.ts';
import { readModelConformance } from '../../conformance/read-model.ts';
import { remoteReadersOf } from '../../support/world/readers.ts';
import type { TestRedis } from '../../support/redis/redis-server.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startCluster,
  startRedis,
} from '../../support/redis/redis-server.ts';
import { HANG_MS } from '../../support/hang.ts';

let logs = 0;

/** Each test has its own log, and so its own keys. */
const conformance = (name: string, urlOf: () => URL, killed?: () => Promise<void>): void =>
  readModelConformance(
    name,
    async () => {
      const log = `log-${(logs += 1)}`;
      const stores: RemoteStore[] = [];
      const open = async () => {
        const store = await redisStore({ url: urlOf(), log, readMs: HANG_MS });
        stores.push(store);
        return { store, readModels: remoteReadersOf(store) };
      };
      return {
        ...(await open()),
        reopenAfterKill: async () => {
          await killed?.();
          return open();
        },
        cleanup: async () => {
          for (const store of stores) await store.close();
        },
      };
    },
    { outlives: true },
  );

describe.skipIf(!hasRedis)(`A single Redis, ${ON_REDIS}`, () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  });
  afterAll(endRedis);
  conformance(
    'redis',
    () => redis.url,
    async () => {
      await redis.kill();
      await redis.start();
    },
  );
});

describe.skipIf(!hasRedis)(`A Redis cluster of three, ${ON_REDIS}`, () => {
  let nodes: TestRedis[];
  beforeAll(async () => {
    nodes = await startCluster();
  });
  afterAll(endRedis);
  conformance('redis cluster', () => nodes[1]?.url ?? new URL('redis://none'));
});
