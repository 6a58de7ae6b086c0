/**
 * Keys in Redis, and the format of rows.
 *
 * Every key begins with the identity of the log, so that rows of other logs are not visible. A
 * partition's keys share its number as their hash tag, so that one script can use all of them in Redis
 * Cluster, too. A space has an id that is drawn when it is created and never reused, so that nothing
 * which survived a flush, a drop or a restore is taken for part of it.
 */
import type { ListEntry, ListQuery, Row } from '#src/ports/read-model.ts';

export type PartitionKeys = readonly [head: string, rows: string, order: string, before: string];

export type Keys = {
  /**
   * A hash: `id:{space}`, `live:{projection}@{version}`, `dropping:{id}`, and `live:{projection}`,
   * which is read by processes older than the pointers for each version.
   */
  spaces: string;
  /** Members that fold this set of read models. Processes older than the sets use another key. */
  projectors(set: string): string;
  /** Members that count calls against the limits. */
  counters: string;
  /** What one client has used of one limit. */
  limit(digest: string): string;
  /**
   * The head has the checkpoint of the partition and its number of rows. `before` exists while a process reads a
   * snapshot of the partition.
   */
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
      const base = `${prefix}:{${partition}}:${id}`;
      return [`${base}:head`, `${base}:rows`, `${base}:order`, `${base}:before`];
    },
  };
};

/** Hexadecimal digits of a sort position: enough for all safe integers, which then sort as text. */
export const SORT_DIGITS = 14;

/** NUL occurs in no scope and no key, and sorts before all other characters. */
const SEPARATOR = '\0';

export const fieldOf = (scope: string, key: string): string => `${scope}${SEPARATOR}${key}`;

export const splitField = (field: string): [scope: string, key: string] => {
  const at = field.indexOf(SEPARATOR);
  return [field.slice(0, at), field.slice(at + 1)];
};

const sortText = (sort: number): string => {
  if (!Number.isSafeInteger(sort) || sort < 0)
    throw new Error(`a sort position must be a whole number of at least 0, not ${sort}`);
  return sort.toString(16).padStart(SORT_DIGITS, '0');
};

/** Encodes a row: its sort position, if it has one, then its JSON, which begins with a bracket. */
export const encodeRow = (row: Row, sort: number | null): string =>
  (sort === null ? '' : sortText(sort)) + JSON.stringify(row);

const hasSort = (value: string): boolean => !value.startsWith('{') && !value.startsWith('[');

export const decodeSort = (value: string): number | null =>
  hasSort(value) ? Number.parseInt(value.slice(0, SORT_DIGITS), 16) : null;

export const rowJson = (value: string): string =>
  hasSort(value) ? value.slice(SORT_DIGITS) : value;

export const decodeRow = (value: string): Row => JSON.parse(rowJson(value)) as Row;

/** Precedes the name of a list; it sorts after SEPARATOR and before all other characters. */
const LIST_SEPARATOR = '\u0001';

/** The name by which the members of the order begin: the scope, and the list if it is not that of all rows. */
const orderName = (scope: string, list: string | undefined): string =>
  list === undefined ? scope : `${scope}${LIST_SEPARATOR}${list}`;

/** The member of the order for an entry of a row. */
export const memberOf = (scope: string, key: string, [list, sort]: ListEntry): string =>
  `${orderName(scope, list)}${SEPARATOR}${sortText(sort)}${SEPARATOR}${key}`;

/** Parses a member of a list; undefined for a member that every row with a sort position has. */
export const splitMember = (
  member: string,
): [scope: string, list: string, sort: number, key: string] | undefined => {
  const [name = '', sort = '', key = ''] = member.split(SEPARATOR);
  const [scope = '', list] = name.split(LIST_SEPARATOR);
  return list === undefined ? undefined : [scope, list, Number.parseInt(sort, 16), key];
};

/** The name of a list in the order, and the limits of ZRANGEBYLEX for the rows of a query. */
export const orderRange = ({
  scope,
  list,
  before,
  beforeKey,
  downTo,
}: Omit<ListQuery, 'limit'>): [name: string, max: string, min: string] => {
  const name = orderName(scope, list);
  const bound = (sort: number): string => sortText(Math.max(0, Math.ceil(sort)));
  const isUnbounded = before === undefined || before > Number.MAX_SAFE_INTEGER;
  const key = beforeKey === undefined ? '' : `${SEPARATOR}${beforeKey}`;
  return [
    name,
    isUnbounded ? `(${name}${LIST_SEPARATOR}` : `(${name}${SEPARATOR}${bound(before)}${key}`,
    `[${name}${SEPARATOR}${downTo === undefined ? '' : bound(downTo)}`,
  ];
};

/** Decodes a member of the order without its scope: the sort position and the key. */
export const decodeMember = (member: string): { sort: number; key: string } => ({
  sort: Number.parseInt(member.slice(0, SORT_DIGITS), 16),
  key: member.slice(SORT_DIGITS + 1),
});
