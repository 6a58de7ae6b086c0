/** streams.db: the position where a stream begins, by a hash of its name. The log can rebuild it. */
import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, removeDatabase } from '#src/stores/sqlite/database.ts';
import { openStore, type StoreKind } from '#src/stores/sqlite/open.ts';

export type StreamEntry = { hash: number; streamId: number };

type IndexedLog = {
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
  // rows, low, high, ids: sums over the table. A flipped bit in a hash would hide a stream, and a
  // stream of the same name could be created a second time.
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

const isComplete = (db: DatabaseSync, log: IndexedLog): boolean => {
  const about = aboutOf(db);
  if (about.log !== log.id || about.through > log.head) return false;
  if (about.through > 0 && log.sealAt(about.through) !== about.seal) return false;
  const sums = db.prepare(`SELECT ${SUMS} FROM streams`).get() as Sums;
  return (['rows', 'low', 'high', 'ids'] as const).every((name) => sums[name] === about[name]);
};

/** Opens the file if it belongs to this log and is complete; otherwise replaces it by an empty one. */
const openFor = (path: string, log: IndexedLog): DatabaseSync => {
  let db: DatabaseSync | undefined;
  try {
    db = openStore(path, STREAM_STORE);
    if (isComplete(db, log)) return db;
  } catch {
    // Whatever is wrong with the file, the log has everything that it had.
  }
  db?.close();
  removeDatabase(path);
  const fresh = openStore(path, STREAM_STORE);
  fresh.prepare('UPDATE about SET log = ?').run(log.id);
  return fresh;
};

export class StreamFile {
  readonly #db: DatabaseSync;
  readonly #about: About;
  readonly #insert;
  readonly #update;
  readonly #select;

  constructor(path: string, log: IndexedLog) {
    const db = openFor(path, log);
    this.#db = db;
    this.#about = aboutOf(db);
    this.#insert = db.prepare('INSERT OR IGNORE INTO streams VALUES (?, ?)');
    this.#update = db.prepare(
      'UPDATE about SET through = ?, seal = ?, rows = ?, low = ?, high = ?, ids = ?',
    );
    this.#select = db.prepare('SELECT stream_id FROM streams WHERE hash = ?');
    this.#select.setReturnArrays(true);
  }

  /** The file has all streams that began at this position or before. */
  get through(): number {
    return this.#about.through;
  }

  find(hash: number): number[] {
    return (this.#select.all(hash) as unknown as [number][]).map((row) => row[0]);
  }

  /** Adds all entries, or throws and adds none. Moves `through` if it is given. */
  add(entries: readonly StreamEntry[], through?: { position: number; seal: number }): void {
    const next = { ...this.#about };
    inTransaction(this.#db, () => {
      for (const { hash, streamId } of entries) {
        if (this.#insert.run(hash, streamId).changes === 0) continue;
        next.rows += 1;
        next.low += hash % TWO_26;
        next.high += Math.floor(hash / TWO_26);
        next.ids += streamId % TWO_26;
      }
      if (through) Object.assign(next, { through: through.position, seal: through.seal });
      this.#update.run(next.through, next.seal, next.rows, next.low, next.high, next.ids);
    });
    Object.assign(this.#about, next);
  }

  close(): void {
    this.#db.close();
  }
}
