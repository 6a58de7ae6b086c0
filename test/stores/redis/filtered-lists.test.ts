import { afterAll, beforeAll, describe } from 'vitest';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { filteredListConformance } from '../../conformance/filtered-lists.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startRedis,
  type TestRedis,
} from '../../support/redis/redis-server.ts';
import { LISTED } from '../../support/oracle/listed-leads.ts';
import { remoteReadersOf } from '../../support/world/readers.ts';
import { HANG_MS } from '../../support/hang.ts';

describe.skipIf(!hasRedis)(`A single Redis, ${ON_REDIS}`, () => {
  let redis: TestRedis;
  let logs = 0;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(endRedis);

  filteredListConformance(
    'redis',
    async () => {
      const log = `lists-${(logs += 1)}`;
      const store = await redisStore({ url: redis.url, log, projections: LISTED, readMs: HANG_MS });
      const close = async () => {
        await store.close();
      };
      return { store, readModels: remoteReadersOf(store, LISTED), close };
    },
    { numRuns: 6 },
  );
});
