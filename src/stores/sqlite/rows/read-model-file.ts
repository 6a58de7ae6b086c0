/**
 * The file views.db: how rows are packed in it, its SQL, how rows are checked, and how it is opened, made anew when it is
 * damaged or belongs to another log, and replaced when it cannot be read. Many rows of a partition that are written at once
 * are compressed together in a block, because their JSON is alike: a block takes a sixth of its rows' size. A row that
 * changes later is written by itself, and its line of the block is left unused.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { hash } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { inTransaction, openPrivate, queryValue, removeDatabase } from '#src/stores/sqlite/open.ts';
import { isDamage, messageOfError } from '#src/stores/sqlite/failure.ts';
import {
  PARTITIONS,
  ReadModelRebuilding,
  type ListQuery,
  partitionOf,
  type Row,
  type Space,
  type ListEntry,
  type RowJson,
} from '#src/ports/read-model.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  addHash,
  ALL_ROWS,
  entryHash,
  hashOf,
  noRows,
  removeHash,
  RowDamaged,
  type RowDigest,
  rowText,
  PartitionCheck,
} from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { closeMarked, MARK_TABLE, markOpened } from './cache-mark.ts';

/** `text` holds the row, or the block with this number does. */
export type RowRecord = { hash: number; block: number | null; text: string | null };

/** A partition can have this many blocks. */
export const BLOCK_IDS = 2 ** 24;

/** Returns the number of a partition in the file. */
export const partOf = (id: number, partition: number): number => id * PARTITIONS + partition;

/** Returns 64 bits, so that no two rows share a place. Shorter than scope and key, which the row has anyway. */
export const rowPlace = (scope: string, key: string): string =>
  hash('sha256', `${scope}\0${key}`, 'base64url').slice(0, 11);

/** Fewer rows are not worth a block. */
export const ROWS_PER_BLOCK_MIN = 16;
/** A row of this size is not, either. */
export const CHARS_PER_BLOCK = 32_768;
/** More than any row has, so that damage cannot ask for unbounded memory. */
const BYTES_MAX = 268_435_456;

/** Divides texts of rows into blocks. JSON has no line feeds of its own. */
export function* blocksOf<T extends { text: string }>(rows: readonly T[]): Generator<T[]> {
  let block: T[] = [];
  let chars = 0;
  for (const row of rows) {
    block.push(row);
    chars += row.text.length;
    if (chars < CHARS_PER_BLOCK) continue;
    yield block;
    [block, chars] = [[], 0];
  }
  if (block.length > 0) yield block;
}

export const encodeBlock = (rows: readonly { text: string }[]): Uint8Array =>
  zstdCompressSync(rows.map(({ text }) => text).join('\n'));

/** Returns the text of all rows, one a line. Throws RowDamaged. */
export const decodeBlock = (data: Uint8Array): string => {
  try {
    return zstdDecompressSync(data, { maxOutputLength: BYTES_MAX }).toString();
  } catch (error) {
    throw new RowDamaged('a block of rows cannot be decompressed', { cause: error });
  }
};

/** Returns the text of one row; undefined if the block does not have it. */
export const lineOf = (block: string, scope: string, key: string): string | undefined => {
  const start = `[${JSON.stringify(scope)},${JSON.stringify(key)},`;
  const at = block.startsWith(start) ? 0 : block.indexOf(`\n${start}`) + 1;
  if (at === 0 && !block.startsWith(start)) return undefined;
  const end = block.indexOf('\n', at);
  return block.slice(at, end < 0 ? undefined : end);
};

/** Every statement of the read models' file. */
export const prepareStatements = (db: DatabaseSync) => {
  const rows = new RowStatements(db);
  const check = prepareCheck(db);
  const move = db.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)');
  const checkpoint = db.prepare('SELECT * FROM checkpoints WHERE part = ?');
  const addSpace = db.prepare('INSERT INTO spaces (space) VALUES (?)');
  const setLive = db.prepare(`
    INSERT INTO live (name, space) VALUES (?, ?) ON CONFLICT DO UPDATE SET space = excluded.space`);
  const transaction = (write: () => void): void => inTransaction(db, write);
  const removals = [
    'DELETE FROM rows WHERE part = ?1',
    'DELETE FROM entries WHERE part = ?1',
    `DELETE FROM blocks WHERE id BETWEEN ?1 * ${BLOCK_IDS} AND (?1 + 1) * ${BLOCK_IDS} - 1`,
    'DELETE FROM checkpoints WHERE part = ?1',
  ].map((text) => db.prepare(text));
  return {
    row: (place: CellPlace) => rows.read(place),
    list: (id: number, query: ListQuery) => rows.lists.list(id, query),
    write: ({ id, partition }: PartitionPlace, cells: readonly Cell[], digest: RowDigest): void =>
      rows.write(partOf(id, partition), cells, digest),
    transaction,
    moveCheckpoint(id: number, partition: number, at: PartitionRecord): void {
      const { position, rows: count, sum } = at;
      const part = partOf(id, partition);
      move.run(part, position, count, sum, recordHash(part, at));
    },
    /** Returns the record of a partition; undefined if it is damaged. */
    checkpoint(id: number, partition: number): PartitionRecord | undefined {
      const part = partOf(id, partition);
      const record = checkpoint.get(part) as (PartitionRecord & { hash: number }) | undefined;
      if (!record) return { position: 0, ...noRows() };
      return recordHash(part, record) === record.hash ? record : undefined;
    },
    check: (id: number, partition: number, written: RowDigest): void =>
      check(partOf(id, partition), written),
    addSpace: (space: Space): number => Number(addSpace.run(space).lastInsertRowid),
    allSpaces() {
      const all = db.prepare('SELECT id, space FROM spaces ORDER BY id').all();
      return all as { id: number; space: Space }[];
    },
    allLive: () =>
      db.prepare('SELECT name, space FROM live').all() as { name: string; space: Space }[],
    goLive: (name: string, space: Space) => setLive.run(name, space),
    dropSpace(id: number, space: Space): void {
      transaction(() => {
        db.prepare('DELETE FROM spaces WHERE id = ?').run(id);
        db.prepare('DELETE FROM live WHERE space = ?').run(space);
      });
    },
    dropPartition(id: number, partition: number): void {
      rows.forgetBlocks();
      transaction(() => {
        for (const removal of removals) removal.run(partOf(id, partition));
      });
    },
  };
};

/** The place of a row. `id` is the number of its space in the file. */
export type CellPlace = { id: number; partition: number; scope: string; key: string };

/** The hash and the sort key that the file has of a row. */
export type StoredRow = { hash: number; sort: number | null };

export type EntryChange = { entry: ListEntry; isAdded: boolean };

/** A row in its place; `row` null: it does not exist. */
export type Cell = CellPlace & {
  row: Row | null;
  sort: number | null;
  /** What the file has of the row; null: nothing, undefined: unknown. */
  stored?: StoredRow | null | undefined;
  /** What the file has of it once the current transaction is committed. */
  written?: StoredRow | null;
  /** The entries that the file still has to add or to remove. */
  entries?: EntryChange[] | undefined;
};

type PartitionPlace = Pick<CellPlace, 'id' | 'partition'>;

/** The checkpoint of a partition, and what it has. */
export type PartitionRecord = RowDigest & { position: Position };

const recordHash = (part: number, { position, rows, sum }: PartitionRecord): number =>
  hashOf(JSON.stringify([part, position, rows, sum]));

/** Blocks in memory: some 10 MiB. */
const BLOCKS_MAX = 256;

/** A changed row that exists. */
type ChangedRow = { cell: Cell; place: string; hash: number; text: string };

/** The partition that is written, and its digest. */
type Target = { part: number; digest: RowDigest };

/** Reads and writes the rows of the file. */
class RowStatements {
  readonly lists: ReturnType<typeof prepareLists>;
  readonly #get: StatementSync;
  readonly #add: StatementSync;
  readonly #replace: StatementSync;
  readonly #remove: StatementSync;
  readonly #getBlock: StatementSync;
  readonly #addBlock: StatementSync;
  readonly #lastBlock: StatementSync;
  readonly #blocks = new GenerationCache<number, string>(BLOCKS_MAX);

  constructor(db: DatabaseSync) {
    this.lists = prepareLists(db);
    this.#get = db.prepare('SELECT hash, block, text FROM rows WHERE part = ? AND place = ?');
    const insert = 'INSERT INTO rows (part, place, hash, block, text) VALUES (?, ?, ?, ?, ?)';
    this.#add = db.prepare(`${insert} ON CONFLICT DO NOTHING`);
    this.#replace = db.prepare(`${insert}
      ON CONFLICT DO UPDATE SET hash = excluded.hash, block = excluded.block, text = excluded.text`);
    this.#remove = db.prepare('DELETE FROM rows WHERE part = ? AND place = ?');
    this.#getBlock = db.prepare('SELECT data FROM blocks WHERE id = ?');
    this.#addBlock = db.prepare('INSERT INTO blocks VALUES (?, ?)');
    this.#lastBlock = db.prepare('SELECT max(id) AS id FROM blocks WHERE id BETWEEN ? AND ?');
  }

  /** Throws RowDamaged if a record is not what was written. */
  read(
    { id, partition, scope, key }: CellPlace,
    place = rowPlace(scope, key),
  ): (StoredRow & { row: Row; isLarge: boolean }) | undefined {
    const record = this.#get.get(partOf(id, partition), place) as RowRecord | undefined;
    if (!record) return undefined;
    const { hash, block } = record;
    const text = block === null ? record.text : lineOf(this.#blockAt(block), scope, key);
    if (typeof text !== 'string' || hashOf(text) !== hash)
      throw new RowDamaged('the hash of a row does not fit');
    const stored = JSON.parse(text) as [string, string, number | null, Row];
    if (stored[0] !== scope || stored[1] !== key) throw new RowDamaged('a row is in a wrong place');
    return { hash, sort: stored[2], row: stored[3], isLarge: text.length >= CHARS_PER_BLOCK };
  }

  /** Writes changed rows of a partition, and adds them to its digest. */
  write(part: number, cells: readonly Cell[], digest: RowDigest): void {
    const target = { part, digest };
    const hasBlocks = cells.length >= ROWS_PER_BLOCK_MIN;
    const packed: ChangedRow[] = [];
    for (const cell of cells) {
      const { scope, key, sort, row } = cell;
      const place = rowPlace(scope, key);
      if (row === null) {
        this.#findStored(cell, place);
        if (cell.stored) this.#remove.run(part, place);
        this.#count(target, cell, null);
      } else {
        const text = rowText(cell, sort, JSON.stringify(row));
        const changed = { cell, place, hash: hashOf(text), text };
        if (hasBlocks && text.length < CHARS_PER_BLOCK) packed.push(changed);
        else this.#put(target, changed, null);
      }
    }
    if (packed.length > 0) this.#pack(target, packed);
  }

  /** Must be called when blocks are removed, whose numbers are used again. */
  forgetBlocks(): void {
    this.#blocks.clear();
  }

  #pack(target: Target, rows: ChangedRow[]): void {
    const first = target.part * BLOCK_IDS;
    const last = this.#lastBlock.get(first, first + BLOCK_IDS - 1)?.['id'];
    let id = typeof last === 'number' ? last + 1 : first;
    // Rows of one scope are alike.
    for (const block of blocksOf(rows.sort((a, b) => (a.text < b.text ? -1 : 1)))) {
      this.#addBlock.run(id, encodeBlock(block));
      for (const row of block) this.#put(target, row, id);
      id += 1;
    }
  }

  /** Writes a row by itself, or the number of the block that has it. */
  #put(target: Target, { cell, place, hash, text }: ChangedRow, block: number | null): void {
    const record = [target.part, place, hash, block, block === null ? text : null] as const;
    // A row that was never read is nearly always new: adding it shows that, so it is not read first.
    if (cell.stored === undefined && this.#add.run(...record).changes > 0) cell.stored = null;
    else {
      this.#findStored(cell, place);
      this.#replace.run(...record);
    }
    this.#count(target, cell, { hash, sort: cell.sort });
  }

  #findStored(cell: Cell, place: string): void {
    if (cell.stored === undefined) cell.stored = this.read(cell, place) ?? null;
  }

  /** Changes the digest and the lists by what is written of a row. */
  #count({ part, digest }: Target, cell: Cell, written: StoredRow | null): void {
    if (cell.stored) removeHash(digest, cell.stored.hash);
    if (written) addHash(digest, written.hash);
    digest.rows += (written ? 1 : 0) - (cell.stored ? 1 : 0);
    this.lists.writeEntries(part, cell, digest);
    cell.written = written;
  }

  #blockAt(id: number): string {
    const cached = this.#blocks.get(id);
    if (cached !== undefined) return cached;
    const data = this.#getBlock.get(id)?.['data'];
    const text = data instanceof Uint8Array ? decodeBlock(data) : '';
    this.#blocks.set(id, text);
    return text;
  }
}

/** Prepares every statement on lists once. */
const prepareLists = (db: DatabaseSync) => {
  const inList = 'part = ? AND scope = ? AND list = ?';
  const prepareList = (order: string) => {
    const list = db.prepare(`
      SELECT key, sort FROM entries WHERE ${inList} AND sort >= ? AND (sort, key) < (?, ?)
      ORDER BY ${order} LIMIT ?`);
    // An object for each row costs as much as the row.
    list.setReturnArrays(true);
    return list;
  };
  const newest = prepareList('sort DESC, key DESC');
  const oldest = prepareList('sort, key');
  const add = db.prepare('INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?)');
  const remove = db.prepare(`DELETE FROM entries WHERE ${inList} AND sort = ? AND key = ?`);
  return {
    /** Returns key and sort of each row. */
    list(id: number, { scope, list = ALL_ROWS, limit, isAscending, ...range }: ListQuery) {
      const { before = Number.MAX_SAFE_INTEGER, downTo = Number.MIN_SAFE_INTEGER } = range;
      const rows = (isAscending ? oldest : newest).all(
        partOf(id, partitionOf(scope)),
        scope,
        list,
        downTo,
        before,
        range.beforeKey ?? '',
        limit,
      );
      return rows as unknown as [key: string, sort: number][];
    },
    /** Writes what changed in the lists of a row. */
    writeEntries(part: number, cell: Cell, digest: RowDigest): void {
      const { scope, key, row, sort, stored } = cell;
      const after = row === null ? null : sort;
      const before = stored?.sort ?? null;
      if (before !== after) {
        if (before !== null) remove.run(part, scope, ALL_ROWS, before, key);
        if (after !== null) add.run(part, scope, ALL_ROWS, after, key);
      }
      for (const { entry, isAdded } of cell.entries ?? []) {
        const { changes } = isAdded
          ? add.run(part, scope, ...entry, key)
          : remove.run(part, scope, ...entry, key);
        if (changes === 0) continue;
        (isAdded ? addHash : removeHash)(digest, entryHash(scope, key, entry));
      }
    },
  };
};

const APPLICATION_ID = 0x7472_726d;
/** Rises with any change below. A file of another version is deleted, because the log has everything. */
const SCHEMA_VERSION = 3;

// A part is a partition of a space, `space_id * 64 + partition`. A row is in `text`, or in the block of rows that were
// written with it. Ids of spaces are never reused, so that what an interrupted drop left belongs to no space.
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
    part INTEGER, place TEXT, hash INTEGER NOT NULL, block INTEGER, text TEXT,
    PRIMARY KEY (part, place)
  ) WITHOUT ROWID;
  CREATE TABLE blocks (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
  CREATE TABLE entries (
    part INTEGER, scope TEXT, list TEXT, sort INTEGER, key TEXT,
    PRIMARY KEY (part, scope, list, sort, key)
  ) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the file. Replaces it by an empty one if it is damaged, has another version or log, or was open
 * when the machine stopped; `onDiscarded` gets the reason.
 */
export const openCache = (
  file: string,
  log: string,
  onDiscarded: (reason: string) => void,
): DatabaseSync => {
  try {
    return open(file, log);
  } catch (error) {
    onDiscarded(messageOfError(error));
    return createCache(file, log);
  }
};

/** Replaces the file by an empty one. */
export const createCache = (file: string, log: string): DatabaseSync => {
  removeDatabase(file);
  return open(file, log);
};

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
  const db = openPrivate(urlOfCache(file));
  try {
    // The file is a cache of the log: after a power cut the engine rebuilds it, so no commit waits for
    // the disk. The write-ahead log can grow to 32 MiB, so that a fill writes a page back less often.
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -65536;
      PRAGMA wal_autocheckpoint = 8192;
    `);
    prepare(db, log);
    markOpened(db);
    removeUnowned(db);
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

/** Removes what an interrupted drop left. */
const removeUnowned = (db: DatabaseSync): void => {
  for (const table of ['rows', 'entries', 'checkpoints'])
    db.exec(`DELETE FROM ${table} WHERE part / ${PARTITIONS} NOT IN (SELECT id FROM spaces)`);
  db.exec(`DELETE FROM blocks WHERE id / ${PARTITIONS * BLOCK_IDS} NOT IN (SELECT id FROM spaces)`);
};

export type Statements = ReturnType<typeof prepareStatements>;

/** The file of the read models. It is only a cache, so when it cannot be read it is replaced by an empty one. */
export type GuardedFile = {
  /**
   * Runs `work`. Throws ReadModelRebuilding if the file cannot be read: the rows are lost, and the next call creates an
   * empty file, as soon as the disk allows it.
   */
  use<T>(work: (statements: Statements) => T): T;
  close(): void;
};

type OpenFile = { db: DatabaseSync; statements: Statements };

export const openGuarded = (options: {
  file: string;
  log: string;
  onDiscarded(reason: string): void;
  /** Everything that memory has of the file is invalid. */
  onEmptied(): void;
}): GuardedFile => {
  const { file, log, onDiscarded, onEmptied } = options;
  const prepare = (db: DatabaseSync): OpenFile => ({ db, statements: prepareStatements(db) });
  /** Undefined from the discovery that the file cannot be read until an empty one is created. */
  let current: OpenFile | undefined = prepare(openCache(file, log, onDiscarded));

  const openFile = (): OpenFile => {
    try {
      return (current ??= prepare(createCache(file, log)));
    } catch (error) {
      const reason = `the file of the read models cannot be created: ${messageOfError(error)}`;
      throw new ReadModelRebuilding(reason, { cause: error });
    }
  };

  const discard = ({ db }: OpenFile, reason: string): void => {
    current = undefined;
    onEmptied();
    onDiscarded(reason);
    db.close();
  };

  return {
    use(work) {
      const opened = openFile();
      try {
        return work(opened.statements);
      } catch (error) {
        if (!isDamage(error)) throw error;
        discard(opened, error.message);
        const reason = `the file of the read models cannot be read: ${error.message}`;
        throw new ReadModelRebuilding(reason, { cause: error });
      }
    },
    close() {
      if (current) closeMarked(current.db);
    },
  };
};

/** The text of a row; undefined if its block does not have it. */
type FoundRow = { place: string; hash: number; text: string | undefined };

/**
 * Prepares the reading of all rows of a partition: those by themselves, then those in blocks. `placeOf` tells the place of a
 * line of a block. Yields undefined for a row whose block comes later, so that a reader can pause. Only one reading at a time
 * is possible. Throws RowDamaged if a block cannot be decompressed.
 */
const prepareReading = (db: DatabaseSync, placeOf: (line: string) => string) => {
  const rows = db.prepare('SELECT place, hash, block, text FROM rows WHERE part = ?');
  const blocks = db.prepare('SELECT id, data FROM blocks WHERE id BETWEEN ? AND ?');
  return function* (part: number): Generator<FoundRow | undefined, void> {
    const inBlocks = new Map<string, RowRecord>();
    for (const row of rows.iterate(part) as Iterable<RowRecord & { place: string }>)
      if (row.block === null) yield { ...row, text: row.text ?? '' };
      else {
        inBlocks.set(row.place, row);
        yield undefined;
      }
    const range = [part * BLOCK_IDS, (part + 1) * BLOCK_IDS - 1] as const;
    for (const { id, data } of blocks.iterate(...range) as Iterable<Block>)
      for (const text of decodeBlock(data).split('\n')) {
        const place = placeOf(text);
        const row = inBlocks.get(place);
        // A row that was written again later left its line here.
        if (row?.block !== id) continue;
        yield { place, hash: row.hash, text };
        inBlocks.delete(place);
      }
    for (const [place, { hash }] of inBlocks) yield { place, hash, text: undefined };
  };
};

/**
 * Prepares the check of a partition: reads each of its records. Throws RowDamaged if one of them is not what was written, or
 * if they do not have the digest that was.
 */
export const prepareCheck = (db: DatabaseSync) => {
  const rowsOf = prepareReading(db, placeIn);
  const entries = db.prepare('SELECT scope, list, sort, key FROM entries WHERE part = ?');
  return (part: number, written: RowDigest): void => {
    const check = new PartitionCheck();
    for (const row of rowsOf(part)) {
      if (!row) continue;
      const { place, hash, text } = row;
      if (text === undefined) throw new RowDamaged('a block lacks rows');
      if (hashOf(text) !== hash) throw new RowDamaged('the hash of a row does not fit');
      const [scope, key, sort] = JSON.parse(text) as [string, string, number | null];
      if (rowPlace(scope, key) !== place) throw new RowDamaged('a row is in a wrong place');
      check.addRow({ scope, key }, sort, hash);
    }
    for (const { list, sort, ...row } of entries.iterate(part) as Iterable<Entry>)
      check.addEntry(row, [list, sort]);
    check.requireDigest(written);
  };
};

/**
 * Prepares the reading of a partition's rows as the file has them, also damaged ones. Yields undefined now and then, so
 * that the reader can pause; it keeps a transaction open meanwhile.
 */
export const prepareRows = (
  db: DatabaseSync,
): ((part: number) => Generator<RowJson | undefined, void>) => {
  const rowsOf = prepareReading(db, (line) => {
    const { scope, key } = rowIn(line, '');
    return rowPlace(scope, key);
  });
  return function* (part) {
    for (const row of rowsOf(part))
      yield row?.text === undefined ? undefined : rowIn(row.text, row.place);
  };
};

/** The beginning of a row's text: its scope, its key and its sort key. */
const ROW_START = /^\[("(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"),[^,]*,/;

/** Returns the row; if its text is damaged so that it shows no key, with its place as the key. */
const rowIn = (text: string, place: string): RowJson => {
  const [start, names] = ROW_START.exec(text) ?? [];
  try {
    if (start === undefined) throw new SyntaxError('the text is not a row');
    const [scope, key] = JSON.parse(`[${names}]`) as [string, string];
    return { scope, key, json: text.slice(start.length, -1) };
  } catch {
    return { scope: '', key: place, json: text };
  }
};

/** The place of a line, which may be damaged. */
const placeIn = (text: string): string => {
  try {
    const [scope, key] = JSON.parse(text) as [string, string];
    return rowPlace(scope, key);
  } catch (error) {
    throw new RowDamaged('a row is not JSON', { cause: error });
  }
};

type Block = { id: number; data: Uint8Array };
type Entry = { scope: string; list: ListEntry[0]; sort: number; key: string };
