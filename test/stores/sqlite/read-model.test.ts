import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { sqliteStore, type SqliteStoreOptions } from '#src/stores/sqlite/rows/read-model.ts';
import { type LocalStore, partitionOf } from '#src/ports/read-model.ts';
import { readModelConformance } from '../../conformance/read-model.ts';
import { directories } from '../../support/processes/directories.ts';
import { readersOf } from '../../support/world/readers.ts';

const temporary = directories('tributary-rows-');
afterAll(() => temporary.removeAll());

const SPACE = 'things@1.1';
const PARTITION = partitionOf('anna');

/** Copies the file and its write-ahead log as a kill at this moment would leave them. */
const copyOf = (file: string): string => {
  const copy = `${file}.copy`;
  for (const suffix of ['', '-wal'])
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
  return copy;
};

readModelConformance(
  'sqlite',
  async () => {
    const file = join(temporary.fresh(), 'rows.db');
    const stores = [sqliteStore({ file, schedule: () => () => {} })];
    return {
      store: stores[0] as LocalStore,
      readModels: readersOf(stores[0] as LocalStore),
      reopenAfterKill: async () => {
        const store = sqliteStore({ file: copyOf(file) });
        stores.push(store);
        return { store, readModels: readersOf(store) };
      },
      cleanup: async () => {
        for (const store of stores) await store.close();
      },
    };
  },
  { outlives: true },
);

readModelConformance('sqlite, every row to the file and no cache', async () => {
  const store = sqliteStore({
    file: join(temporary.fresh(), 'rows.db'),
    flushRowsMax: 1,
    cacheRowsMax: 0,
  });
  return { store, readModels: readersOf(store), cleanup: () => store.close() };
});

describe('The file of the read models', () => {
  let file: string;
  let scheduled: (() => void)[];
  let discarded: string[];
  beforeEach(() => {
    file = join(temporary.fresh(), 'rows.db');
    scheduled = [];
    discarded = [];
  });
  const open = (options: Partial<SqliteStoreOptions> = {}) =>
    sqliteStore({
      file,
      schedule: (flush) => {
        scheduled.push(flush);
        return () => {};
      },
      onDiscarded: (reason) => discarded.push(reason),
      ...options,
    });
  const commit = (store: LocalStore, from: number, count = 1) =>
    store.commit(SPACE, [
      {
        partition: PARTITION,
        from,
        to: from + count,
        writes: Array.from({ length: count }, (_, i) => ({
          scope: 'anna',
          key: `k${from + i}`,
          row: { n: from + i, text: 'x'.repeat(100) },
          sort: from + i,
        })),
      },
    ]);
  const written = async (): Promise<number> => {
    const copy = sqliteStore({ file: copyOf(file) });
    const reached = (await copy.checkpoints(SPACE))[PARTITION] ?? 0;
    await copy.close();
    return reached;
  };

  test.each([
    ['a row', 1],
    ['a block of rows', 100],
  ])("The read models' file adds %s without reading the file for each", async (_what, count) => {
    using get = vi.spyOn(StatementSync.prototype, 'get');
    const rowsRead = () => {
      const statements = get.mock.contexts as StatementSync[];
      return statements.filter(({ sourceSQL }) => sourceSQL.includes('FROM rows')).length;
    };
    const store = open();
    await commit(store, 0, count);
    await store.flush();
    expect(rowsRead()).toBe(0);
    await store.close();
    get.mockClear();

    // At least one of these exists, and the next store has read neither.
    const next = open();
    const writes = [
      { scope: 'anna', key: 'k0', row: { n: 'changed' }, sort: 5 },
      { scope: 'anna', key: 'k1', row: null, sort: null },
    ];
    await next.commit(SPACE, [{ partition: PARTITION, from: count, to: count + 1, writes }]);
    await next.flush();
    expect(rowsRead()).toBe(2);
    await next.check?.(SPACE, PARTITION);
    expect(await next.count(SPACE)).toBe(Math.max(1, count - 1));
    expect(discarded).toEqual([]);
    await next.close();
  });

  test("The read models' file gives the rows of a partition as of one checkpoint while they are written, added and removed", async () => {
    const store = open({ cacheRowsMax: 0 });
    const rows = new Map<string, string>();
    /** The rows by checkpoint. */
    const moments: Map<string, string>[] = [new Map()];
    const change = async (changes: [key: string, row: object | null][]): Promise<void> => {
      const from = moments.length - 1;
      for (const [key, row] of changes)
        if (row) rows.set(key, JSON.stringify(row));
        else rows.delete(key);
      moments.push(new Map(rows));
      const writes = changes.map(([key, row]) => ({ scope: 'anna', key, row, sort: null }));
      await store.commit(SPACE, [{ partition: PARTITION, from, to: from + 1, writes }]);
    };
    await change(Array.from({ length: 6_000 }, (_, n) => [`k${n}`, { n }]));
    await store.flush();
    // Rows by themselves, which are read first.
    for (let n = 0; n < 6_000; n += 100) await change([[`k${n}`, { n, text: ',"}' }]]);
    let isRead = false;
    const reading = store.partitionRows(SPACE, PARTITION).finally(() => (isRead = true));
    for (let n = 0; !isRead; n += 1) {
      await change([
        [`k${(n * 1_117) % 6_000}`, { changed: n }],
        [`k${(n * 1_301 + 7) % 6_000}`, null],
        [`new${n}`, { added: n }],
      ]);
      if (n % 2 === 0) await store.flush();
      await turn();
    }
    const { checkpoint, rows: found } = await reading;
    // Several changes were written while the rows were read.
    expect(moments.length).toBeGreaterThan(checkpoint + 5);
    expect(new Map(found.map(({ key, json }) => [key, json]))).toEqual(moments[checkpoint]);
    await store.close();
  });

  test("The read models' file gets the changes of memory with one scheduled flush", async () => {
    const store = open();
    await store.goLive(SPACE);
    for (let n = 0; n < 5; n++) await commit(store, n);
    expect(scheduled).toHaveLength(1);
    expect(await written()).toBe(0);
    scheduled[0]?.();
    expect(await written()).toBe(5);
    await commit(store, 5);
    expect(scheduled).toHaveLength(2);
    await store.close();
    expect(await written()).toBe(6);
  });

  test("The read models' file gets the changes at once if there are too many rows", async () => {
    const store = open({ flushRowsMax: 10 });
    await store.goLive(SPACE);
    await commit(store, 0, 9);
    expect(await written()).toBe(0);
    await commit(store, 9, 1);
    expect(await written()).toBe(10);
    await store.close();
  });

  test("The read models' file gets many changes over several turns, each partition as a whole", async () => {
    const store = open();
    await store.goLive(SPACE);
    const scopes = Array.from({ length: 400 }, (_, n) => `owner${n}`);
    for (const [n, scope] of scopes.entries()) {
      const partition = partitionOf(scope);
      const from = (await store.checkpoints(SPACE))[partition] ?? 0;
      const writes = [0, 1, 2].map((key) => ({ scope, key: `k${key}`, row: { n }, sort: null }));
      await store.commit(SPACE, [{ partition, from, to: from + 3, writes }]);
    }
    /** Counts the rows in the file; fails if a partition does not match its checkpoint. */
    const rowsWritten = async (): Promise<number> => {
      const copy = sqliteStore({ file: copyOf(file) });
      let total = 0;
      for (const [partition, reached] of (await copy.checkpoints(SPACE)).entries()) {
        const { rows } = await copy.digest(SPACE, partition);
        expect(rows).toBe(reached);
        total += rows;
      }
      await copy.close();
      return total;
    };
    scheduled[0]?.();
    const first = await rowsWritten();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(600);
    for (let turns = 0; turns < 20 && (await rowsWritten()) < 1_200; turns++) await turn();
    expect(await rowsWritten()).toBe(1_200);
    await store.close();
  });

  test("The read models' file gets the rows of a space that is being filled together, once they are many", async () => {
    const store = open({ fillRowsMax: 100 });
    await commit(store, 0, 99);
    expect(scheduled).toEqual([]);
    expect(await written()).toBe(0);
    await commit(store, 99, 1);
    expect(await written()).toBe(100);
    await commit(store, 100, 5);
    await store.goLive(SPACE);
    expect(await written()).toBe(105);
    await store.close();
  });

  test("The read models' file gets the partitions of all spaces that are being filled in turn", async () => {
    const store = open({ fillRowsMax: 500 });
    const spaces = [SPACE, 'others@1.1'];
    const add = async (space: string, count: number): Promise<number[]> => {
      const from = (await store.checkpoints(space))[PARTITION] ?? 0;
      const keys = Array.from({ length: count }, (_, n) => `k${from + n}`);
      const writes = keys.map((key) => ({ scope: 'anna', key, row: {}, sort: null }));
      await store.commit(space, [{ partition: PARTITION, from, to: from + count, writes }]);
      const copy = sqliteStore({ file: copyOf(file) });
      const reached = await Promise.all(spaces.map((one) => copy.checkpoints(one)));
      await copy.close();
      return reached.map((checkpoints) => checkpoints[PARTITION] ?? 0);
    };
    expect(await add(SPACE, 300)).toEqual([0, 0]);
    expect(await add('others@1.1', 300)).toEqual([300, 0]);
    expect(await add(SPACE, 250)).toEqual([300, 300]);
    expect(await add('others@1.1', 300)).toEqual([550, 300]);
    await store.close();
  });

  test("The read models' file answers rows that memory has evicted", async () => {
    const store = open({ cacheRowsMax: 10 });
    await commit(store, 0, 100);
    await store.flush();
    expect(store.list(SPACE, { scope: 'anna', limit: 100 })).toHaveLength(100);
    for (let n = 0; n < 100; n++) expect(store.peek(SPACE, 'anna', `k${n}`)).toMatchObject({ n });
    await store.close();
  });

  test("The read models' file keeps rows in memory that were read, except large ones", async () => {
    const rows = { small: 'x', large: 'x'.repeat(40_000) };
    const first = open();
    const writes = Object.entries(rows).map(([key, text]) => ({
      scope: 'anna',
      key,
      row: { text },
      sort: 1,
    }));
    await first.commit(SPACE, [{ partition: PARTITION, from: 0, to: 1, writes }]);
    await first.close();
    const store = open();
    const read = (key: string) => store.peek(SPACE, 'anna', key);
    expect(store.list(SPACE, { scope: 'anna', limit: 2 })).toHaveLength(2);
    expect(read('small')).toBe(read('small'));
    expect(read('large')).not.toBe(read('large'));
    expect(read('large')).toEqual({ text: rows.large });
    await store.close();
  });

  test("The read models' file is replaced if it has another version or belongs to another log", async () => {
    await (await filled({ log: 'one' })).close();
    await open({ log: 'one' }).close();
    expect(discarded).toEqual([]);
    await open({ log: 'two' }).close();
    expect(discarded).toEqual(['it belongs to another log']);
    const db = new DatabaseSync(file);
    db.exec('PRAGMA user_version = 99');
    db.close();
    const store = open({ log: 'two' });
    expect(discarded.at(-1)).toBe('it has another version');
    expect(await store.spaces('things')).toEqual({ live: null, all: [] });
    await store.close();
  });

  test("The read models' file is replaced if it is not a database", async () => {
    writeFileSync(
      file,
      'something else entirely, and long enough to be looked at twice'.repeat(100),
    );
    const store = open();
    expect(discarded).toHaveLength(1);
    expect(await commit(store, 0)).toEqual(['committed']);
    await store.close();
  });

  test("The read models' file is replaced if damage is found while it is in use", async () => {
    await (await filled()).close();
    const bytes = readFileSync(file);
    // Pages after the schema: the file opens, but its rows cannot be read.
    bytes.fill(0xa5, 8 * 4_096);
    writeFileSync(file, bytes);
    const store = open();
    for (let n = 0; n < 2_000 && discarded.length === 0; n++) store.peek(SPACE, 'anna', `k${n}`);
    expect(discarded).toHaveLength(1);
    expect(await store.spaces('things')).toEqual({ live: null, all: [] });
    expect((await store.checkpoints(SPACE))[PARTITION]).toBe(0);
    expect(await commit(store, 0)).toEqual(['committed']);
    await store.close();
  });

  const filled = async (options: Partial<SqliteStoreOptions> = {}): Promise<LocalStore> => {
    const store = open(options);
    await commit(store, 0, 2_000);
    await store.goLive(SPACE);
    return store;
  };
});
