/** streams.db: where a stream begins, by a hash of its name. Rebuilt from the log at will. */
import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { openStore, type StoreKind } from '../open.ts';
import { inTransaction } from '../transaction.ts';

export type StreamEntry = { hash: number; streamId: number };

/** The log as the index needs it. */
export type IndexedLog = {
  id: string;
  head: number;
  sealAt(position: number): number | undefined;
};

const STREAM_STORE: StoreKind = {
  what: 'stream index',
  applicationId: 0x5452_4253,
  version: 1,
  synchronous: 'NORMAL',
  exclusive: true,
  cacheKiB: 32_768,
  // rows, low, high, ids: sums over the table. A flipped bit in a hash would hide a stream, and the
  // next creation with the same key would happen twice.
  schema: `
    CREATE TABLE streams (
      hash INTEGER NOT NULL, stream_id INTEGER NOT NULL, PRIMARY KEY (hash, stream_id)
    ) WITHOUT ROWID;
    CREATE TABLE about (
      log TEXT, through INTEGER, seal INTEGER, rows INTEGER, low INTEGER, high INTEGER, ids INTEGER
    );
    INSERT INTO about VALUES ('', 0, 0, 0, 0, 0, 0);
  `,
};

const TWO_26 = 67_108_864;
const SUMS = `count(*) AS rows, coalesce(sum(hash & ${TWO_26 - 1}), 0) AS low,
  coalesce(sum(hash >> 26), 0) AS high, coalesce(sum(stream_id & ${TWO_26 - 1}), 0) AS ids`;

type Sums = { rows: number; low: number; high: number; ids: number };
type About = Sums & { log: string; through: number; seal: number };

const aboutOf = (db: DatabaseSync): About => db.prepare('SELECT * FROM about').get() as About;

const fits = (db: DatabaseSync, log: IndexedLog): boolean => {
  const about = aboutOf(db);
  if (about.log !== log.id || about.through > log.head) return false;
  if (about.through > 0 && log.sealAt(about.through) !== about.seal) return false;
  const sums = db.prepare(`SELECT ${SUMS} FROM streams`).get() as Sums;
  return (['rows', 'low', 'high', 'ids'] as const).every((name) => sums[name] === about[name]);
};

/** The file when it belongs to this log and is whole, else an empty one in its place. */
const openFor = (path: string, log: IndexedLog): DatabaseSync => {
  let db: DatabaseSync | undefined;
  try {
    db = openStore(path, STREAM_STORE);
    if (fits(db, log)) return db;
  } catch {
    // Whatever is wrong with it, the log holds all that it held.
  }
  db?.close();
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  const fresh = openStore(path, STREAM_STORE);
  fresh.prepare('UPDATE about SET log = ?').run(log.id);
  return fresh;
};

export const streamFile = (path: string, log: IndexedLog) => {
  const db = openFor(path, log);
  const about = aboutOf(db);
  const insert = db.prepare('INSERT OR IGNORE INTO streams VALUES (?, ?)');
  const update = db.prepare(
    'UPDATE about SET through = ?, seal = ?, rows = ?, low = ?, high = ?, ids = ?',
  );
  const select = db.prepare('SELECT stream_id FROM streams WHERE hash = ?');
  select.setReturnArrays(true);
  return {
    /** Streams that began at this position or before are all in the file. */
    through: () => about.through,
    find: (hash: number): number[] =>
      (select.all(hash) as unknown as [number][]).map((row) => row[0]),
    /** All of `entries`, or none and a throw. Moves `through` when given. */
    add(entries: readonly StreamEntry[], through?: { position: number; seal: number }): void {
      const next = { ...about };
      inTransaction(db, () => {
        for (const { hash, streamId } of entries) {
          if (insert.run(hash, streamId).changes === 0) continue;
          next.rows += 1;
          next.low += hash % TWO_26;
          next.high += Math.floor(hash / TWO_26);
          next.ids += streamId % TWO_26;
        }
        if (through) Object.assign(next, { through: through.position, seal: through.seal });
        update.run(next.through, next.seal, next.rows, next.low, next.high, next.ids);
      });
      Object.assign(about, next);
    },
    close: () => db.close(),
  };
};
