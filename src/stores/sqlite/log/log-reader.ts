/** All reads of log.db. Returns only rows that were checked, and throws LogCorrupted if one is missing. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { EVENTS } from '#contracts/registries/events.ts';
import {
  LogCorrupted,
  LogIndexDamaged,
  type Position,
  type EventText,
  eventTextOf,
  type FoldEvent,
  type StoredEvent,
  ownerOfStream,
} from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  readAnyEvent,
  readEvent,
  upcastData,
  UPCASTS,
  type Upcasts,
} from '#src/stores/event-codec.ts';
import { readLogFile } from '#src/stores/sqlite/failure.ts';
import { inTransaction, queryValue, type StoreKind } from '#src/stores/sqlite/open.ts';
import type { Recording, Records } from './committer.ts';

/** 4,096 events share a slice of the owner index. Part of the file format. */
const SLICE_BITS = 12;

/**
 * What the indexes must have, written with each event: its number among its owner's events (`nth`), the events of each owner,
 * and the last revision of a stream with more than one event. A flipped bit in a page of an index hides events or leads a
 * search past them, and SQLite does not notice it.
 */
const COUNTS = `
  CREATE TABLE owners (owner TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE heads (stream_id INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
  CREATE TRIGGER events_counted AFTER INSERT ON events BEGIN
    INSERT INTO owners VALUES (new.owner, 1) ON CONFLICT (owner) DO UPDATE SET events = events + 1;
    INSERT OR REPLACE INTO heads SELECT new.stream_id, new.revision WHERE new.revision > 0;
  END;
`;

/** Fills the counts from the records. */
const FILL_COUNTS = `
  INSERT INTO owners SELECT owner, count(*) FROM events NOT INDEXED GROUP BY owner;
  INSERT INTO heads SELECT stream_id, max(revision) FROM events NOT INDEXED WHERE revision > 0 GROUP BY stream_id;
  UPDATE events SET nth = right.nth FROM (
    SELECT position, row_number() OVER (PARTITION BY owner ORDER BY position) AS nth FROM events NOT INDEXED
  ) AS right WHERE events.position = right.position AND events.nth <> right.nth;
`;

/** Builds the indexes and the counts again from the records, which must be intact. */
export const rebuildIndexes = (db: DatabaseSync): void =>
  inTransaction(db, () =>
    db.exec(`
      REINDEX events;
      DELETE FROM owners;
      DELETE FROM heads;
      ${FILL_COUNTS}
    `),
  );

/**
 * The format of log.db and its records. SQLite does not notice a flipped bit in a table page, so each record has two
 * CRC-32: `crc` over what a fold reads, so that a rebuild checks it without reading the rest, and `seal` over the whole
 * record, continued from `crc`.
 */
export const LOG_STORE: StoreKind = {
  what: 'event log',
  applicationId: 0x5452_424c,
  version: 2,
  synchronous: 'FULL',
  cacheKiB: 16_384,
  // No index has a random key, because each insert would write a page of its own (half the speed).
  // The id of a stream is the position of its first event, which rises with time; streams.db holds the
  // names. Owners are indexed within slices of the log, so that inserts touch few pages, however many
  // owners are active; a reader looks into each slice. SQLite appends the position to each index.
  schema: `
    CREATE TABLE events (
      position INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, revision INTEGER NOT NULL,
      owner TEXT NOT NULL, stream TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
      at INTEGER NOT NULL, data TEXT NOT NULL, meta TEXT NOT NULL,
      crc INTEGER NOT NULL, seal INTEGER NOT NULL, nth INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX events_stream ON events (stream_id, revision);
    CREATE INDEX events_owner ON events (position >> ${SLICE_BITS}, owner);
    CREATE TABLE about (id TEXT NOT NULL);
    INSERT INTO about VALUES (lower(hex(randomblob(16))));
    ${COUNTS}
  `,
  migrate: (db) =>
    db.exec(
      `ALTER TABLE events ADD COLUMN nth INTEGER NOT NULL DEFAULT 0; ${COUNTS} ${FILL_COUNTS}`,
    ),
};

const COLUMN_COUNT = 12;

export const LOG_RECORDING: Recording = {
  insert: `INSERT INTO events VALUES (${Array(COLUMN_COUNT).fill('?').join()},
    (SELECT coalesce(max(events), 0) + 1 FROM owners WHERE owner = ?4))`,
  columns: COLUMN_COUNT,
};

/** Returns position and seal of the last of some records, of which there is at least one. */
export const endOf = (records: Records): { position: number; seal: number } => ({
  position: Number(records.at(-COLUMN_COUNT)),
  seal: Number(records.at(-1)),
});

const FOLD_COLUMNS = 'position, stream, revision, type, at, data, crc';
type FoldRow = [
  position: number,
  stream: string,
  revision: number,
  type: string,
  at: number,
  data: string,
  crc: number,
];

const FULL_COLUMNS = `${FOLD_COLUMNS}, owner, id, meta, seal`;
type FullRow = [...FoldRow, owner: string, id: string, meta: string, seal: number, nth?: number];

const TWO_32 = 4_294_967_296;
const typeCrcs = new Map<string, number>();
const typeCrc = (type: string): number => {
  const cached = typeCrcs.get(type);
  if (cached !== undefined) return cached;
  const crc = crc32(type);
  // Bounded, because a damaged file can have any text here.
  if (typeCrcs.size < 256) typeCrcs.set(type, crc);
  return crc;
};

const mix = (mixed: number, part: number): number => {
  const next = Math.imul(mixed ^ part, 0x9e37_79b1);
  return next ^ (next >>> 15);
};

/**
 * Computes the checksum of what a fold reads. Mixes the numbers into the start value instead of the
 * checked text, because formatting them costs more than the rest of the check.
 */
export const foldCrc = (
  row: readonly [number, string, number, string, number, string, ...unknown[]],
): number => {
  const [position, stream, revision, type, at, data] = row;
  const start = mix(mix(typeCrc(type), position), position / TWO_32);
  const mixed = mix(mix(mix(start, revision), at), at / TWO_32);
  return crc32(data, crc32(stream, mixed >>> 0));
};

export const sealOf = (crc: number, id: string, meta: string): number =>
  crc32(meta, crc32(id, crc));

const damaged = (position: unknown, what: string): LogCorrupted =>
  new LogCorrupted(
    `the record at position ${String(position)} of the log is damaged: ${what}. Restore the data ` +
      'directory from a backup.',
  );

/**
 * Throws LogCorrupted if the checksum does not fit. A flipped bit can also change the type of a
 * column, and the checksum alone does not distinguish null or 0.5 from 0.
 */
const requireFoldRow = (row: readonly [...FoldRow, ...unknown[]]): void => {
  const [position, stream, revision, type, at, data, crc] = row;
  const areTexts =
    typeof stream === 'string' && typeof type === 'string' && typeof data === 'string';
  const areIntegers = Number.isSafeInteger(revision) && Number.isSafeInteger(at);
  if (!areTexts || !areIntegers || foldCrc(row) !== crc)
    throw damaged(position, 'its checksum does not fit');
};

/** Throws LogCorrupted if a checksum of the row, with its attribution, does not fit. */
const requireFullRow = (row: FullRow): void => {
  requireFoldRow(row);
  const [position, stream, , , , , crc, owner, id, meta, seal] = row;
  const areTexts = typeof id === 'string' && typeof meta === 'string';
  if (!areTexts || sealOf(crc, id, meta) !== seal) {
    throw damaged(position, 'the checksum of its attribution does not fit');
  }
  if (owner !== ownerOfStream(stream)) {
    throw damaged(position, 'its owner differs from the owner in its stream name');
  }
};

/** Has `meta.v` if an upcast needs it. */
type FoldRowV = [...FoldRow, v?: number | null, nth?: number];

/** Ends with the number of the event among those of its owner, which a file of format 1 has not. */
type NumberedRow = readonly [position: number, ...unknown[]];

const numberOf = (row: NumberedRow | undefined): number => Number(row?.at(-1) ?? 0);

/** Rows as arrays: building an object for each row costs as much as reading it. */
const prepareRows = <Row>(db: DatabaseSync, sql: string) => {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return (...values: SQLInputValue[]): Row[] =>
    readLogFile(() => statement.all(...values)) as unknown as Row[];
};

/** Prepares the reads of log.db; those of a fold have `meta.v` if there are upcasts. */
const prepareReads = (db: DatabaseSync, hasUpcasts: boolean) => {
  const prepareFull = (where: string) =>
    prepareRows<FullRow>(db, `SELECT ${FULL_COLUMNS} FROM events ${where}`);
  // The versions are read only if an upcast needs them.
  const version = hasUpcasts ? ", meta ->> '$.v'" : '';
  const foldColumns = `${FOLD_COLUMNS}${version}`;
  // A file of format 1 that is only inspected has no counts.
  const isCounted = Number(queryValue(db, 'PRAGMA user_version')) > 1;
  const number = isCounted ? 'nth' : 'NULL';
  // The join reads the slices in order and each slice by position, so no sorting is needed.
  const prepareOwner = <Row>(columns: string) =>
    prepareRows<Row>(
      db,
      `WITH RECURSIVE slices (slice) AS (
         SELECT ?1 UNION ALL SELECT slice + 1 FROM slices WHERE slice < ?2
       )
       SELECT ${columns}, ${number} FROM slices CROSS JOIN events INDEXED BY events_owner
       ON position >> ${SLICE_BITS} = slice AND owner = ?3
       WHERE position > ?4 AND position <= ?5 LIMIT ?6`,
    );
  const prepareBack = <Row>(columns: string) =>
    prepareRows<Row>(
      db,
      `SELECT ${columns}, ${number} FROM events INDEXED BY events_owner
       WHERE position >> ${SLICE_BITS} = ? AND owner = ? AND position <= ?
       ORDER BY position DESC LIMIT ?`,
    );
  const prepareCounts = <Row>(sql: string): ((...values: SQLInputValue[]) => Row[]) =>
    isCounted ? prepareRows<Row>(db, sql) : () => [];
  return {
    isCounted,
    byPosition: prepareFull('WHERE position > ? ORDER BY position LIMIT ?'),
    byOwner: prepareOwner<FullRow>(FULL_COLUMNS),
    foldsByOwner: prepareOwner<FoldRowV>(`${FOLD_COLUMNS}${version || ', NULL'}`),
    backInSlice: prepareBack<FullRow>(FULL_COLUMNS),
    numbers: prepareOwner<NumberedRow>('position'),
    numbersBack: prepareBack<NumberedRow>('position'),
    byStream: prepareFull('WHERE stream_id = ? AND revision BETWEEN ? AND ? ORDER BY revision'),
    // One JSON.parse over many joined rows was measured to be no faster than one per row.
    folds: prepareRows<FoldRowV>(
      db,
      `SELECT ${foldColumns} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
    ),
    counted: prepareCounts<[number]>('SELECT events FROM owners WHERE owner = ?'),
    end: prepareRows<[number]>(db, 'SELECT coalesce(max(position), 0) FROM events'),
    owners: prepareCounts<[string]>(
      'SELECT owner FROM owners WHERE owner > ? ORDER BY owner LIMIT ?',
    ),
    heads: prepareCounts<[streamId: number, counted: number, indexed: number]>(
      `SELECT stream_id, revision, (SELECT max(revision) FROM events WHERE stream_id = heads.stream_id)
       FROM heads WHERE stream_id > ? ORDER BY stream_id LIMIT ?`,
    ),
    seal: prepareRows<[number]>(db, 'SELECT seal FROM events WHERE position = ?'),
    stream: prepareRows<[string]>(db, 'SELECT stream FROM events WHERE position = ?'),
  };
};

const sliceOf = (position: Position): number => Math.floor(position / 2 ** SLICE_BITS);

/*
 * SQLite returns a new string for each value. A fold keeps millions of types and owners and compares
 * them often: sharing one string per value saves memory and makes equal ones identical.
 */
const TYPES: ReadonlyMap<string, string> = new Map(Object.keys(EVENTS).map((type) => [type, type]));
const OWNERS_MAX = 10_000;
const owners = new GenerationCache<string, string>(OWNERS_MAX);

const shareOwner = (stream: string): string => {
  const owner = ownerOfStream(stream);
  const shared = owners.get(owner);
  if (shared === undefined) owners.set(owner, owner);
  return shared ?? owner;
};

/** Rows of a fold in memory at a time, so that their texts are freed before a large page is complete. */
const ROWS_AT_A_TIME = 256;

/**
 * Positions and revisions have no gaps: requires the numbers from `first` on in a column, and at least
 * `count` of them, so that a row that an index or a page lost is noticed.
 */
const requireDense = (
  rows: readonly (readonly unknown[])[],
  column: number,
  { first, count }: { first: number; count: number },
): void => {
  for (let index = 0; index < Math.max(count, rows.length); index += 1) {
    const wanted = first + index;
    if (rows[index]?.[column] === wanted) continue;
    if (column === 0) throw damaged(wanted, 'it is missing');
    throw new LogIndexDamaged(
      `revision ${wanted} is missing in a stream, before position ${Number(rows[index]?.[0])}`,
    );
  }
};

/** Requires rising positions after `after`, and streams of the owner, in checked rows. */
const requireOwner = (
  rows: readonly (readonly [...FoldRow, ...unknown[]])[],
  owner: string,
  after: Position,
): void => {
  let previous = after;
  for (const [position, stream] of rows) {
    if (!stream.startsWith(`${owner}-`) || position <= previous)
      throw new LogIndexDamaged(`the index of owners does not match position ${position}`);
    previous = position;
  }
};

type OwnerRange = { after: Position; upTo: Position; limit: number };

const ownerValues = (owner: string, { after, upTo, limit }: OwnerRange) =>
  [sliceOf(after), sliceOf(upTo), owner, after, upTo, limit] as const;

const OWNERS_AT_ONCE = 10;
const STREAMS_AT_ONCE = 100;
const NUMBERS_AT_ONCE = 1_000;

/** Reads log.db by prepared statements, which check nothing. */
export class LogReader {
  readonly #reads: ReturnType<typeof prepareReads>;
  readonly #head: () => Position;
  readonly #upcasts: Upcasts;
  readonly #hasUpcasts: boolean;

  /** `head` is the last acknowledged position: the file can have unacknowledged events after it. */
  constructor(db: DatabaseSync, head: () => Position, upcasts: Upcasts = UPCASTS) {
    this.#hasUpcasts = Object.keys(upcasts).length > 0;
    this.#reads = prepareReads(db, this.#hasUpcasts);
    this.#head = head;
    this.#upcasts = upcasts;
  }

  foldRows(after: Position, limit: number): FoldRowV[] {
    const rows = this.#readDense(this.#reads.folds, after, limit);
    for (const row of rows) requireFoldRow(row);
    return rows;
  }

  page(after: Position, limit: number): FoldEvent[] {
    const events: FoldEvent[] = [];
    for (let left = limit; left > 0; left -= ROWS_AT_A_TIME) {
      const rows = this.foldRows(after + events.length, Math.min(left, ROWS_AT_A_TIME));
      for (const row of rows) events.push(this.#toFold(row));
      if (rows.length < ROWS_AT_A_TIME) break;
    }
    return events;
  }

  /** Returns checked rows without decoding them. */
  fullRows(after: Position, limit: number): FullRow[] {
    const rows = this.#readDense(this.#reads.byPosition, after, limit);
    for (const row of rows) requireFullRow(row);
    return rows;
  }

  readAll(after: Position, limit: number, types?: readonly string[]): StoredEvent[] {
    if (!types) return this.#decode(this.#readDense(this.#reads.byPosition, after, limit));
    // SQL would skip a record whose type is damaged.
    const wanted = new Set(types);
    const found: FullRow[] = [];
    for (let from = after; from < this.#head() && found.length < limit; from += ROWS_AT_A_TIME)
      found.push(...this.fullRows(from, ROWS_AT_A_TIME).filter(([, , , type]) => wanted.has(type)));
    return this.#decode(found.slice(0, limit));
  }

  /** Returns the number of the owner's last event up to `after`, before `first`; 0 if there is none. */
  #numberBefore(first: NumberedRow | undefined, owner: string, after: Position): number {
    if (after === 0 || numberOf(first) === 1) return 0;
    for (let slice = sliceOf(after); slice >= 0; slice -= 1) {
      const [row] = this.#reads.numbersBack(slice, owner, after, 1);
      if (row) return numberOf(row);
    }
    return 0;
  }

  /**
   * Requires that `rows`, in log order, are all events of the owner after `after` up to `upTo`, unless they are cut by a
   * limit. The numbers of the owner's events have no gaps, and the count has the last one.
   */
  #requireAll(
    rows: readonly NumberedRow[],
    owner: string,
    { after, upTo, limit }: OwnerRange,
    before?: number,
  ): void {
    if (!this.#reads.isCounted || limit <= 0 || upTo < after) return;
    let number = before ?? this.#numberBefore(rows[0], owner, after);
    for (const row of rows) {
      number += 1;
      if (numberOf(row) !== number)
        throw new LogIndexDamaged(
          `the index of owners leads to event ${numberOf(row)} of ${owner}, where its event ${number} is expected`,
        );
    }
    if (rows.length < limit) this.#requireLast(owner, number, upTo);
  }

  /** Requires that the owner has no event between its event `number` and the end of what was read. */
  #requireLast(owner: string, number: number, upTo: Position): void {
    const [counted] = this.#reads.counted(owner)[0] ?? [0];
    if (counted === number) return;
    // What was counted more comes after what was read: events of the future, or not yet acknowledged.
    const [end] = this.#reads.end()[0] ?? [0];
    const range = { after: upTo, upTo: end, limit: 1 };
    const [next] = counted > number ? this.#reads.numbers(...ownerValues(owner, range)) : [];
    if (numberOf(next) !== number + 1)
      throw new LogIndexDamaged(
        `the index of owners ends at event ${number} of ${owner}, which has ${counted}`,
      );
  }

  readOwner(owner: string, range: OwnerRange): StoredEvent[] {
    const rows = this.#reads.byOwner(...ownerValues(owner, range));
    const events = this.#decode(rows);
    requireOwner(rows, owner, range.after);
    this.#requireAll(rows, owner, range);
    return events;
  }

  textsOfOwner(owner: string, range: OwnerRange): EventText[] {
    if (this.#hasUpcasts) return this.readOwner(owner, range).map(eventTextOf);
    const rows = this.#reads.byOwner(...ownerValues(owner, range));
    for (const row of rows) requireFullRow(row);
    requireOwner(rows, owner, range.after);
    this.#requireAll(rows, owner, range);
    return rows.map(([position, stream, revision, type, , data, , , id, meta]) => {
      return { position, stream, owner, revision, id, type, data, meta };
    });
  }

  foldOwner(owner: string, range: OwnerRange): FoldEvent[] {
    const rows = this.#reads.foldsByOwner(...ownerValues(owner, range));
    for (const row of rows) requireFoldRow(row);
    requireOwner(rows, owner, range.after);
    this.#requireAll(rows, owner, range);
    return rows.map((row) => this.#toFold(row));
  }

  /** Returns the next owners after this one, in the order of their names. */
  ownersAfter(owner: string): string[] {
    return this.#reads.owners(owner, OWNERS_AT_ONCE).map(([next]) => next);
  }

  /** Compares the next events of the owner with their numbers; returns the last position, or undefined after the end. */
  requireOwned(owner: string, after: Position): Position | undefined {
    const range = { after, upTo: this.#head(), limit: NUMBERS_AT_ONCE };
    const rows = this.#reads.numbers(...ownerValues(owner, range));
    this.#requireAll(rows, owner, range);
    return rows.length < range.limit ? undefined : rows.at(-1)?.[0];
  }

  /** Compares the next streams after this id with their last revisions; returns the last id, or undefined after the end. */
  requireHeads(after: number): number | undefined {
    const heads = this.#reads.heads(after, STREAMS_AT_ONCE);
    for (const [streamId, counted, indexed] of heads)
      if (counted !== indexed)
        throw new LogIndexDamaged(
          `the index of streams ends at revision ${indexed} of the stream at position ${streamId}, which has ${counted}`,
        );
    return heads.at(-1)?.[0];
  }

  /** Returns the newest events up to `upTo`, which must not exceed the head, in log order. */
  readBack(upTo: Position, limit: number, owner?: string): StoredEvent[] {
    if (owner === undefined) {
      const count = Math.max(0, Math.min(limit, upTo));
      return this.#decode(this.#readDense(this.#reads.byPosition, upTo - count, count));
    }
    const rows: FullRow[] = [];
    for (let slice = sliceOf(upTo); slice >= 0 && rows.length < limit; slice -= 1)
      rows.push(...this.#reads.backInSlice(slice, owner, upTo, limit - rows.length));
    rows.reverse();
    const events = this.#decode(rows);
    requireOwner(rows, owner, 0);
    const range = { after: 0, upTo, limit: limit > 0 ? Infinity : 0 };
    const first = rows.length < limit ? 0 : numberOf(rows[0]) - 1;
    this.#requireAll(rows, owner, range, first);
    return events;
  }

  /** Returns the revisions `from` to `to` (inclusive), which the stream must have. */
  readStream(
    { stream, streamId }: { stream: string; streamId: number },
    from: number,
    to: number,
  ): StoredEvent[] {
    const rows = this.#reads.byStream(streamId, from, to);
    requireDense(rows, 2, { first: from, count: to - from + 1 });
    for (const row of rows)
      if (row[1] !== stream)
        throw new LogIndexDamaged(`position ${row[0]} does not belong to ${stream}`);
    return this.#decode(rows, readEvent);
  }

  sealAt(position: Position): number | undefined {
    return this.#reads.seal(position)[0]?.[0];
  }

  streamAt(position: Position): string | undefined {
    return this.#reads.stream(position)[0]?.[0];
  }

  /** Reads rows only up to the head. */
  #readDense<Row extends readonly unknown[]>(
    read: (after: Position, limit: number) => Row[],
    after: Position,
    limit: number,
  ): Row[] {
    const count = Math.max(0, Math.min(limit, this.#head() - after));
    const rows = read(after, count);
    requireDense(rows, 0, { first: after + 1, count });
    return rows;
  }

  #decode(rows: readonly FullRow[], read = readAnyEvent): StoredEvent[] {
    return rows.map((row) => {
      requireFullRow(row);
      const [position, stream, revision, type, , data, , owner, id, meta] = row;
      const event = { id, type, data: JSON.parse(data), meta: JSON.parse(meta) };
      return read(this.#upcasts, { ...event, stream, owner, revision, position });
    });
  }

  #toFold([position, stream, revision, type, at, text, , v]: FoldRowV): FoldEvent {
    const data = JSON.parse(text) as object;
    return {
      position,
      stream,
      owner: shareOwner(stream),
      revision,
      type: TYPES.get(type) ?? type,
      at,
      data: typeof v !== 'number' ? data : upcastData(this.#upcasts, { type, v }, data),
    };
  }
}
