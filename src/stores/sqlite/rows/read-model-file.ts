/**
 * A file of read models, such as views.db: its tables, its SQL, how each record is checked, its transaction, and how it is
 * opened, made anew when it is damaged or belongs to another log, and replaced when it cannot be read. The store of rows
 * (read-model.ts) and readers in other threads (rows-reader.ts) use it.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { readdirSync } from 'node:fs';
import { join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inTransaction, openPrivate, queryValue, removeDatabase } from '#src/stores/sqlite/open.ts';
import { isDamage, messageOfError, sqliteCodeOf } from '#src/stores/sqlite/failure.ts';
import {
  ALL_ROWS,
  entriesInOrder,
  entriesOfNew,
  type ListEntry,
  type ListQuery,
  type Row,
  type RowJson,
  type RowWrite,
  type Space,
  PARTITIONS,
  partitionOf,
  ReadModelRebuilding,
  RowsUnwritable,
  ALL_PARTITIONS,
  type PartitionFill,
} from '#src/ports/read-model.ts';
import {
  addHash,
  entryHash,
  hashOf,
  noRows,
  PartitionCheck,
  removeHash,
  RowDamaged,
  type RowDigest,
  rowText,
} from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { closeMarked, MARK_TABLE, markOpened, requireWholeLog } from './cache-mark.ts';

const APPLICATION_ID = 0x7472_726d;
/** Rises with any change below. A file of another version is deleted, because the log has everything. */
const SCHEMA_VERSION = 4;

// A part is a partition of a space, `space_id * 64 + partition`. Ids of spaces are never reused, so that what an interrupted
// drop left belongs to no space. Rows have a rowid, because new ones are then written side by side, wherever their keys are.
const SCHEMA = `
  ${MARK_TABLE}
  CREATE TABLE origin (log TEXT NOT NULL);
  CREATE TABLE spaces (id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL UNIQUE);
  CREATE TABLE live (name TEXT PRIMARY KEY, space TEXT NOT NULL);
  CREATE TABLE checkpoints (
    part INTEGER PRIMARY KEY, position INTEGER NOT NULL,
    rows INTEGER NOT NULL, sum INTEGER NOT NULL, hash INTEGER NOT NULL
  );
  CREATE TABLE rows (
    part INTEGER, scope TEXT, key TEXT, sort INTEGER, hash INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (part, scope, key)
  );
  CREATE TABLE entries (
    part INTEGER, scope TEXT, list TEXT, sort INTEGER, key TEXT,
    PRIMARY KEY (part, scope, list, sort, key)
  ) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Lists the files of a store that exist: `views.db`, and `views-2.db` and so on, in which builds were filled.
 * `first`: the path of the first one.
 */
export const filesOf = (first: string): string[] => {
  const { dir, name } = parse(first);
  const numbers = readdirSync(dir).flatMap((entry) => {
    const number = entry === `${name}.db` ? '1' : numberOf(name, entry);
    return number === undefined ? [] : [Number(number)];
  });
  return numbers.sort((a, b) => a - b).map((number) => fileOf(first, number));
};

const numberOf = (name: string, entry: string): string | undefined =>
  entry.startsWith(`${name}-`) ? /^(\d+)\.db$/.exec(entry.slice(name.length + 1))?.[1] : undefined;

const fileOf = (first: string, number: number): string => {
  const { dir, name } = parse(first);
  return number === 1 ? first : join(dir, `${name}-${number}.db`);
};

/** Returns a path that no file has. */
export const nextFileOf = (first: string, files: readonly { path: string }[]): string => {
  const taken = new Set(files.map(({ path }) => path));
  for (let number = 1; ; number++) {
    const path = fileOf(first, number);
    if (!taken.has(path)) return path;
  }
};

/** Returns the number of a partition in the file. */
export const partOf = (id: number, partition: number): number => id * PARTITIONS + partition;

/** A row as the file has it, and the length of its JSON. */
export type StoredRow = { row: Row; sort: number | null; hash: number; chars: number };

type Written = Omit<StoredRow, 'row'>;
type Recorded = Pick<StoredRow, 'sort' | 'hash'>;

/** The checkpoint of a partition, and what it has. */
export type PartitionRecord = RowDigest & { position: Position };

type RowColumns = { scope: string; key: string; sort: number | null; hash: number; json: string };
type EntryColumns = { scope: string; list: string; sort: number; key: string };

const recordHash = (part: number, { position, rows, sum }: PartitionRecord): number =>
  hashOf(JSON.stringify([part, position, rows, sum]));

/** A new row as the file gets it, with all its entries. */
export type FilledRow = RowColumns & { entries: readonly ListEntry[] };

/** Returns what the file gets of new rows, and adds them to the digest of their partition. */
export const filledRows = (writes: readonly RowWrite[], digest: RowDigest): FilledRow[] =>
  writes.map((write) => {
    const { scope, key, sort, added = [] } = write;
    const json = JSON.stringify(write.row);
    const hash = hashOf(rowText(write, sort, json));
    digest.rows += 1;
    addHash(digest, hash);
    for (const entry of added) addHash(digest, entryHash(scope, key, entry));
    return { scope, key, sort, hash, json, entries: entriesOfNew(write) };
  });

/** Every statement of the file, prepared once. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #get: StatementSync;
  readonly #find: StatementSync;
  readonly #add: StatementSync;
  readonly #replace: StatementSync;
  readonly #remove: StatementSync;
  readonly #newest: StatementSync;
  readonly #oldest: StatementSync;
  readonly #addEntry: StatementSync;
  readonly #removeEntry: StatementSync;
  readonly #checkpoint: StatementSync;
  readonly #moveCheckpoint: StatementSync;
  readonly #removals: readonly StatementSync[];

  constructor(db: DatabaseSync) {
    const inList = 'part = ? AND scope = ? AND list = ?';
    const listed = (order: string): StatementSync => {
      const list = db.prepare(`
        SELECT key, sort FROM entries WHERE ${inList} AND sort >= ? AND (sort, key) < (?, ?)
        ORDER BY ${order} LIMIT ?`);
      // An object for each row costs as much as the row.
      list.setReturnArrays(true);
      return list;
    };
    const ofRow = 'part = ? AND scope = ? AND key = ?';
    this.#db = db;
    this.#get = db.prepare(`SELECT sort, hash, json FROM rows WHERE ${ofRow}`);
    this.#find = db.prepare(`SELECT sort, hash FROM rows WHERE ${ofRow}`);
    this.#add = db.prepare(
      'INSERT INTO rows (part, scope, key, sort, hash, json) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#replace = db.prepare(`UPDATE rows SET sort = ?, hash = ?, json = ? WHERE ${ofRow}`);
    this.#remove = db.prepare(`DELETE FROM rows WHERE ${ofRow}`);
    this.#newest = listed('sort DESC, key DESC');
    this.#oldest = listed('sort, key');
    this.#addEntry = db.prepare('INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?)');
    this.#removeEntry = db.prepare(`DELETE FROM entries WHERE ${inList} AND sort = ? AND key = ?`);
    this.#checkpoint = db.prepare('SELECT * FROM checkpoints WHERE part = ?');
    this.#moveCheckpoint = db.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)');
    this.#removals = ['rows', 'entries', 'checkpoints'].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE part = ?`),
    );
  }

  /** Reads a row. Throws RowDamaged if it is not what was written. */
  read(part: number, scope: string, key: string): StoredRow | undefined {
    const columns = this.#get.get(part, scope, key) as
      | Omit<RowColumns, 'scope' | 'key'>
      | undefined;
    if (!columns) return undefined;
    const { sort, hash, json } = columns;
    if (hashOf(rowText({ scope, key }, sort, json)) !== hash)
      throw new RowDamaged('the hash of a row does not fit');
    return { row: JSON.parse(json) as Row, sort, hash, chars: json.length };
  }

  /**
   * Writes or deletes a row with its entries, and changes the digest of its partition by that. Returns what the file has of
   * the row then.
   */
  write(part: number, write: RowWrite, digest: RowDigest): Written | undefined {
    const { scope, key, row, sort } = write;
    const before = this.#find.get(part, scope, key) as Recorded | undefined;
    if (row === null) {
      if (before) this.#remove.run(part, scope, key);
      this.#count(part, write, { before, after: undefined, digest });
      return undefined;
    }
    const json = JSON.stringify(row);
    const after = { sort, hash: hashOf(rowText(write, sort, json)), chars: json.length };
    if (before) this.#replace.run(sort, after.hash, json, part, scope, key);
    else this.#add.run(part, scope, key, sort, after.hash, json);
    this.#count(part, write, { before, after, digest });
    return after;
  }

  /** Adds rows to a partition that has none of them. */
  fill(part: number, rows: readonly FilledRow[]): void {
    for (const { scope, key, sort, hash, json, entries } of rows) {
      this.#add.run(part, scope, key, sort, hash, json);
      for (const [list, at] of entries) this.#addEntry.run(part, scope, list, at, key);
    }
  }

  /** Returns key and sort of each row of a list. */
  list(id: number, query: ListQuery): [key: string, sort: number][] {
    const { scope, list = ALL_ROWS, limit, isAscending, ...range } = query;
    const { before = Number.MAX_SAFE_INTEGER, downTo = Number.MIN_SAFE_INTEGER } = range;
    const rows = (isAscending ? this.#oldest : this.#newest).all(
      partOf(id, partitionOf(scope)),
      scope,
      list,
      downTo,
      before,
      range.beforeKey ?? '',
      limit,
    );
    return rows as unknown as [key: string, sort: number][];
  }

  /** Returns the record of a partition; undefined if it is damaged. */
  checkpoint(part: number): PartitionRecord | undefined {
    const record = this.#checkpoint.get(part) as (PartitionRecord & { hash: number }) | undefined;
    if (!record) return { position: 0, ...noRows() };
    return recordHash(part, record) === record.hash ? record : undefined;
  }

  moveCheckpoint(part: number, at: PartitionRecord): void {
    this.#moveCheckpoint.run(part, at.position, at.rows, at.sum, recordHash(part, at));
  }

  dropPartition(part: number): void {
    for (const removal of this.#removals) removal.run(part);
  }

  addSpace(space: Space): number {
    return Number(
      this.#db.prepare('INSERT INTO spaces (space) VALUES (?)').run(space).lastInsertRowid,
    );
  }

  dropSpace(id: number, space: Space): void {
    this.#db.prepare('DELETE FROM spaces WHERE id = ?').run(id);
    this.#db.prepare('DELETE FROM live WHERE space = ?').run(space);
  }

  goLive(name: string, space: Space): void {
    this.#db.prepare('INSERT OR REPLACE INTO live (name, space) VALUES (?, ?)').run(name, space);
  }

  noneLive(name: string): void {
    this.#db.prepare('DELETE FROM live WHERE name = ?').run(name);
  }

  allSpaces(): { id: number; space: Space }[] {
    const all = this.#db.prepare('SELECT id, space FROM spaces ORDER BY id').all();
    return all as { id: number; space: Space }[];
  }

  allLive(): { name: string; space: Space }[] {
    return this.#db.prepare('SELECT name, space FROM live').all() as {
      name: string;
      space: Space;
    }[];
  }

  /** Changes the digest and the lists by what is written of a row. */
  #count(
    part: number,
    { scope, key, removed = [], added = [] }: RowWrite,
    change: { before: Recorded | undefined; after: Recorded | undefined; digest: RowDigest },
  ): void {
    const { before, after, digest } = change;
    if (before) removeHash(digest, before.hash);
    if (after) addHash(digest, after.hash);
    digest.rows += (after ? 1 : 0) - (before ? 1 : 0);
    const [from, to] = [before?.sort ?? null, after?.sort ?? null];
    if (from !== to) {
      if (from !== null) this.#removeEntry.run(part, scope, ALL_ROWS, from, key);
      if (to !== null) this.#addEntry.run(part, scope, ALL_ROWS, to, key);
    }
    for (const entry of removed)
      if (this.#removeEntry.run(part, scope, ...entry, key).changes > 0)
        removeHash(digest, entryHash(scope, key, entry));
    for (const entry of added)
      if (this.#addEntry.run(part, scope, ...entry, key).changes > 0)
        addHash(digest, entryHash(scope, key, entry));
  }
}

const ENTRIES_OF = 'SELECT scope, list, sort, key FROM entries WHERE part = ?';
const ROWS_OF = 'SELECT scope, key, sort, hash, json FROM rows WHERE part = ?';

/**
 * Reads each record of a partition. Throws RowDamaged if one of them is not what was written, or if they do not have the
 * digest that was.
 */
export const checkPartition = (db: DatabaseSync, part: number, written: RowDigest): void => {
  const check = new PartitionCheck();
  for (const row of db.prepare(ROWS_OF).iterate(part) as Iterable<RowColumns>) {
    if (hashOf(rowText(row, row.sort, row.json)) !== row.hash)
      throw new RowDamaged('the hash of a row does not fit');
    check.addRow(row, row.sort, row.hash);
  }
  for (const { list, sort, ...row } of db
    .prepare(ENTRIES_OF)
    .iterate(part) as Iterable<EntryColumns>)
    check.addEntry(row, [list, sort]);
  check.requireDigest(written);
};

/** Reads the rows of a partition as the file has them, also damaged ones, in order of scope and key. */
export function* rowsOfPartition(db: DatabaseSync, part: number): Generator<RowJson> {
  const lists = new Map<string, ListEntry[]>();
  for (const entry of db.prepare(ENTRIES_OF).iterate(part) as Iterable<EntryColumns>) {
    const name = `${entry.scope}\n${entry.key}`;
    const own = lists.get(name) ?? [];
    own.push([entry.list, entry.sort]);
    lists.set(name, own);
  }
  const rows = db.prepare(`${ROWS_OF} ORDER BY scope, key`);
  for (const { scope, key, json } of rows.iterate(part) as Iterable<RowColumns>)
    yield { scope, key, json, entries: entriesInOrder(lists.get(`${scope}\n${key}`) ?? []) };
}

/**
 * Names the file so that SQLite locks it for this process, whose threads share it. Other processes are kept out, because the
 * rows in memory would miss their writes.
 */
export const urlOfCache = (file: string): URL => {
  const url = pathToFileURL(file);
  url.searchParams.set('vfs', 'unix-excl');
  return url;
};

const open = (file: string, log: string): DatabaseSync => {
  requireWholeLog(file);
  const db = openPrivate(urlOfCache(file));
  try {
    // The file is a cache of the log: after a power cut the engine rebuilds it, so no commit waits for the disk.
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -65536;
      PRAGMA wal_autocheckpoint = 4096;
    `);
    prepare(db, log);
    markOpened(db);
    // What an interrupted drop left.
    for (const table of ['rows', 'entries', 'checkpoints'])
      db.exec(`DELETE FROM ${table} WHERE part / ${PARTITIONS} NOT IN (SELECT id FROM spaces)`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const prepare = (db: DatabaseSync, log: string): void => {
  if (queryValue(db, 'SELECT count(*) FROM sqlite_schema') === 0) {
    inTransaction(db, () => {
      db.exec(SCHEMA);
      db.prepare('INSERT INTO origin (log) VALUES (?)').run(log);
    });
    return;
  }
  if (queryValue(db, 'PRAGMA application_id') !== APPLICATION_ID)
    throw new Error('it is not a read model of Tributary');
  if (queryValue(db, 'PRAGMA user_version') !== SCHEMA_VERSION)
    throw new Error('it has another version');
  if (queryValue(db, 'SELECT log FROM origin') !== log)
    throw new Error('it belongs to another log');
};

export type RowsFileOptions = {
  path: string;
  /** Identity of the log that this is a cache of; a file of another log is deleted. */
  log: string;
  /** The file was unreadable, damaged or foreign, and its rows are lost. */
  onDiscarded(reason: string): void;
  /** Everything that memory has of the file is invalid. */
  onEmptied(): void;
  /** Writes what memory has beyond the file, as the first part of each transaction. */
  onBegin(sql: Statements): void;
  /** A transaction has been committed, or nothing of it remains. */
  onEnd(isCommitted: boolean): void;
};

type OpenFile = { db: DatabaseSync; sql: Statements };

/**
 * The file and its one connection. What is written in one turn of the event loop is one transaction, which ends after that
 * turn. The file is only a cache, so when it cannot be read it is replaced by an empty one.
 */
export class RowsFile {
  readonly #options: RowsFileOptions;
  /** Undefined from the discovery that the file cannot be read until an empty one is created. */
  #current: OpenFile | undefined;
  /** The end of the open transaction. */
  #end: PromiseWithResolvers<void> | undefined;
  #isUnwritable = false;

  constructor(options: RowsFileOptions) {
    this.#options = options;
    const { path, log, onDiscarded } = options;
    try {
      this.#current = opened(open(path, log));
    } catch (error) {
      onDiscarded(messageOfError(error));
      this.#current = opened(this.#create());
    }
  }

  get path(): string {
    return this.#options.path;
  }

  /** Whether the last transaction failed. */
  get isUnwritable(): boolean {
    return this.#isUnwritable;
  }

  /**
   * Runs reads. Throws ReadModelRebuilding if the file cannot be read: its rows are lost, and the next call creates an empty
   * file, as soon as the disk allows it.
   */
  read<T>(work: (sql: Statements, db: DatabaseSync) => T): T {
    const current = this.#openFile();
    try {
      return work(current.sql, current.db);
    } catch (error) {
      throw isDamage(error) ? this.#discard(current, error) : error;
    }
  }

  /**
   * Runs reads and writes in the transaction of this turn; `committed` resolves with it. Throws RowsUnwritable, and undoes
   * everything of the turn, if the file takes no writes. An error of `work` itself undoes nothing.
   */
  write<T>(work: (sql: Statements) => T): T {
    const current = this.#openFile();
    try {
      if (!current.db.isTransaction) this.#begin(current);
      return work(current.sql);
    } catch (error) {
      throw this.#failure(current, error);
    }
  }

  /** Resolves once what was written so far is committed. Rejects with RowsUnwritable if it was undone. */
  committed(): Promise<void> {
    return this.#end?.promise ?? Promise.resolve();
  }

  /** Commits what was written so far. Throws RowsUnwritable. */
  commit(): void {
    const current = this.#current;
    const end = this.#end;
    if (!end || !current) return;
    try {
      current.db.exec('COMMIT');
    } catch (error) {
      throw this.#failure(current, error);
    }
    this.#end = undefined;
    this.#isUnwritable = false;
    this.#options.onEnd(true);
    end.resolve();
  }

  close(): void {
    if (this.#current) closeMarked(this.#current.db);
  }

  /** Closes and removes the file. Its transaction must have ended. */
  remove(): void {
    this.#current?.db.close();
    this.#current = undefined;
    removeDatabase(this.path);
  }

  #begin({ db, sql }: OpenFile): void {
    const end = Promise.withResolvers<void>();
    // Those who need the end await it.
    end.promise.catch(() => {});
    this.#end = end;
    setImmediate(() => {
      try {
        if (this.#end === end) this.commit();
      } catch {
        // The promise has the error.
      }
    });
    db.exec('BEGIN IMMEDIATE');
    this.#options.onBegin(sql);
  }

  /** Ends a failed transaction. Returns what the caller must throw. */
  #failure(current: OpenFile, error: unknown): unknown {
    if (isDamage(error)) return this.#discard(current, error);
    if (sqliteCodeOf(error) === undefined) return error;
    // SQLite rolls back by itself on some errors.
    if (current.db.isTransaction) current.db.exec('ROLLBACK');
    const reason = `the file of the read models cannot be written: ${messageOfError(error)}`;
    const failure = this.#undo(new RowsUnwritable(reason, { cause: error }));
    this.#isUnwritable = true;
    this.#options.onEnd(false);
    return failure;
  }

  #undo<T>(error: T): T {
    this.#end?.reject(error);
    this.#end = undefined;
    return error;
  }

  #discard(current: OpenFile, { message }: Error): ReadModelRebuilding {
    this.#current = undefined;
    this.#options.onEmptied();
    this.#options.onDiscarded(message);
    current.db.close();
    const reason = `the file of the read models cannot be read: ${message}`;
    return this.#undo(new ReadModelRebuilding(reason));
  }

  #create(): DatabaseSync {
    const { path, log } = this.#options;
    removeDatabase(path);
    return open(path, log);
  }

  #openFile(): OpenFile {
    try {
      return (this.#current ??= opened(this.#create()));
    } catch (error) {
      const reason = `the file of the read models cannot be created: ${messageOfError(error)}`;
      throw new ReadModelRebuilding(reason, { cause: error });
    }
  }
}

const opened = (db: DatabaseSync): OpenFile => ({ db, sql: new Statements(db) });

/** Lets one of several threads write at a time. SQLite's own waiting sleeps, and wakes late. */
class Turns {
  readonly #word: Int32Array;

  constructor(shared: SharedArrayBuffer) {
    this.#word = new Int32Array(shared);
  }

  take<T>(work: () => T): T {
    while (Atomics.compareExchange(this.#word, 0, 0, 1) !== 0) Atomics.wait(this.#word, 0, 1);
    try {
      return work();
    } finally {
      Atomics.store(this.#word, 0, 0);
      Atomics.notify(this.#word, 0, 1);
    }
  }
}

/**
 * Opens a file that a store has prepared with `beginBuild`, for a thread that fills it; the store of the process reads its rows
 * when the thread has ended. `shared`: four bytes that all threads that write it share.
 */
export const openBuild = (file: string, shared: SharedArrayBuffer) => {
  const db = new DatabaseSync(urlOfCache(file));
  // A cache of the log, which the store has marked as open: no commit waits for the disk.
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096');
  const sql = new Statements(db);
  const turns = new Turns(shared);
  const ids = new Map(sql.allSpaces().map(({ id, space }) => [space, id]));
  const part = (space: Space, partition: number): number => partOf(ids.get(space) ?? -1, partition);
  return {
    /** The partitions that no fill has completed. */
    emptyPartitions: (space: Space): ReadonlySet<number> =>
      new Set(
        ALL_PARTITIONS.filter((partition) => !sql.checkpoint(part(space, partition))?.position),
      ),
    /** Writes a partition with its checkpoint in one transaction. */
    fillPartition(space: Space, partition: number, { position, rows }: PartitionFill): void {
      const digest = noRows();
      const filled = filledRows(rows, digest);
      const write = (): void => {
        sql.fill(part(space, partition), filled);
        sql.moveCheckpoint(part(space, partition), { position, ...digest });
      };
      turns.take(() => inTransaction(db, write));
    },
    [Symbol.dispose]: () => db.close(),
  };
};
