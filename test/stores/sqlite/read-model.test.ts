import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openBuild, filesOf } from '#src/stores/sqlite/rows/read-model-file.ts';
import { sqliteStore, type SqliteStoreOptions } from '#src/stores/sqlite/rows/read-model.ts';
import {
  type LocalStore,
  partitionOf,
  ReadModelRebuilding,
  type RowWrite,
  RowsUnwritable,
} from '#src/ports/read-model.ts';
import { readModelConformance } from '../../conformance/read-model.ts';
import { directories } from '../../support/processes/directories.ts';
import { readersOf } from '../../support/world/readers.ts';

const temporary = directories('tributary-rows-');
afterAll(() => temporary.removeAll());

const SPACE = 'things@1.1';
const PARTITION = partitionOf('anna');

/** Has every commit of this process fail as on a full disk, until it is emptied. */
const fullDisk = () => {
  const original = DatabaseSync.prototype.exec;
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    sql: string,
  ) {
    if (sql === 'COMMIT')
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    original.call(this, sql);
  });
  const empty = (): void => exec.mockRestore();
  return { empty, [Symbol.dispose]: empty };
};

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
    const stores = [sqliteStore({ file })];
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

readModelConformance('sqlite, without a cache', async () => {
  const store = sqliteStore({ file: join(temporary.fresh(), 'rows.db'), cacheRowsMax: 0 });
  return { store, readModels: readersOf(store), cleanup: () => store.close() };
});

describe('The file of the read models', () => {
  let file: string;
  let discarded: string[];
  beforeEach(() => {
    file = join(temporary.fresh(), 'rows.db');
    discarded = [];
  });
  const open = (options: Partial<SqliteStoreOptions> = {}) =>
    sqliteStore({ file, onDiscarded: (reason) => discarded.push(reason), ...options });
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

  test("The read models' file gets all commits of a turn in one transaction, before they are answered", async () => {
    const store = open();
    await store.goLive(SPACE);
    using exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    const commits = Array.from({ length: 5 }, (_, n) => commit(store, n));
    expect(await Promise.all(commits)).toEqual(commits.map(() => ['committed']));
    expect(exec.mock.calls.filter(([sql]) => sql === 'COMMIT')).toHaveLength(1);
    expect(await written()).toBe(5);
    await store.close();
  });

  test("The read models' file undoes a turn that the disk has no space for, and takes it later", async () => {
    const store = open();
    await store.goLive(SPACE);
    await commit(store, 0);
    using disk = fullDisk();
    const failed = [commit(store, 1), commit(store, 2)];
    for (const each of failed) await expect(each).rejects.toThrow(RowsUnwritable);
    expect(() => store.peek(SPACE, 'anna', 'k0')).toThrow(ReadModelRebuilding);
    expect(() => store.list(SPACE, { scope: 'anna', limit: 9 })).toThrow(ReadModelRebuilding);
    expect((await store.checkpoints(SPACE))[PARTITION]).toBe(1);
    disk.empty();
    expect(await commit(store, 1)).toEqual(['committed']);
    expect(store.peek(SPACE, 'anna', 'k0')).toMatchObject({ n: 0 });
    expect(store.list(SPACE, { scope: 'anna', limit: 9 })).toHaveLength(2);
    await store.check?.(SPACE, PARTITION);
    expect(await written()).toBe(2);
    await store.close();
  });

  test("The read models' file leaves read models that are kept in memory while the disk is full, and gets them with the next commit", async () => {
    const OTHERS = 'others@1.1';
    const store = open({ kept: ['things'] });
    for (const space of [SPACE, OTHERS]) await store.goLive(space);
    await commit(store, 0, 2);
    using disk = fullDisk();
    const batch = (from: number, writes: RowWrite[]) => [
      { partition: PARTITION, from, to: from + 1, writes },
    ];
    const revoked = { scope: 'anna', key: 'k0', row: { n: 'revoked' }, sort: null };
    const gone = { scope: 'anna', key: 'k1', row: null, sort: null };
    expect(await store.commit(SPACE, batch(2, [revoked]))).toEqual(['committed']);
    expect(await store.commit(SPACE, batch(2, [gone]))).toEqual(['stale']);
    expect(await store.commit(SPACE, batch(3, [gone]))).toEqual(['committed']);
    await expect(store.commit(OTHERS, batch(0, []))).rejects.toThrow(RowsUnwritable);
    expect(store.peek(SPACE, 'anna', 'k0')).toEqual({ n: 'revoked' });
    expect(store.peek(SPACE, 'anna', 'k1')).toBeUndefined();
    expect((await store.checkpoints(SPACE))[PARTITION]).toBe(4);
    expect(() => store.peek(OTHERS, 'anna', 'k0')).toThrow(ReadModelRebuilding);
    disk.empty();
    expect(await written()).toBe(2);
    expect(await store.commit(OTHERS, batch(0, []))).toEqual(['committed']);
    expect(await written()).toBe(4);
    expect(store.peek(SPACE, 'anna', 'k0')).toEqual({ n: 'revoked' });
    await store.check?.(SPACE, PARTITION);
    expect(await store.count(SPACE)).toBe(1);
    await store.close();
  });

  test("The read models' file that is found damaged in a turn undoes the commits of the turn", async () => {
    const store = open({ cacheRowsMax: 0 });
    await store.goLive(SPACE);
    await commit(store, 0);
    const pending = commit(store, 1);
    {
      using get = vi.spyOn(StatementSync.prototype, 'get').mockImplementation(() => {
        throw Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
      });
      expect(() => store.peek(SPACE, 'anna', 'k0')).toThrow(ReadModelRebuilding);
      expect(get).toHaveBeenCalled();
    }
    await expect(pending).rejects.toThrow(ReadModelRebuilding);
    expect(discarded).toHaveLength(1);
    expect(await commit(store, 0)).toEqual(['committed']);
    await store.close();
  });

  test("The read models' file gives way to that of a build when the last of its spaces is dropped", async () => {
    const next = 'things@1.2';
    const store = open();
    await store.goLive(SPACE);
    await commit(store, 0, 600);
    const build = store.beginBuild([next]) ?? '';
    expect(filesOf(file)).toEqual([file, build]);
    const rows = [{ scope: 'anna', key: 'k0', row: { n: 'new' }, sort: null }];
    {
      using filled = openBuild(build, new SharedArrayBuffer(4));
      expect(filled.emptyPartitions(next).size).toBe(64);
      filled.fillPartition(next, PARTITION, { position: 600, rows });
      expect(filled.emptyPartitions(next).size).toBe(63);
    }
    store.endBuild(build);
    expect((await store.checkpoints(next))[PARTITION]).toBe(600);
    await store.goLive(next);
    expect(store.live('things')).toBe(next);
    await store.close();

    const again = open();
    expect(again.live('things')).toBe(next);
    expect(again.peek(next, 'anna', 'k0')).toEqual({ n: 'new' });
    // A fill that continues writes there, and not where a space is live.
    expect(again.beginBuild([next])).toBeUndefined();
    await again.drop(SPACE);
    expect(filesOf(file)).toEqual([build]);
    expect(await again.spaces('things')).toEqual({ live: next, all: [next] });
    await again.close();
  });

  test("The read models' file shows no change of a row that was loaded and never committed", async () => {
    const store = open();
    await store.goLive(SPACE);
    await commit(store, 0);
    const [row] = (await store.load(SPACE, [{ scope: 'anna', key: 'k0' }])) ?? [];
    Object.assign(row ?? {}, { n: 'changed' });
    expect(store.peek(SPACE, 'anna', 'k0')).toMatchObject({ n: 0 });
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
