import type { ListQuery, ReadModels, Row } from '#src/ports/read-model.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';

/** Growth of the reads for one page: the first read has the size of the page, which suffices if every row matches. */
const STEP_FACTOR = 4;
const STEP_ROWS_MAX = 1_000;

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
  { name, scope, ranges, isAscending = false, after, isMatch, limit, rowsMax }: RowSearch<R>,
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
