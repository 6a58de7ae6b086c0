/**
 * Maps a stream's name to the position of its first event. Names are often hashes, so their order is
 * random: new ones wait in memory and are written to the file in bulk, sorted, outside of commits.
 */
import { hash as digest } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { LogIndexDamaged, LogUnavailable, type Position } from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  messageOfError,
  sqliteCodeOf,
  sqliteFailureOf,
  readLogFile,
} from '#src/stores/sqlite/failure.ts';
import {
  inTransaction,
  FIRST_FORMAT,
  removeDatabase,
  openStore,
  type StoreKind,
} from '#src/stores/sqlite/open.ts';
import type { LogReader } from './log-reader.ts';

type StreamEntry = { hash: number; streamId: number };

type IndexedLog = {
  id: string;
  head: number;
  sealAt(position: number): number | undefined;
};

const STREAM_STORE: StoreKind = {
  what: 'stream index',
  applicationId: 0x5452_4253,
  version: FIRST_FORMAT,
  synchronous: 'NORMAL',
  exclusive: true,
  cacheKiB: 32_768,
  // rows, low, high, ids: sums over the table. A flipped bit in a hash would hide a stream, and a
  // stream of the same name could be created a second time. So each look-up also reads a copy, in other pages.
  schema: `
    CREATE TABLE streams (
      hash INTEGER NOT NULL, stream_id INTEGER NOT NULL, PRIMARY KEY (hash, stream_id)
    ) WITHOUT ROWID;
    CREATE TABLE copy (
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
  return (['streams', 'copy'] as const).every((table) => {
    const sums = db.prepare(`SELECT ${SUMS} FROM ${table}`).get() as Sums;
    return (['rows', 'low', 'high', 'ids'] as const).every((name) => sums[name] === about[name]);
  });
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

class StreamFile {
  readonly #db: DatabaseSync;
  readonly #about: About;
  readonly #insert;
  readonly #insertCopy;
  readonly #update;
  readonly #select;
  readonly #selectCopy;

  constructor(path: string, log: IndexedLog) {
    const db = openFor(path, log);
    this.#db = db;
    this.#about = aboutOf(db);
    this.#insert = db.prepare('INSERT OR IGNORE INTO streams VALUES (?, ?)');
    this.#insertCopy = db.prepare('INSERT OR IGNORE INTO copy VALUES (?, ?)');
    this.#update = db.prepare(
      'UPDATE about SET through = ?, seal = ?, rows = ?, low = ?, high = ?, ids = ?',
    );
    this.#select = db.prepare('SELECT stream_id FROM streams WHERE hash = ?');
    this.#select.setReturnArrays(true);
    this.#selectCopy = db.prepare('SELECT stream_id FROM copy WHERE hash = ?');
    this.#selectCopy.setReturnArrays(true);
  }

  /** The file contains all streams that began at this position or before. */
  get through(): number {
    return this.#about.through;
  }

  /** Throws LogIndexDamaged if the copy differs. */
  find(hash: number): number[] {
    const [ids, copied] = [this.#select, this.#selectCopy].map((select) =>
      (select.all(hash) as unknown as [number][]).map((row) => row[0]),
    ) as [number[], number[]];
    if (ids.length !== copied.length || ids.some((id, index) => id !== copied[index]))
      throw new LogIndexDamaged('streams.db differs from its copy');
    return ids;
  }

  /** Adds all entries, or throws and adds none. Moves `through` if it is given. */
  add(entries: readonly StreamEntry[], through?: { position: number; seal: number }): void {
    const next = { ...this.#about };
    inTransaction(this.#db, () => {
      for (const { hash, streamId } of entries) {
        const isNew = this.#insert.run(hash, streamId).changes > 0;
        this.#insertCopy.run(hash, streamId);
        if (!isNew) continue;
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

/** 52 bits, which a double can represent. */
const hashOfName = (name: string): number =>
  Number.parseInt(digest('sha256', name, 'hex').slice(0, 13), 16);

const HASHES = 2 ** 52;
// A chunk of a full tail covers a 32nd of the hashes, so that its rows share pages.
const TAIL_MAX = 32_768;
const CHUNK = 1_024;
// A start reads the log from `through` on, which must advance even if few streams are created.
const UNINDEXED_MAX = 262_144;
const MISSING_MAX = 4_096;
const REBUILD_PAGE = 1_000;
const REBUILD_BULK = 262_144;

type IndexOptions = {
  path: string;
  logId: string;
  reader: LogReader;
  /** The mutable head of the log. */
  head: { position: number; seal: number };
  hash?: ((name: string) => number) | undefined;
  tailMax?: number | undefined;
};

type NamedEntry = [name: string, entry: StreamEntry];

const inChunks = (entries: readonly NamedEntry[]): NamedEntry[][] => {
  const count = Math.ceil(entries.length / CHUNK);
  const chunks = Array.from({ length: count }, (): NamedEntry[] => []);
  for (const entry of entries) chunks[Math.floor((entry[1].hash / HASHES) * count)]?.push(entry);
  return chunks.filter((chunk) => chunk.length > 0);
};

const byHash = (a: StreamEntry, b: StreamEntry): number => a.hash - b.hash;

const damagedIndex = (what: string): LogIndexDamaged =>
  new LogIndexDamaged(`streams.db is damaged: ${what}`);

/** streams.db holds the position where a stream begins, by a hash of its name. The log can rebuild it. */
export class StreamIndex {
  readonly #reader: LogReader;
  readonly #head: IndexOptions['head'];
  readonly #hash: (name: string) => number;
  readonly #tailMax: number;
  readonly #path: string;
  readonly #open: () => StreamFile;
  #file: StreamFile;
  /** Streams that the file does not have yet. */
  readonly #tail = new Map<string, StreamEntry>();
  /** Hashes of names without a stream: most names that are looked up in vain are created next. */
  readonly #missing = new GenerationCache<string, number>(MISSING_MAX);
  #flushAt: number;
  #isFlushing = false;
  #isClosed = false;

  constructor({ path, logId, reader, head, hash = hashOfName, tailMax = TAIL_MAX }: IndexOptions) {
    this.#reader = reader;
    this.#head = head;
    this.#hash = hash;
    this.#tailMax = tailMax;
    this.#flushAt = tailMax;
    const sealAt = (position: number): number | undefined => reader.sealAt(position);
    this.#open = () => new StreamFile(path, { id: logId, head: head.position, sealAt });
    this.#path = path;
    this.#file = this.#open();
    this.#readMissing();
  }

  /** Builds the file again from the log. Blocks this process: about a second per million events. */
  rebuild(): void {
    this.#file.close();
    removeDatabase(this.#path);
    this.#tail.clear();
    this.#missing.clear();
    this.#file = this.#open();
    this.#readMissing();
  }

  /** Returns the position of the stream's first event; undefined if there is no such stream. */
  find(name: string): number | undefined {
    const recent = this.#tail.get(name);
    if (recent) return recent.streamId;
    if (this.#missing.get(name) !== undefined) return undefined;
    const hash = this.#hash(name);
    for (const streamId of this.#findInFile(hash)) {
      const stored = this.#reader.streamAt(streamId);
      if (stored === name) return streamId;
      // Two names can have the same hash, but every name must be stored under its own.
      if (stored === undefined || this.#hash(stored) !== hash) {
        throw damagedIndex(`it refers to position ${streamId}, where its stream does not begin`);
      }
    }
    this.#missing.set(name, hash);
    return undefined;
  }

  /** Adds streams after the commit that created them, when the head has moved past them. */
  add(created: readonly (readonly [name: string, streamId: number])[]): void {
    for (const [name, streamId] of created) {
      this.#tail.set(name, { hash: this.#missing.get(name) ?? this.#hash(name), streamId });
      this.#missing.delete(name);
    }
    if (this.#isFlushing || this.#isClosed) return;
    const unindexed = this.#head.position - this.#file.through;
    const isFar = unindexed >= UNINDEXED_MAX && this.#flushAt === this.#tailMax;
    if (this.#tail.size >= this.#flushAt || isFar) this.#flush();
  }

  close(): void {
    this.#isClosed = true;
    const { position, seal } = this.#head;
    try {
      for (const chunk of inChunks([...this.#tail])) this.#write(chunk);
      if (position > this.#file.through) this.#file.add([], { position, seal });
    } catch {
      // As in a flush: the next start reads these names from the log.
    }
    this.#file.close();
  }

  /** Reads from the log what the file lacks: into the file if it is much, otherwise into the tail. */
  #readMissing(): void {
    const end = this.#head.position;
    const isBulk = end - this.#file.through > UNINDEXED_MAX;
    let entries: StreamEntry[] = [];
    for (let after = this.#file.through; after < end; ) {
      const rows = this.#reader.foldRows(after, REBUILD_PAGE);
      for (const [position, stream, revision] of rows) {
        if (revision > 0) continue;
        const entry = { hash: this.#hash(stream), streamId: position };
        if (isBulk) entries.push(entry);
        else this.#tail.set(stream, entry);
      }
      after += rows.length;
      if (isBulk && (entries.length >= REBUILD_BULK || after >= end)) {
        const seal = this.#reader.sealAt(after) ?? 0;
        this.#file.add(entries.sort(byHash), { position: after, seal });
        entries = [];
      }
    }
  }

  /** Writes the tail to the file, one chunk per turn. */
  #flush(): void {
    this.#isFlushing = true;
    const through = { position: this.#head.position, seal: this.#head.seal };
    const chunks = inChunks([...this.#tail]);
    const writeNext = (): void => {
      if (this.#isClosed) return;
      const chunk = chunks.pop() ?? [];
      try {
        this.#write(chunk, chunks.length === 0 ? through : undefined);
        this.#flushAt = this.#tailMax;
      } catch {
        // The disk is full, most likely. Nothing is lost: the names remain in memory and in the log.
        this.#flushAt = this.#tail.size + CHUNK;
        chunks.length = 0;
      }
      this.#isFlushing = chunks.length > 0;
      if (this.#isFlushing) setImmediate(writeNext);
    };
    setImmediate(writeNext);
  }

  #write(chunk: NamedEntry[], through?: { position: number; seal: number }): void {
    this.#file.add(chunk.map(([, entry]) => entry).sort(byHash), through);
    for (const [name] of chunk) this.#tail.delete(name);
  }

  #findInFile(hash: number): number[] {
    try {
      return this.#file.find(hash);
    } catch (error) {
      if (sqliteFailureOf(error) === 'damaged') throw damagedIndex(messageOfError(error));
      if (sqliteCodeOf(error) === undefined) throw error;
      throw new LogUnavailable(
        'fault',
        'no',
        `streams.db cannot be read: ${messageOfError(error)}`,
      );
    }
  }
}

export type StreamHead = { streamId: number; revision: number };

const HEADS_MAX = 65_536;

/** The last revision of each stream: recent ones from memory, others by one index look-up. */
export class StreamHeads {
  readonly #cache = new GenerationCache<string, StreamHead>(HEADS_MAX);
  readonly #index: StreamIndex;
  readonly #logHead: () => Position;
  readonly #last;

  constructor(db: DatabaseSync, logHead: () => Position, index: StreamIndex) {
    this.#index = index;
    this.#logHead = logHead;
    // In one statement, so that no commit comes between the last revision of the index and the counted one.
    this.#last = db.prepare(`
      SELECT (SELECT max(revision) FROM events WHERE stream_id = ?1 AND position <= ?2) AS revision,
        (SELECT max(revision) FROM events WHERE stream_id = ?1) AS indexed,
        coalesce((SELECT revision FROM heads WHERE stream_id = ?1), 0) AS counted`);
  }

  set(stream: string, head: StreamHead): void {
    this.#cache.set(stream, head);
  }

  /** Returns undefined if there is no such stream. */
  find(stream: string): StreamHead | undefined {
    const cached = this.#cache.get(stream);
    if (cached) return cached;
    const streamId = this.#index.find(stream);
    if (streamId === undefined) return undefined;
    const row = readLogFile(() => this.#last.get(streamId, this.#logHead()));
    const revision = row?.['revision'];
    if (typeof revision !== 'number' || row?.['indexed'] !== row?.['counted'])
      throw new LogIndexDamaged(
        `the index of streams ends at revision ${String(row?.['indexed'])} of ${stream}, which begins at position ${streamId} ` +
          `and has revision ${String(row?.['counted'])}`,
      );
    const head = { streamId, revision };
    this.#cache.set(stream, head);
    return head;
  }
}
