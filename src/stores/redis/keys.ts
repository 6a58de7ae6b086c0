/**
 * Keys in Redis, and the format of rows.
 *
 * Every key begins with the identity of the log, so that rows of other logs are not visible. A
 * partition's keys share its number as their hash tag, so that one script can use all of them in Redis
 * Cluster, too. A space has an id that is drawn when it is created and never reused, so that nothing
 * which survived a flush, a drop or a restore is taken for part of it.
 */
import type { Position } from '#src/ports/event-log.ts';
import type { ListEntry, ListQuery, Row, RowKey } from '#src/ports/read-model.ts';
import { ALL_ROWS, HASH_DIGITS, hashText, RowDamaged, rowText } from '#src/stores/row-digest.ts';

export type PartitionKeys = readonly [head: string, rows: string, order: string, before: string];

export type Keys = {
  /** A hash: `id:{space}`, `live:{projection}@{version}` and `dropping:{id}`. */
  spaces: string;
  /** Members that fold this set of read models. */
  projectors(set: string): string;
  /** Members that count calls against the limits. */
  counters: string;
  /** What one client has used of one limit. */
  limit(digest: string): string;
  /**
   * The head has the checkpoint of the partition, its numbers of rows and of members of the order, and the sum of its
   * digest. `before` exists while a process reads a snapshot of the partition.
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

/** Added to the version of a read model. Rows of format 0 had no hash. */
export const ROW_FORMAT = 1_000;

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

const HEX = /^[\da-f]+$/;

/** Parses a sum or a sort position. Throws RowDamaged. */
export const parseHex = (text: string): number => {
  if (!HEX.test(text)) throw new RowDamaged('a number is not hexadecimal');
  return Number.parseInt(text, 16);
};

/** Encodes a checkpoint with a hash of it and of the key that has it, which names the space and the partition. */
export const encodeCheckpoint = (head: string, checkpoint: Position): string =>
  checkpoint === 0 ? '0' : `${checkpoint} ${hashText(`${head} ${checkpoint}`)}`;

/** Throws RowDamaged if the text is not the one that was written into this key. */
export const decodeCheckpoint = (head: string, text: string): Position => {
  const checkpoint = Number.parseInt(text, 10);
  if (encodeCheckpoint(head, checkpoint) !== text)
    throw new RowDamaged('the hash of a checkpoint does not fit');
  return checkpoint;
};

/** Encodes a row: its hash, its sort position, if it has one, then its JSON, which begins with a bracket. */
export const encodeRow = (key: RowKey, sort: number | null, row: Row): string => {
  const json = JSON.stringify(row);
  return hashText(rowText(key, sort, json)) + (sort === null ? '' : sortText(sort)) + json;
};

const jsonAt = (value: string): number =>
  HASH_DIGITS + (['{', '['].includes(value.charAt(HASH_DIGITS)) ? 0 : SORT_DIGITS);

/** Returns the JSON of a row, which may be damaged. */
export const rowJson = (value: string): string => value.slice(jsonAt(value));

export type DecodedRow = { hash: string; sort: number | null; json: string };

/** Throws RowDamaged if the value is not the one that was written for this row. */
export const decodeRow = (key: RowKey, value: string): DecodedRow => {
  const at = jsonAt(value);
  const sort = at === HASH_DIGITS ? null : parseHex(value.slice(HASH_DIGITS, at));
  const [hash, json] = [value.slice(0, HASH_DIGITS), value.slice(at)];
  if (hashText(rowText(key, sort, json)) !== hash)
    throw new RowDamaged('the hash of a row does not fit');
  return { hash, sort, json };
};

export const parseRow = ({ json }: DecodedRow): Row => JSON.parse(json) as Row;

/** Precedes the name of a list; it sorts after SEPARATOR and before all other characters. */
const LIST_SEPARATOR = '\u0001';

/** The name by which the members of the order begin: the scope, and the list if it is not that of all rows. */
const orderName = (scope: string, list: string | undefined): string =>
  list === undefined ? scope : `${scope}${LIST_SEPARATOR}${list}`;

/** The member of the order for an entry of a row. */
export const memberOf = (scope: string, key: string, [list, sort]: ListEntry): string =>
  `${orderName(scope, list)}${SEPARATOR}${sortText(sort)}${SEPARATOR}${key}`;

/** Parses a member of the order. Throws RowDamaged. */
export const splitMember = (member: string): RowKey & { entry: ListEntry } => {
  const [name = '', sort = '', key = ''] = member.split(SEPARATOR);
  const [scope = '', list = ALL_ROWS] = name.split(LIST_SEPARATOR);
  return { scope, key, entry: [list, parseHex(sort)] };
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

/** Decodes a member of the order without its scope: the sort position and the key. Throws RowDamaged. */
export const decodeMember = (member: string): { sort: number; key: string } => ({
  sort: parseHex(member.slice(0, SORT_DIGITS)),
  key: member.slice(SORT_DIGITS + 1),
});
