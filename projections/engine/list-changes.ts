import type { ListEntry, Row, RowWrite } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';

export const NO_LISTS: readonly ListEntry[] = [];

export const listsOf = (projection: Projection, row: Row | null): readonly ListEntry[] =>
  (row && projection.lists?.(row)) ?? NO_LISTS;

type ChangedRow = { key: string; row: Row | null; lists: readonly ListEntry[] | undefined };

/** Returns what the lists of the row gain and lose. Throws if the lists before are unknown, because the row was not loaded. */
export const compareLists = (
  projection: Projection,
  { key, row, lists: before }: ChangedRow,
): Pick<RowWrite, 'added' | 'removed'> => {
  if (!before) throw new Error(`${projection.name} has lists, and sets ${key} without its place`);
  const after = listsOf(projection, row);
  return { added: entriesBeyond(before, after), removed: entriesBeyond(after, before) };
};

/** The entries of `all` that are not in `known`; both are short. */
const entriesBeyond = (
  known: readonly ListEntry[],
  all: readonly ListEntry[],
): readonly ListEntry[] =>
  all.filter(([list, sort]) => !known.some((other) => other[0] === list && other[1] === sort));
