/** All reads of log.db. Returns only rows that were checked, and throws LogCorrupted if one is missing. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { EVENTS, UPCASTS, type Upcasts } from '#contracts/registries/events.ts';
import {
  LogCorrupted,
  LogIndexDamaged,
  type Position,
  type EventText,
  type EventTime,
  type FoldEvent,
  type StoredEvent,
  ownerOfStream,
} from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  foldedType,
  parseVersionedType,
  readAnyEvent,
  readEvent,
  upcastData,
} from '#src/stores/event-codec.ts';
import { readLogFile } from '#src/stores/sqlite/failure.ts';
import { foldCrc, sealOf, SLICE_BITS } from './log-file.ts';

/** The type names its version too if it is above 1, because a fold does not read the attribution, which has it as well. */
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

type NumberedFoldRow = [...FoldRow, nth?: number];

/** Ends with the number of the event among those of its owner. */
type NumberedRow = readonly [position: number, ...unknown[]];

const numberOf = (row: NumberedRow | undefined): number => Number(row?.at(-1) ?? 0);

/** Rows as arrays: building an object for each row costs as much as reading it. */
const prepareRows = <Row>(db: DatabaseSync, sql: string) => {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return (...values: SQLInputValue[]): Row[] =>
    readLogFile(() => statement.all(...values)) as unknown as Row[];
};

/** Prepares the reads of log.db. */
const prepareReads = (db: DatabaseSync) => {
  const prepareFull = (where: string) =>
    prepareRows<FullRow>(db, `SELECT ${FULL_COLUMNS} FROM events ${where}`);
  // The join reads the slices in order and each slice by position, so no sorting is needed.
  const prepareOwner = <Row>(columns: string) =>
    prepareRows<Row>(
      db,
      `WITH RECURSIVE slices (slice) AS (
         SELECT ?1 UNION ALL SELECT slice + 1 FROM slices WHERE slice < ?2
       )
       SELECT ${columns}, nth FROM slices CROSS JOIN events INDEXED BY events_owner
       ON position >> ${SLICE_BITS} = slice AND owner = ?3
       WHERE position > ?4 AND position <= ?5 LIMIT ?6`,
    );
  const prepareBack = <Row>(columns: string) =>
    prepareRows<Row>(
      db,
      `SELECT ${columns} FROM events INDEXED BY events_owner
       WHERE position >> ${SLICE_BITS} = ? AND owner = ? AND position <= ?
       ORDER BY position DESC LIMIT ?`,
    );
  return {
    byPosition: prepareFull('WHERE position > ? ORDER BY position LIMIT ?'),
    byOwner: prepareOwner<FullRow>(FULL_COLUMNS),
    foldsByOwner: prepareOwner<NumberedFoldRow>(FOLD_COLUMNS),
    backInSlice: prepareBack<FullRow>(`${FULL_COLUMNS}, nth`),
    // The number comes after the data, so it would be read with it.
    timesBack: prepareBack<[position: number, at: number]>('position, at'),
    numbers: prepareOwner<NumberedRow>('position'),
    numbersBack: prepareBack<NumberedRow>(`position, nth`),
    byStream: prepareFull('WHERE stream_id = ? AND revision BETWEEN ? AND ? ORDER BY revision'),
    // One JSON.parse over many joined rows was measured to be no faster than one per row.
    folds: prepareRows<FoldRow>(
      db,
      `SELECT ${FOLD_COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
    ),
    counted: prepareRows<[number]>(db, 'SELECT events FROM owners WHERE owner = ?'),
    end: prepareRows<[number]>(db, 'SELECT coalesce(max(position), 0) FROM events'),
    owners: prepareRows<[string]>(
      db,
      'SELECT owner FROM owners WHERE owner > ? ORDER BY owner LIMIT ?',
    ),
    heads: prepareRows<[streamId: number, counted: number, indexed: number]>(
      db,
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

/** Rows that are read at a time: few at first, because a row can be large, then twice as many, as the page has space for. */
const ROWS_AT_FIRST = 4;
const ROWS_AT_A_TIME = 64;
/** A page ends after this many characters of data, so that it is read within a turn of the event loop. */
const PAGE_CHARS = 1_048_576;

type Take<Row, Item> = {
  limit: number;
  /** Reads at most `limit` rows after the last one that was taken. */
  read(last: Row | undefined, limit: number): readonly Row[];
  /** Checks and decodes a row, whose texts are free afterwards. */
  take(row: Row): Item;
};

/** Takes rows until the limit, the size of a page, or the end; `isCut` if the size ended the page. */
const takePage = <Row extends FullRow | NumberedFoldRow, Item>({
  limit,
  read,
  take,
}: Take<Row, Item>): { items: Item[]; isCut: boolean } => {
  const items: Item[] = [];
  let last: Row | undefined;
  let chars = 0;
  for (let size = ROWS_AT_FIRST; items.length < limit && chars < PAGE_CHARS; ) {
    const asked = Math.min(size, limit - items.length);
    const rows = read(last, asked);
    for (const row of rows) {
      items.push(take(row));
      chars += row[5].length;
    }
    if (rows.length < asked) return { items, isCut: false };
    last = rows.at(-1);
    const perRow = Math.max(1, chars / items.length);
    size = Math.min(2 * size, ROWS_AT_A_TIME, Math.floor((PAGE_CHARS - chars) / perRow));
    size = Math.max(1, size);
  }
  return { items, isCut: items.length < limit };
};

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

/** Requires a position after `after`, and a stream of the owner, in a checked row. */
const requireOwner = (
  [position, stream]: readonly [position: number, stream: string, ...unknown[]],
  owner: string,
  after: Position,
): void => {
  if (stream.startsWith(`${owner}-`) && position > after) return;
  throw new LogIndexDamaged(`the index of owners does not match position ${position}`);
};

type OwnerRange = { after: Position; upTo: Position; limit: number };

const ownerValues = (owner: string, { after, upTo, limit }: OwnerRange) =>
  [sliceOf(after), sliceOf(upTo), owner, after, upTo, limit] as const;

/** Returns the owner's newest rows up to `upTo`, newest first. */
const rowsBack = <Row>(
  readSlice: (slice: number, owner: string, upTo: Position, limit: number) => Row[],
  owner: string,
  { upTo, limit }: Omit<OwnerRange, 'after'>,
): Row[] => {
  const rows: Row[] = [];
  for (let slice = sliceOf(upTo); slice >= 0 && rows.length < limit; slice -= 1)
    rows.push(...readSlice(slice, owner, upTo, limit - rows.length));
  return rows;
};

const OWNERS_AT_ONCE = 10;
const STREAMS_AT_ONCE = 100;
const NUMBERS_AT_ONCE = 1_000;

/** Reads log.db by prepared statements, which check nothing. */
export class LogReader {
  readonly #reads: ReturnType<typeof prepareReads>;
  readonly #head: () => Position;
  readonly #upcasts: Upcasts;

  /** `head` is the last acknowledged position: the file can have unacknowledged events after it. */
  constructor(db: DatabaseSync, head: () => Position, upcasts: Upcasts = UPCASTS) {
    this.#reads = prepareReads(db);
    this.#head = head;
    this.#upcasts = upcasts;
  }

  /** Returns a page of checked rows without decoding them. */
  foldRows(after: Position, limit: number): FoldRow[] {
    const read = this.#denseAfter(this.#reads.folds, after);
    const take = (row: FoldRow): FoldRow => {
      requireFoldRow(row);
      return row;
    };
    return takePage({ limit, read, take }).items;
  }

  page(after: Position, limit: number): FoldEvent[] {
    const read = this.#denseAfter(this.#reads.folds, after);
    return takePage({ limit, read, take: (row) => this.#checkedFold(row) }).items;
  }

  /** Returns a page of checked rows without decoding them. */
  fullRows(after: Position, limit: number): FullRow[] {
    const read = this.#denseAfter(this.#reads.byPosition, after);
    const take = (row: FullRow): FullRow => {
      requireFullRow(row);
      return row;
    };
    return takePage({ limit, read, take }).items;
  }

  readAll(after: Position, limit: number, types?: readonly string[]): StoredEvent[] {
    if (!types) {
      const read = this.#denseAfter(this.#reads.byPosition, after);
      return takePage({ limit, read, take: (row) => this.#decode(row) }).items;
    }
    // SQL would skip a record whose type is damaged.
    const wanted = new Set(types);
    const found: StoredEvent[] = [];
    let chars = 0;
    for (let from = after; found.length < limit && chars < PAGE_CHARS; ) {
      const rows = this.fullRows(from, ROWS_AT_A_TIME);
      const last = rows.at(-1);
      if (!last) break;
      from = last[0];
      for (const row of rows.filter((each) => wanted.has(parseVersionedType(each[3]).type))) {
        found.push(this.#decode(row));
        chars += row[5].length;
      }
    }
    return found.slice(0, limit);
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
    if (limit <= 0 || upTo < after) return;
    let number = before ?? this.#numberBefore(rows[0], owner, after);
    for (const row of rows) {
      number += 1;
      if (numberOf(row) !== number)
        throw new LogIndexDamaged(
          `the index of owners leads to event ${numberOf(row)} of ${owner}, where its event nth is expected`,
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
        `the index of owners ends at event nth of ${owner}, which has ${counted}`,
      );
  }

  readOwner(owner: string, range: OwnerRange): StoredEvent[] {
    return this.#takeOwner(this.#reads.byOwner, owner, {
      ...range,
      take: (row) => this.#decode(row),
    });
  }

  textsOfOwner(owner: string, range: OwnerRange): EventText[] {
    const take = (row: FullRow): EventText => {
      requireFullRow(row);
      const [position, stream, revision, named, , data, , , id, meta] = row;
      const { type } = parseVersionedType(named);
      return { position, stream, owner, revision, id, type, data, meta };
    };
    return this.#takeOwner(this.#reads.byOwner, owner, { ...range, take });
  }

  foldOwner(owner: string, range: OwnerRange): FoldEvent[] {
    return this.#takeOwner(this.#reads.foldsByOwner, owner, {
      ...range,
      take: (row) => this.#checkedFold(row),
    });
  }

  /** Takes a page of an owner's events from an index, and requires that the index hides none of them. */
  #takeOwner<Row extends FullRow | NumberedFoldRow, Item>(
    select: (...values: SQLInputValue[]) => Row[],
    owner: string,
    { take, ...range }: OwnerRange & { take(row: Row): Item },
  ): Item[] {
    const places: NumberedRow[] = [];
    const { items, isCut } = takePage<Row, Item>({
      limit: range.limit,
      read: (last, limit) =>
        select(...ownerValues(owner, { ...range, after: last?.[0] ?? range.after, limit })),
      take(row) {
        const item = take(row);
        requireOwner(row, owner, places.at(-1)?.[0] ?? range.after);
        places.push([row[0], row.at(-1)]);
        return item;
      },
    });
    this.#requireAll(places, owner, isCut ? { ...range, limit: places.length } : range);
    return items;
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
    if (owner !== undefined) return this.#readOwnerBack(owner, upTo, limit);
    const read = (last: FullRow | undefined, asked: number): FullRow[] => {
      const end = last ? last[0] - 1 : upTo;
      const count = Math.max(0, Math.min(asked, end));
      return this.#readDense(this.#reads.byPosition, end - count, count).reverse();
    };
    return takePage({ limit, read, take: (row) => this.#decode(row) }).items.reverse();
  }

  #readOwnerBack(owner: string, upTo: Position, limit: number): StoredEvent[] {
    const places: NumberedRow[] = [];
    const { items, isCut } = takePage<FullRow, StoredEvent>({
      limit,
      read: (last, asked) =>
        rowsBack(this.#reads.backInSlice, owner, { upTo: last ? last[0] - 1 : upTo, limit: asked }),
      take: (row) => {
        const event = this.#decode(row);
        places.push([row[0], row.at(-1)]);
        return event;
      },
    });
    items.reverse();
    places.reverse();
    for (const [n, { stream, position }] of items.entries())
      requireOwner([position, stream], owner, items[n - 1]?.position ?? 0);
    const isWhole = items.length < limit && !isCut;
    const before = isWhole ? 0 : numberOf(places[0]) - 1;
    this.#requireAll(places, owner, { after: 0, upTo, limit: limit > 0 ? Infinity : 0 }, before);
    return items;
  }

  /** Returns positions and times of the owner's newest events up to `upTo`, in log order; nothing is checked. */
  timesBack({ owner, upTo, limit }: Omit<OwnerRange, 'after'> & { owner: string }): EventTime[] {
    const range = { upTo: Math.min(upTo, this.#head()), limit };
    const rows = rowsBack(this.#reads.timesBack, owner, range);
    return rows.map(([position, at]) => ({ position, at })).reverse();
  }

  /** Returns the revisions `from` to `to` (inclusive), which the stream must have. */
  readStream(
    { stream, streamId }: { stream: string; streamId: number },
    [from, to]: readonly [from: number, to: number],
    read = readEvent,
  ): StoredEvent[] {
    const rows = this.#reads.byStream(streamId, from, to);
    requireDense(rows, 2, { first: from, count: to - from + 1 });
    for (const row of rows)
      if (row[1] !== stream)
        throw new LogIndexDamaged(`position ${row[0]} does not belong to ${stream}`);
    return rows.map((row) => this.#decode(row, read));
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

  /** Returns the reads of a page, which continue after the last row up to the head. */
  #denseAfter<Row extends readonly [Position, ...unknown[]]>(
    select: (after: Position, limit: number) => Row[],
    after: Position,
  ): (last: Row | undefined, limit: number) => Row[] {
    return (last, limit) => this.#readDense(select, last?.[0] ?? after, limit);
  }

  #decode(row: FullRow, read = readAnyEvent): StoredEvent {
    requireFullRow(row);
    const [position, stream, revision, named, , data, , owner, id, meta] = row;
    const { type } = parseVersionedType(named);
    const event = { id, type, data: JSON.parse(data), meta: JSON.parse(meta) };
    return read(this.#upcasts, { ...event, stream, owner, revision, position });
  }

  #checkedFold(row: NumberedFoldRow): FoldEvent {
    requireFoldRow(row);
    return this.toFold(row);
  }

  /** Decodes a row, which was checked. */
  toFold([position, stream, revision, named, at, text]: NumberedFoldRow): FoldEvent {
    const version = parseVersionedType(named);
    const type = foldedType(this.#upcasts, version);
    return {
      position,
      stream,
      owner: shareOwner(stream),
      revision,
      type: TYPES.get(type) ?? type,
      at,
      data: upcastData(this.#upcasts, version, JSON.parse(text)),
    };
  }
}
