/** A cache is rebuilt after a power cut, which can lose its pages, but after a kill only if what it left is damaged. */
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { closeMarked, MARK_TABLE, markOpened } from '#src/stores/sqlite/rows/cache-mark.ts';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { directories } from '../../support/processes/directories.ts';
import { content, history } from '../../support/world/products.ts';

const { fresh, removeAll } = directories('cache-mark-');
afterAll(removeAll);

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT = existsSync(BOOT_ID) ? readFileSync(BOOT_ID, 'utf8').trim() : '';
const EARLIER = '0'.repeat(BOOT.length);
const STOPPED = 'the machine stopped while it was open';
const PAGE = 4_096;

const pagesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: bytes.length / PAGE }, (_, n) => bytes.subarray(n * PAGE, (n + 1) * PAGE));

/** Returns `after` without one of its changed pages, each in turn. The mark is still in the file. */
const cut = (before: Buffer, after: Buffer): Buffer[] => {
  const [old, now] = [pagesOf(before), pagesOf(after)];
  const changed = [...now.keys()].filter((n) => old[n] && !now[n]?.equals(old[n]));
  const isMark = (n: number): boolean => old[n]?.includes(BOOT) === true;
  const lost = changed.filter((n) => !isMark(n));
  expect(lost.length).toBeGreaterThan(1);
  return lost.map((gone) =>
    Buffer.concat(now.map((page, n) => (n === gone || isMark(n) ? (old[n] ?? page) : page))),
  );
};

/** Returns the bytes as if the machine had been restarted since. */
const afterStart = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('latin1').replaceAll(BOOT, EARLIER), 'latin1');

const heldBy = (file: string): string[] => {
  const db = new DatabaseSync(file);
  const marks = db.prepare('SELECT boot FROM opened').all() as { boot: string }[];
  db.close();
  return marks.map(({ boot }) => boot);
};

const copied = (file: string, to: (bytes: Buffer) => Buffer = (bytes) => bytes): string => {
  const copy = join(fresh(), 'copy.db');
  writeFileSync(copy, to(readFileSync(file)));
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
  return copy;
};

describe.skipIf(BOOT === '')('A cache of the log', () => {
  const SPACE = 'credentials@1.1';
  const PARTITION = partitionOf('anna');

  const rows = (file: string) => {
    const discarded: string[] = [];
    const store = sqliteStore({ file, onDiscarded: (reason) => discarded.push(reason) });
    const write = async (from: number, status: string) => {
      const row = { scope: 'anna', key: 'key', row: { status }, sort: null };
      await store.commit(SPACE, [{ partition: PARTITION, from, to: from + 10, writes: [row] }]);
      await store.goLive(SPACE);
    };
    return { store, discarded, write };
  };

  /** Stores a key that was active when its file was closed, and has been revoked since. */
  const revoked = async () => {
    const file = join(fresh(), 'views.db');
    const first = rows(file);
    await first.write(0, 'active');
    await first.store.close();
    const second = rows(file);
    const before = readFileSync(file);
    await second.write(10, 'revoked');
    return { file, before, ...second };
  };

  test('A cache of the log is rebuilt when a page can be missing after a restart of the machine', async () => {
    const { file, before, store } = await revoked();
    await store.close();
    for (const bytes of cut(before, readFileSync(file))) {
      const left = join(fresh(), 'left.db');
      writeFileSync(left, afterStart(bytes));
      const opened = rows(left);
      expect(opened.discarded).toEqual([STOPPED]);
      expect(await opened.store.spaces('credentials')).toEqual({ live: null, all: [] });
      expect((await opened.store.checkpoints(SPACE))[PARTITION]).toBe(0);
      expect(opened.store.peek(SPACE, 'anna', 'key')).toBeUndefined();
      await opened.write(0, 'revoked');
      await opened.store.close();
      expect(heldBy(left)).toEqual([]);
    }
  });

  test('A cache of the log is marked on the disk before it changes, and keeps its rows when only its process was killed', async () => {
    const { file, before, store } = await revoked();
    expect(before.includes(BOOT)).toBe(true);
    const killed = rows(copied(file));
    expect(killed.discarded).toEqual([]);
    expect((await killed.store.checkpoints(SPACE))[PARTITION]).toBe(20);
    expect(killed.store.peek(SPACE, 'anna', 'key')).toEqual({ status: 'revoked' });
    await killed.store.close();
    await store.close();
  });

  test('A cache of the log has no mark after it was closed properly', async () => {
    const { file, store } = await revoked();
    await store.close();
    expect(heldBy(file)).toEqual([]);
    const again = rows(copied(file, afterStart));
    expect(again.discarded).toEqual([]);
    expect(again.store.peek(SPACE, 'anna', 'key')).toEqual({ status: 'revoked' });
    await again.store.close();
  });

  test('A cache of products keeps its rows after a kill and is rebuilt after a restart of the machine', () => {
    const { events, publish } = history();
    for (let n = 0; n < 20; n += 1) publish(content(`${n}`));
    const file = join(fresh(), 'catalog.db');
    const open = (of: string) => {
      const discarded: string[] = [];
      const catalog = sqliteCatalog(of, (reason) => discarded.push(reason));
      return { catalog, discarded };
    };
    const first = open(file);
    first.catalog.apply(events, events.length);
    const killed = open(copied(file));
    expect([killed.discarded, killed.catalog.count()]).toEqual([[], 20]);
    const cutOff = open(copied(file, afterStart));
    expect([cutOff.discarded, cutOff.catalog.count()]).toEqual([[STOPPED], 0]);
    expect(cutOff.catalog.checkpoint()).toBe(0);
    for (const { catalog } of [first, killed, cutOff]) catalog.close();
    expect(heldBy(file)).toEqual([]);
    const again = open(copied(file, afterStart));
    expect([again.discarded, again.catalog.count()]).toEqual([[], 20]);
    again.catalog.close();
  });
});

/** Writes until SQLite merges the write-ahead log into the file; `write` must add to both. */
const untilMerged = async (file: string, write: (n: number) => unknown): Promise<void> => {
  const size = (): number => statSync(file).size;
  const before = size();
  for (let n = 0; size() === before; n += 1) await write(n);
};

const DAMAGED = 'its write-ahead log is damaged';
const FRAME = 24 + PAGE;

describe('A cache with a bit flipped in the write-ahead log that a kill left', () => {
  const BYTES = [0, 5, 9, 13, 17, 21, 24, 2_000, FRAME - 1];

  /** Opens copies of the file with a bit flipped in each part of several frames, and of the head; returns what was said. */
  const saidOf = async (file: string, open: (copy: string) => Promise<string[]>) => {
    const log = readFileSync(`${file}-wal`);
    const frames = Math.floor((log.length - 32) / FRAME);
    expect(frames).toBeGreaterThan(900);
    const places = [0, 9, 17, 25, 31];
    for (const n of [0, 1, Math.floor(frames / 2), frames - 2, frames - 1])
      places.push(...BYTES.map((at) => 32 + n * FRAME + at));
    const said: string[][] = [await open(copied(file))];
    for (const at of places) {
      const copy = copied(file);
      const bytes = Buffer.from(log);
      bytes[at] = (bytes[at] ?? 0) ^ 4;
      writeFileSync(`${copy}-wal`, bytes);
      said.push(await open(copy));
      rmSync(dirname(copy), { recursive: true });
    }
    return { said, expected: [[], ...places.map(() => [DAMAGED])] };
  };

  test('A cache of rows with a bit flipped in the write-ahead log that a kill left is rebuilt', async () => {
    const file = join(fresh(), 'views.db');
    const store = sqliteStore({ file, onDiscarded: (reason) => expect.unreachable(reason) });
    const [partition, text] = [partitionOf('anna'), 'text '.repeat(20_000)];
    await untilMerged(file, async (n) => {
      const writes = [{ scope: 'anna', key: `k${n}`, row: { text }, sort: n }];
      await store.commit('leads@1.1', [{ partition, from: n, to: n + 1, writes }]);
    });
    const { said, expected } = await saidOf(file, async (copy) => {
      const discarded: string[] = [];
      await sqliteStore({ file: copy, onDiscarded: (reason) => discarded.push(reason) }).close();
      return discarded;
    });
    await store.close();
    expect(said).toEqual(expected);
  });

  test('A cache of products with a bit flipped in the write-ahead log that a kill left is rebuilt', async () => {
    const { events, publish } = history();
    const file = join(fresh(), 'catalog.db');
    const catalog = sqliteCatalog(file, (reason) => expect.unreachable(reason));
    let applied = 0;
    await untilMerged(file, (n) => {
      for (let m = 0; m < 50; m += 1) publish(content(`${n}-${m}`));
      catalog.apply(events.slice(applied), events.length);
      applied = events.length;
    });
    const { said, expected } = await saidOf(file, async (copy) => {
      const discarded: string[] = [];
      sqliteCatalog(copy, (reason) => discarded.push(reason)).close();
      return discarded;
    });
    catalog.close();
    expect(said).toEqual(expected);
  });
});

test('A cache waits for the disk on a machine that does not report its boot', () => {
  const file = join(fresh(), 'cache.db');
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; ${MARK_TABLE}`);
  const level = () => Object.values(db.prepare('PRAGMA synchronous').get() ?? {});
  markOpened(db, null);
  expect([level(), heldBy(file)]).toEqual([[1], []]);
  markOpened(db, 'this one');
  expect([level(), heldBy(file)]).toEqual([[0], ['this one']]);
  expect(() => markOpened(db, null)).toThrow(STOPPED);
  closeMarked(db);
  expect(heldBy(file)).toEqual([]);
});
