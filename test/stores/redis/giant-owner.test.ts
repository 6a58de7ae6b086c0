import { afterAll, expect, test } from 'vitest';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { PAGE_BYTES } from '#src/stores/redis/scripts.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { endRedis, hasRedis, ON_REDIS, startRedis } from '../../support/redis/redis-server.ts';
import { remoteReadersOf } from '../../support/world/readers.ts';
import { HANG_MS } from '../../support/hang.ts';

afterAll(endRedis);

const SPACE = 'things@1.1';
const GIANT_ROWS = 20_000;
const SMALL_OWNERS = 100;

test.skipIf(!hasRedis)(
  `Redis answers a hundred small owners between the parts of a list of 20,000 large rows, ${ON_REDIS}`,
  async () => {
    const { url, control } = await startRedis();
    const store = await redisStore({ url, log: 'one', readMs: HANG_MS });
    const checkpoints = await store.checkpoints(SPACE);
    const put = async (scope: string, first: number, count: number): Promise<void> => {
      const partition = partitionOf(scope);
      const from = checkpoints[partition] ?? 0;
      const writes = Array.from({ length: count }, (_, i) => {
        const sort = first + i;
        return { scope, key: `k${sort}`, row: { sort, text: 'x'.repeat(1_000) }, sort };
      });
      checkpoints[partition] = from + 1;
      await store.commit(SPACE, [{ partition, from, to: from + 1, writes }]);
    };
    for (let first = 0; first < GIANT_ROWS; first += 500) await put('giant', first, 500);
    const small = Array.from({ length: SMALL_OWNERS }, (_, n) => `small${n}`);
    for (const scope of small) await put(scope, 0, 5);
    await store.goLive(SPACE);
    await control.config('RESETSTAT');
    const readers = remoteReadersOf(store);
    let isDone = false;
    const giant = readers
      .list('things', { scope: 'giant', limit: GIANT_ROWS })
      .finally(() => (isDone = true));
    let reads = 0;
    while (!isDone) {
      const pages = small.map((scope, n) =>
        readers.list('things', { scope, before: 1 + ((reads + n) % 5), limit: 5 }),
      );
      for (const page of await Promise.all(pages)) expect(page.length).toBeGreaterThan(0);
      reads += SMALL_OWNERS;
    }
    expect((await giant).map(({ sort }) => sort)).toEqual(
      Array.from({ length: GIANT_ROWS }, (_, i) => GIANT_ROWS - 1 - i),
    );
    expect(reads).toBeGreaterThan(SMALL_OWNERS);
    // The giant's rows were sent in many parts, between which Redis answered the others.
    const stats = await control.info('commandstats');
    const scripts = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    expect(scripts).toBeGreaterThanOrEqual((GIANT_ROWS * 1_000) / PAGE_BYTES);
    await store.close();
  },
);
