/** A changed bit in each kind of value in Redis: no reader gets a changed row, and a check of the partition finds it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keysOf, type PartitionKeys } from '#src/stores/redis/scripts.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import {
  partitionOf,
  ReadModelRebuilding,
  type RemoteRead,
  type RemoteStore,
} from '#src/ports/read-model.ts';
import { HANG_MS } from '../../support/hang.ts';
import {
  endRedis,
  hasRedis,
  ON_REDIS,
  startRedis,
  type TestRedis,
} from '../../support/redis/redis-server.ts';

const SCOPE = 'anna';
const PARTITION = partitionOf(SCOPE);
/** Hexadecimal letters in the sort positions, which are equal as numbers in both cases. */
const SORTS = [0xabcdefabcdef, 0xfedcbafedcba, null];
const WRITES = SORTS.map((sort, n) => ({
  scope: SCOPE,
  key: `k${n}`,
  row: { n, text: 'größer' },
  sort,
  added: [['even', 0xdecadefacade + n] as [string, number]],
}));
/** Coprime to 8: at least one bit of each byte, and each bit of some bytes. */
const STEP_BITS = 5;
/** `absent`: a row that exists is not answered, which only a check of its partition can notice. */
type Answer = 'right' | 'rebuilding' | 'absent' | 'wrong';

type Flip = (keys: PartitionKeys, bit: number) => Promise<unknown>;

/** Flips one bit of a text, and keeps its length. */
const flipped = (bytes: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(bytes);
  const at = bit >> 3;
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit & 7));
  return copy;
};

describe.skipIf(!hasRedis)(`A partition in Redis with a changed bit, ${ON_REDIS},`, () => {
  let redis: TestRedis;
  let store: RemoteStore;
  let builds = 0;
  let reasons: string[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    const onDiscarded = (reason: string): void => void reasons.push(reason);
    store = await redisStore({ url: redis.url, log: 'one', readMs: HANG_MS, onDiscarded });
  });
  afterAll(async () => {
    await store.close();
    await endRedis();
  });

  /** The rows of an answer as text. The place of a row in a list is not compared: only a check can tell. */
  const rowsOf = (value: unknown): string[] => {
    if (value === undefined) return [];
    const page = value as { rows?: { row: unknown; key: string }[] };
    return page.rows?.map(({ row, key }) => JSON.stringify([key, row])) ?? [JSON.stringify(value)];
  };
  const answerOf = async (
    ask: () => Promise<RemoteRead<unknown>>,
    right: readonly string[],
  ): Promise<Answer> => {
    try {
      const { checkpoint, value } = await ask();
      if (checkpoint === undefined) return 'rebuilding';
      const rows = rowsOf(value);
      if (!rows.every((row) => right.includes(row))) return 'wrong';
      return rows.length === right.length ? 'right' : 'absent';
    } catch (error) {
      if (error instanceof ReadModelRebuilding) return 'rebuilding';
      throw error;
    }
  };
  const listed = WRITES.map(({ key, row }) => JSON.stringify([key, row]));
  const answers = (): Promise<Answer[]> =>
    Promise.all([
      ...WRITES.map(({ key, row }) =>
        answerOf(() => store.find('things', SCOPE, key), [JSON.stringify(row)]),
      ),
      answerOf(() => store.page('things', { scope: SCOPE, limit: 9 }), listed.slice(0, 2)),
      answerOf(() => store.page('things', { scope: SCOPE, list: 'even', limit: 9 }), listed),
    ]);

  /** Fills a space, which no answer is cached of, and flips a bit in it. */
  const fillAndFlip = async (flip: Flip, bit: number): Promise<string> => {
    const space = `things@1.${(builds += 1)}`;
    await store.commit(space, [{ partition: PARTITION, from: 0, to: 1, writes: WRITES }]);
    await store.goLive(space);
    const keys = keysOf('one');
    const id = (await redis.control.hget(keys.spaces, `id:${space}`)) ?? '';
    await flip(keys.partition(id, PARTITION), bit);
    reasons = [];
    return space;
  };
  const fieldOf = (key: string) => `${SCOPE}\0${key}`;
  const flipField =
    (index: 0 | 1, field: string): Flip =>
    async (keys, bit) => {
      const value = (await redis.control.hgetBuffer(keys[index], field)) ?? Buffer.alloc(0);
      await redis.control.hset(keys[index], field, flipped(value, bit));
    };
  const flipName =
    (field: string): Flip =>
    async ([, rows], bit) => {
      const value = (await redis.control.hgetBuffer(rows, field)) ?? Buffer.alloc(0);
      await redis.control.hdel(rows, field);
      await redis.control.hset(rows, new Map([[flipped(Buffer.from(field), bit), value]]));
    };
  const flipMember =
    (member: string): Flip =>
    async ([, , order], bit) => {
      await redis.control.zrem(order, member);
      await redis.control.zadd(order, 0, flipped(Buffer.from(member), bit));
    };
  const json = JSON.stringify(WRITES[0]?.row);
  const bytesOfHead = { at: 14, rows: 1, placed: 1, sum: 12 };
  const sorted = `${SCOPE}\0${(0xabcdefabcdef).toString(16).padStart(14, '0')}\0k0`;
  const inList = `${SCOPE}\u0001even\0${(0xdecadefacade).toString(16).padStart(14, '0')}\0k0`;

  test('A partition in Redis without a changed bit passes the check', async () => {
    const space = await fillAndFlip(async () => {}, 0);
    await store.check?.(space, PARTITION);
    expect(new Set(await answers())).toEqual(new Set(['right']));
    expect(reasons).toEqual([]);
  });

  test.each<[what: string, bytes: number, flip: Flip]>([
    ['a row', 12 + 14 + Buffer.byteLength(json), flipField(1, fieldOf('k0'))],
    ['a row without a sort key', 12 + Buffer.byteLength(json), flipField(1, fieldOf('k2'))],
    ['the name of a row', fieldOf('k0').length, flipName(fieldOf('k0'))],
    ['an entry of the list of all rows', sorted.length, flipMember(sorted)],
    ['an entry of another list', inList.length, flipMember(inList)],
    ...Object.entries(bytesOfHead).map(([field, bytes]): [string, number, Flip] => [
      `the field ${field} of the checkpoint`,
      bytes,
      flipField(0, field),
    ]),
  ])(
    'A changed bit of %s in Redis is found by a check, and no reader gets a changed row',
    async (_, bytes, flip) => {
      for (let bit = 0; bit < bytes * 8; bit += STEP_BITS) {
        const space = await fillAndFlip(flip, bit);
        expect(await answers(), `bit ${bit}`).not.toContain('wrong');
        // Also reports a checkpoint that does not fit.
        await store.checkpoints(space);
        await store.check?.(space, PARTITION).catch(() => {});
        expect(new Set(await answers()), `bit ${bit}`).toEqual(new Set(['rebuilding']));
        expect(reasons, `bit ${bit}`).toEqual([
          expect.stringMatching(new RegExp(`^${space}, partition ${PARTITION}: `)),
        ]);
        await store.drop(space);
      }
    },
  );

  test('A changed bit of the score of an entry in Redis is found by a check', async () => {
    const space = await fillAndFlip(([, , order]) => redis.control.zadd(order, 'XX', 2, inList), 0);
    await expect(store.check?.(space, PARTITION)).rejects.toThrow(ReadModelRebuilding);
    expect(new Set(await answers())).toEqual(new Set(['rebuilding']));
  });
});
