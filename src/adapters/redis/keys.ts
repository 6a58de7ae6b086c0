/**
 * Where things lie in Redis, and how a row is written.
 *
 * Every key begins with the identity of the log, so that the rows of another log are simply not
 * there. The keys of a partition share its number as their hash tag: one script may touch them all,
 * in Redis Cluster too. A space is known by an id that is drawn when it is made and never again, so
 * that nothing which outlived a flush, a drop or a restore is taken for part of it.
 */
import type { Row } from '#src/ports/read-model.ts';

export type PartitionKeys = readonly [head: string, rows: string, order: string];

export type Keys = {
  /**
   * A hash: `id:{space}`, `live:{projection}@{version}`, `dropping:{id}`; and `live:{projection}`, all
   * that processes from before there was one for each version know of.
   */
  spaces: string;
  /** Who folds this set of read models now. Those from before there were sets have a key of their own. */
  projectors(set: string): string;
  /** Who counts calls against the limits now. */
  counters: string;
  /** What one client has taken of one limit. */
  limit(digest: string): string;
  /** The head says how far the partition is folded and how many rows it has. */
  partition(id: string, partition: number): PartitionKeys;
};

export const keysOf = (log: string): Keys => {
  const prefix = `tributary:${log.replaceAll(/[{}]/g, '-')}`;
  return {
    spaces: `${prefix}:spaces`,
    projectors: (set) => `${prefix}:projectors:${set}`,
    counters: `${prefix}:counters`,
    limit: (digest) => `${prefix}:limit:${digest}`,
    partition: (id, partition) => {
      const own = `${prefix}:{${partition}}:${id}`;
      return [`${own}:head`, `${own}:rows`, `${own}:order`];
    },
  };
};

/** Digits of a place in hexadecimal: all safe integers, and they order as text. */
export const SORT_DIGITS = 14;

/** NUL: no scope and no key holds it, and it sorts before whatever they hold. */
const CUT = '\0';

export const fieldOf = (scope: string, key: string): string => `${scope}${CUT}${key}`;

export const scopeAndKey = (field: string): [scope: string, key: string] => {
  const cut = field.indexOf(CUT);
  return [field.slice(0, cut), field.slice(cut + 1)];
};

const sortText = (sort: number): string => {
  if (!Number.isSafeInteger(sort) || sort < 0)
    throw new Error(`a place must be a whole number from 0 on, and ${sort} is not`);
  return sort.toString(16).padStart(SORT_DIGITS, '0');
};

/** A row as it is stored: its place, if it has one, then its JSON, which begins with a bracket. */
export const valueOf = (row: Row, sort: number | null): string =>
  (sort === null ? '' : sortText(sort)) + JSON.stringify(row);

export const jsonOf = (value: string): string =>
  value.startsWith('{') || value.startsWith('[') ? value : value.slice(SORT_DIGITS);

export const rowOf = (value: string): Row => JSON.parse(jsonOf(value)) as Row;

/** The members of a scope's order from `downTo` (inclusive) to below `before`, as ZRANGEBYLEX asks. */
export const orderRange = (
  scope: string,
  before: number | undefined,
  downTo: number | undefined,
): [max: string, min: string] => {
  const bound = (sort: number): string => sortText(Math.max(0, Math.ceil(sort)));
  const isOpen = before === undefined || before > Number.MAX_SAFE_INTEGER;
  return [
    isOpen ? `(${scope}\u0001` : `(${scope}${CUT}${bound(before)}`,
    `[${scope}${CUT}${downTo === undefined ? '' : bound(downTo)}`,
  ];
};

/** What the order keeps of a row behind its scope: its place and its key. */
export const placeOf = (member: string): { sort: number; key: string } => ({
  sort: Number.parseInt(member.slice(0, SORT_DIGITS), 16),
  key: member.slice(SORT_DIGITS + 1),
});
