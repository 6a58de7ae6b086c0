/** All reads of log.db. No row leaves here unchecked, and none that should be there is left out. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { EVENTS } from '#contracts/events/index.ts';
import type { FoldEvent, Position, StoredEvent } from '#src/ports/event-log.ts';
import {
  readAnyEvent,
  readEvent,
  upcastData,
  UPCASTS,
  type Upcasts,
} from '#src/adapters/event-codec.ts';
import { reading } from '../failure.ts';
import type { FoldRow, FullRow } from './log-records.ts';
import {
  damaged,
  FOLD_COLUMNS,
  FULL_COLUMNS,
  requireFoldRow,
  requireFullRow,
  SLICE_BITS,
} from './log-records.ts';

/** Ends with `meta.v` where an upcast needs it. */
type FoldRowV = [...FoldRow, v?: number];

/*
 * SQLite hands out a new string for each value. A fold keeps types and owners by the million, and
 * compares them more often still: one string for all of them is smaller, and equal at a glance.
 */
const TYPES: ReadonlyMap<string, string> = new Map(Object.keys(EVENTS).map((type) => [type, type]));
const OWNERS_MAX = 10_000;
const owners = new Map<string, string>();

const ownerIn = (stream: string): string => {
  const owner = stream.slice(0, stream.indexOf('-'));
  const known = owners.get(owner);
  if (known !== undefined) return known;
  if (owners.size >= OWNERS_MAX) owners.clear();
  owners.set(owner, owner);
  return owner;
};

/** Rows of a fold in memory at a time: their texts are gone before a large page is complete. */
const PIECE = 256;

/** Rows as arrays: building an object per row costs as much as reading it. */
const rowsOf = <Row>(db: DatabaseSync, sql: string) => {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return (...values: SQLInputValue[]): Row[] =>
    reading(() => statement.all(...values)) as unknown as Row[];
};

/** Positions and revisions have no holes; an index or a page that lost a row shows as one. */
const requireDense = (
  rows: readonly (readonly unknown[])[],
  column: number,
  range: [number, number],
) => {
  const [first, count] = range;
  for (let index = 0; index < Math.max(count, rows.length); index += 1) {
    const wanted = first + index;
    if (rows[index]?.[column] === wanted) continue;
    if (column === 0) throw damaged(wanted, 'it is missing');
    throw damaged(rows[index]?.[0] ?? 'unknown', `revision ${wanted} of its stream is missing`);
  }
};

export type LogReader = ReturnType<typeof logReader>;

export const logReader = (db: DatabaseSync, head: () => Position, upcasts: Upcasts = UPCASTS) => {
  const full = (where: string) =>
    rowsOf<FullRow>(db, `SELECT ${FULL_COLUMNS} FROM events ${where}`);
  const byPosition = full('WHERE position > ? ORDER BY position LIMIT ?');
  const byType = full(
    `WHERE position > ? AND position <= ? AND type IN (SELECT value FROM json_each(?))
     ORDER BY position LIMIT ?`,
  );
  // The join walks the slices in order and each slice by position; the sorter is not needed.
  const byOwner = rowsOf<FullRow>(
    db,
    `WITH RECURSIVE slices (slice) AS (
       SELECT ?1 UNION ALL SELECT slice + 1 FROM slices WHERE slice < ?2
     )
     SELECT ${FULL_COLUMNS} FROM slices CROSS JOIN events INDEXED BY events_owner
     ON position >> ${SLICE_BITS} = slice AND owner = ?3
     WHERE position > ?4 AND position <= ?5 LIMIT ?6`,
  );
  const backInSlice = full(
    `INDEXED BY events_owner
     WHERE position >> ${SLICE_BITS} = ? AND owner = ? AND position <= ?
     ORDER BY position DESC LIMIT ?`,
  );
  const sliceOf = (position: Position): number => Math.floor(position / 2 ** SLICE_BITS);
  const byStream = full('WHERE stream_id = ? AND revision BETWEEN ? AND ? ORDER BY revision');
  // Versions are looked for only when there is something to do about them.
  const version = Object.keys(upcasts).length > 0 ? ", meta ->> '$.v'" : '';
  // One JSON.parse over many joined rows is no quicker here than a parse per row: measured.
  const folding = rowsOf<FoldRowV>(
    db,
    `SELECT ${FOLD_COLUMNS}${version} FROM events WHERE position > ? ORDER BY position LIMIT ?`,
  );
  const sealed = rowsOf<[number]>(db, 'SELECT seal FROM events WHERE position = ?');
  const named = rowsOf<[string]>(db, 'SELECT stream FROM events WHERE position = ?');

  /** What a commit wrote is nobody's before it is answered: the file may be ahead of the head. */
  const within = (after: Position, limit: number): number =>
    Math.max(0, Math.min(limit, head() - after));

  const rowEvent = (row: FullRow): StoredEvent => {
    requireFullRow(row);
    const [position, stream, revision, type, , data, , owner, id, meta] = row;
    const event = { id, type, data: JSON.parse(data), meta: JSON.parse(meta) };
    return { ...event, stream, owner, revision, position };
  };
  const stored = (row: FullRow): StoredEvent => readAnyEvent(upcasts, rowEvent(row));

  const densely = (after: Position, limit: number): FullRow[] => {
    const count = within(after, limit);
    const rows = byPosition(after, count);
    requireDense(rows, 0, [after + 1, count]);
    return rows;
  };

  const requireOwn = (rows: readonly FullRow[], owner: string, after: Position): void => {
    let before = after;
    for (const [position, , , , , , , own] of rows) {
      if (own !== owner || position <= before)
        throw damaged(position, 'the index of owners does not fit it');
      before = position;
    }
  };

  const foldRows = (after: Position, limit: number): FoldRowV[] => {
    const count = within(after, limit);
    const rows = folding(after, count);
    requireDense(rows, 0, [after + 1, count]);
    for (const row of rows) requireFoldRow(row);
    return rows;
  };

  const folded = ([position, stream, revision, type, at, text, , v]: FoldRowV): FoldEvent => {
    const data = JSON.parse(text) as object;
    return {
      position,
      stream,
      owner: ownerIn(stream),
      revision,
      type: TYPES.get(type) ?? type,
      at,
      data: v === undefined ? data : upcastData(upcasts, type, v, data),
    };
  };

  return {
    foldRows,
    page(after: Position, limit: number): FoldEvent[] {
      const events: FoldEvent[] = [];
      for (let left = limit; left > 0; left -= PIECE) {
        const rows = foldRows(after + events.length, Math.min(left, PIECE));
        for (const row of rows) events.push(folded(row));
        if (rows.length < PIECE) break;
      }
      return events;
    },
    /** Checked rows, without a look at what they mean. */
    fullRows(after: Position, limit: number): FullRow[] {
      const rows = densely(after, limit);
      for (const row of rows) requireFullRow(row);
      return rows;
    },
    all(after: Position, limit: number, types?: readonly string[]): StoredEvent[] {
      if (types) return byType(after, head(), JSON.stringify(types), limit).map(stored);
      return densely(after, limit).map(stored);
    },
    owner(owner: string, after: Position, upTo: Position, limit: number): StoredEvent[] {
      const rows = byOwner(sliceOf(after), sliceOf(upTo), owner, after, upTo, limit);
      requireOwn(rows, owner, after);
      return rows.map(stored);
    },
    /** The newest up to `upTo`, which the log has, in log order. */
    back(upTo: Position, limit: number, owner?: string): StoredEvent[] {
      if (owner === undefined) {
        const count = Math.max(0, Math.min(limit, upTo));
        return densely(upTo - count, count).map(stored);
      }
      const rows: FullRow[] = [];
      for (let slice = sliceOf(upTo); slice >= 0 && rows.length < limit; slice -= 1)
        rows.push(...backInSlice(slice, owner, upTo, limit - rows.length));
      rows.reverse();
      requireOwn(rows, owner, 0);
      return rows.map(stored);
    },
    /** Revisions `from` to `to` (inclusive) of a stream that has them. */
    stream(stream: string, streamId: number, from: number, to: number): StoredEvent[] {
      const rows = byStream(streamId, from, to);
      requireDense(rows, 2, [from, to - from + 1]);
      for (const row of rows) {
        if (row[1] !== stream) throw damaged(row[0], `it does not belong to ${stream}`);
      }
      return rows.map((row) => readEvent(upcasts, rowEvent(row)));
    },
    sealAt: (position: Position): number | undefined => sealed(position)[0]?.[0],
    streamAt: (position: Position): string | undefined => named(position)[0]?.[0],
  };
};
