/** Pages of read models: cursors, listings, and scans of several lists. */
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { ListQuery, ReadModels, Row } from '#src/ports/read-model.ts';
import type { Clock, Secrets } from '#src/ports/system.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { eventLoopTurns } from '#src/shared/work.ts';
import { digestOf } from '#src/writing/streams.ts';

/**
 * A cursor is opaque and signed. It holds a place in a listing and the time at which it was made; the
 * signature binds it to the owner and the query, so no other listing accepts it.
 */
const BODY = z.tuple([z.unknown(), z.int()]);

const MAC_CHARS = 32;

type CursorDeps = { secrets: Secrets; clock: Pick<Clock, 'now'> };

type ReadPlace<Place> = { ok: true; place: Place } | Refusal;

const INVALID = refuse('cursor_invalid', 'The cursor does not belong to this listing.');

/** Writes a cursor. `place` is JSON of at most about 250 bytes. */
export const writeCursor = (
  deps: CursorDeps,
  binding: readonly string[],
  place: unknown,
): string => {
  const body = Buffer.from(JSON.stringify([place, deps.clock.now()])).toString('base64url');
  return `${body}.${mac(deps.secrets, binding, body)}`;
};

/** Reads a cursor back; refuses one of another listing, of another shape or, unless it is lasting, older than a day. */
export const readPlace = <Place>(
  deps: CursorDeps,
  binding: readonly string[],
  {
    cursor,
    shape,
    isLasting = false,
  }: { cursor: string; shape: z.ZodType<Place>; isLasting?: boolean },
): ReadPlace<Place> => {
  const [body = '', sentMac] = cursor.split('.');
  if (sentMac !== mac(deps.secrets, binding, body)) return INVALID;
  const parsed = BODY.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  const place = shape.safeParse(parsed.data?.[0]);
  if (!parsed.success || !place.success) return INVALID;
  if (!isLasting && deps.clock.now() - parsed.data[1] > LIMITS.CURSOR_AGE_MS_MAX)
    return refuse('cursor_expired', 'A cursor is valid for one day. Start again without it.');
  return { ok: true, place: place.data };
};

/** When a cursor of this service was written, in epoch milliseconds. */
export const timeOfCursor = (cursor: string): number => {
  const [body = ''] = cursor.split('.');
  return BODY.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))[1];
};

/** Reads a cursor whose place is a whole number. */
export const readCursor = (
  deps: CursorDeps,
  binding: readonly string[],
  cursor: string,
): ReadPlace<number> => readPlace(deps, binding, { cursor, shape: z.int() });

const mac = (secrets: Secrets, binding: readonly string[], body: string): string =>
  secrets.mac('cursor', digestOf(...binding, body)).slice(0, MAC_CHARS);

/** What a cursor is bound to: the owner, and every parameter that decides the rows and their order. */
export const bindingOf = (
  ownerId: string,
  operation: string,
  input: Record<string, unknown>,
): string[] => {
  const { cursor: _cursor, limit: _limit, ...rest } = input;
  return [ownerId, operation, JSON.stringify(rest)];
};

type Reader = Pick<ReadModels, 'list'>;

/** Reads one page; `next_before` is where the next one starts, and null on the last. */
export const pageOf = async <R extends Row>(
  readModels: Reader,
  name: string,
  { scope, before, limit }: { scope: string; before?: number | undefined; limit: number },
): Promise<{ rows: R[]; next_before: number | null }> => {
  const rows = await readModels.list<R>(name, { scope, limit: limit + 1, ...present({ before }) });
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.sort ?? null) : null;
  return { rows: page.map(({ row }) => row), next_before: next };
};

/** Reads all rows of the query in pages of `query.limit`; ends after a page that is not full. */
export const listing = async function* <R extends Row>(
  readModels: Reader,
  name: string,
  query: ListQuery,
): AsyncGenerator<{ row: R; sort: number; key: string }[], void> {
  for (let rest = query; ; ) {
    await eventLoopTurns.pause();
    const page = await readModels.list<R>(name, rest);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < query.limit) return;
    rest = { ...query, before: last.sort };
  }
};

/** Reads all pages of a desk list and joins their data into the last page. */
export const everyPage = async <Page extends { data: unknown[]; next_before: number | null }>(
  pageFrom: (before: number | undefined) => Promise<Page>,
): Promise<Page> => {
  const data: unknown[] = [];
  for (let before: number | undefined; ; ) {
    const page = await pageFrom(before);
    data.push(...page.data);
    if (page.next_before === null) return { ...page, data };
    before = page.next_before;
  }
};

/** Growth of the reads for one page: the first read has the size of the page, which suffices if every row matches. */
const STEP_FACTOR = 4;

const STEP_ROWS_MAX = 1_000;

/** Rows read for one page, which bounds its cost when few of them match; the next page continues after them. */
export const ROWS_READ_MAX = 1_000;

/** A list of a scope, or the part of it between two places. */
export type ListRange = Pick<ListQuery, 'list' | 'before' | 'downTo'>;

type RowSearch<R extends Row> = {
  name: string;
  scope: string;
  /** Rows are in one of these lists at least, at the same place in each. */
  ranges: readonly ListRange[];
  /** Reads oldest first instead of newest first. */
  isAscending?: boolean;
  /** The place after which it begins, in the order in which it reads. */
  after: number | undefined;
  isMatch(row: R): boolean;
  /** Whether neither this row nor any after it can match. */
  isEnd?(row: R): boolean;
  /** The number of matches after which it ends. */
  limit: number;
  /** The number of rows after which it ends. */
  rowsMax: number;
};

/** `next`: the `after` of the rows that were not read; null if there are none. */
export type ScannedRows<R extends Row> = { rows: R[]; next: number | null };

/** Reads the rows of all ranges in order, until enough rows match or too many were read. */
export const scanLists = async <R extends Row>(
  readModels: Pick<ReadModels, 'list'>,
  {
    name,
    scope,
    ranges,
    isAscending = false,
    after,
    isMatch,
    isEnd: isPast,
    limit,
    rowsMax,
  }: RowSearch<R>,
): Promise<ScannedRows<R>> => {
  const matches: R[] = [];
  let place = after ?? (isAscending ? 0 : Number.MAX_SAFE_INTEGER);
  let step = limit;
  for (let read = 0; ; step = Math.min(step * STEP_FACTOR, STEP_ROWS_MAX, rowsMax - read)) {
    await eventLoopTurns.pause();
    const from = place;
    const pages = ranges.map((range) =>
      readModels.list<R>(name, {
        scope,
        ...range,
        ...(isAscending
          ? { isAscending, downTo: Math.max(range.downTo ?? 0, from + 1) }
          : { before: Math.min(range.before ?? from, from) }),
        limit: step + 1,
      }),
    );
    const { rows, isEnd } = mergePages(await Promise.all(pages), step, isAscending ? -1 : 1);
    for (const [i, [sort, row]] of rows.entries()) {
      place = sort;
      if (isPast?.(row)) return { rows: matches, next: null };
      if (isMatch(row) && matches.push(row) === limit)
        return { rows: matches, next: isEnd && i === rows.length - 1 ? null : sort };
    }
    read += rows.length;
    if (isEnd || read >= rowsMax) return { rows: matches, next: isEnd ? null : place };
  }
};

/**
 * Merges pages down to where one of them ends that has more rows than `step`. `sign`: 1 for falling order, -1 for rising
 * order.
 */
const mergePages = <R extends Row>(
  pages: readonly (readonly { row: R; sort: number }[])[],
  step: number,
  sign: 1 | -1,
): { rows: [sort: number, row: R][]; isEnd: boolean } => {
  const full = pages.filter(({ length }) => length > step);
  const ends = full.map((page) => sign * (page[step - 1]?.sort ?? sign * Infinity));
  const downTo = Math.max(-Infinity, ...ends);
  const rows = new Map(pages.flat().map(({ row, sort }) => [sort, row]));
  return {
    rows: [...rows].filter(([sort]) => sign * sort >= downTo).sort(([a], [b]) => sign * (b - a)),
    isEnd: full.length === 0,
  };
};

/** The first `limit` rows of a scan for one more, so that `next` is null if no other row matches. */
export const pageOfScan = <R extends Row & { sort: number }>(
  { rows, next }: ScannedRows<R>,
  limit: number,
): ScannedRows<R> => {
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? (page.at(-1)?.sort ?? null) : next };
};
