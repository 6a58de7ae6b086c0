/** Rows of a large partition in Redis, read in small commands while a projector commits to it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryStore } from '../../support/memory-read-model.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { PAGE_BYTES } from '#src/stores/redis/scripts.ts';
import { type PartitionBatch, partitionOf, type RemoteStore } from '#src/ports/read-model.ts';
import { until } from '../../support/clients/cli.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startRedis,
  type TestRedis,
} from '../../support/redis/redis-server.ts';

afterAll(endRedis);

const SPACE = 'things@1.1';
const SCOPE = 'giant';
const ROWS = 5_000;
const PARTITION = partitionOf(SCOPE);

/** The commit after `from`: a row that changes, one that goes, one that returns, one that is new, and their lists. */
const batchAfter = (from: number): PartitionBatch => {
  const rowOf = (n: number, list: string) => ({
    scope: SCOPE,
    key: `k${n}`,
    row: { n, from, text: 'x'.repeat(100) },
    sort: n,
    removed: [['old', n] as [string, number]],
    added: [[list, n] as [string, number]],
  });
  const [changed, gone] = [from % ROWS, (from * 7 + 1) % ROWS];
  return {
    partition: PARTITION,
    from,
    to: from + 1,
    writes: [
      rowOf(changed, 'changed'),
      ...(gone === changed
        ? []
        : [
            {
              scope: SCOPE,
              key: `k${gone}`,
              row: null,
              sort: gone,
              removed: [['old', gone] as [string, number]],
            },
          ]),
      rowOf(ROWS + from, 'new'),
    ],
  };
};
const FIRST: PartitionBatch = {
  partition: PARTITION,
  from: 0,
  to: 1,
  writes: Array.from({ length: ROWS }, (_, n) => ({
    scope: SCOPE,
    key: `k${n}`,
    row: { n, text: 'x'.repeat(100) },
    sort: n,
    added: [['old', n] as [string, number]],
  })),
};

describe.skipIf(!hasRedis)(`A partition of ${ROWS} rows, ${ON_REDIS},`, () => {
  let redis: TestRedis;
  let store: RemoteStore;
  let at = 0;
  const commit = async (batch: PartitionBatch): Promise<void> => {
    expect(await store.commit(SPACE, [batch])).toEqual(['committed']);
    at = batch.to;
  };

  beforeAll(async () => {
    redis = await startRedis();
    store = await redisStore({ url: redis.url, log: 'one' });
    await commit(FIRST);
  });
  afterAll(() => store.close());

  /** What a store in memory has after the commits up to `checkpoint`. */
  const expected = async (checkpoint: number) => {
    const memory = memoryStore();
    await memory.commit(SPACE, [FIRST]);
    for (let from = 1; from < checkpoint; from += 1) await memory.commit(SPACE, [batchAfter(from)]);
    return {
      digest: await memory.digest(SPACE, PARTITION),
      rows: (await memory.partitionRows(SPACE, PARTITION)).rows,
    };
  };
  /** Commits until `reading` ends; the number of commits. */
  const commitDuring = async (reading: Promise<unknown>): Promise<number> => {
    let isRead = false;
    void reading.finally(() => (isRead = true)).catch(() => {});
    const before = at;
    while (!isRead) await commit(batchAfter(at));
    return at - before;
  };
  const keyOf = async (): Promise<string | undefined> => (await redis.control.keys('*:before'))[0];

  it('A large partition in Redis is read as of the checkpoint at which the reading began, whatever is committed meanwhile', async () => {
    for (let round = 0; round < 3; round += 1) {
      const checking = store.check?.(SPACE, PARTITION);
      expect(await commitDuring(Promise.resolve(checking))).toBeGreaterThan(1);
      await checking;
      const read = await store.digest(SPACE, PARTITION);
      expect(read).toEqual((await expected(read.checkpoint)).digest);
    }
    const reading = store.partitionRows(SPACE, PARTITION);
    expect(await commitDuring(reading)).toBeGreaterThan(1);
    const { checkpoint, rows } = await reading;
    const byKey = (list: typeof rows) => list.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    expect(byKey(rows)).toEqual(byKey((await expected(checkpoint)).rows));
    expect(await keyOf()).toBeUndefined();
  });

  it('A large partition in Redis is read in commands that return at most a few hundred rows', async () => {
    await redis.control.config('RESETSTAT');
    await store.check?.(SPACE, PARTITION);
    const stats = await redis.control.info('commandstats');
    expect(Number(/cmdstat_hscan:calls=(\d+)/.exec(stats)?.[1])).toBeGreaterThan(ROWS / 300);
  });

  it('A large partition in Redis is read in commands of fewer rows where the rows are large', async () => {
    const text = 'x'.repeat(20_000);
    const writes = Array.from({ length: 200 }, (_, n) => ({
      scope: SCOPE,
      key: `k${n}`,
      row: { text },
      sort: null,
    }));
    await store.commit('large@1.1', [{ partition: PARTITION, from: 0, to: 1, writes }]);
    await redis.control.config('RESETSTAT');
    await store.check?.('large@1.1', PARTITION);
    const stats = await redis.control.info('commandstats');
    const parts = Number(/cmdstat_hscan:calls=(\d+)/.exec(stats)?.[1]);
    expect(parts).toBeGreaterThan((200 * text.length) / (4 * PAGE_BYTES));
  });

  it('A large partition in Redis is read by two readers, one after the other', async () => {
    const [one, two] = await Promise.all([
      store.partitionRows(SPACE, PARTITION),
      store.partitionRows(SPACE, PARTITION),
    ]);
    expect(one).toEqual(two);
  });

  it('A large partition in Redis is not blocked by a reader that died', async () => {
    const other = await redisStore({ url: redis.url, log: 'one' });
    const reading = other.partitionRows(SPACE, PARTITION).catch(() => undefined);
    let key: string | undefined;
    expect(await until(async () => (key = await keyOf()) !== undefined)).toBe(true);
    await other.close();
    await reading;
    const left = await redis.control.pttl(key ?? '');
    expect(left).not.toBe(-1);
    await commit(batchAfter(at));
    await redis.control.del(key ?? '');
    expect((await store.partitionRows(SPACE, PARTITION)).checkpoint).toBe(at);
  });
});
