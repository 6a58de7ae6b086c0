/** Rows in memory, which comparisons fold into. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position } from '#src/ports/event-log.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import {
  ALL_ROWS,
  entriesInOrder,
  type RowJson,
  type ListEntry,
  type ListQuery,
  type LocalStore,
  PARTITIONS,
  type PartitionBatch,
  partitionOf,
  type Row,
  type RowKey,
  type RowWrite,
  type Space,
  readModelOf,
} from '#src/ports/read-model.ts';
import { addHash, digestText, entryHash, hashOf, noRows, rowText } from '#src/stores/row-digest.ts';

/** Rows whose text is made in one turn of the event loop. */
const ROWS_IN_TURN = 100;

/** Reads the rows in turns, and again in one turn if a commit changed them meanwhile. */
const readPartition = async (
  partition: Partition | undefined,
  rowsInTurn = ROWS_IN_TURN,
): Promise<{ checkpoint: Position; rows: RowJson[] }> => {
  if (!partition) return { checkpoint: 0, rows: [] };
  const { checkpoint, scopes } = partition;
  const rows: RowJson[] = [];
  for (const [scope, { key, row, rows: several, order, lists }] of scopes) {
    const all = [...(order ? [[ALL_ROWS, order] as const] : []), ...(lists ?? [])];
    const entriesOf = (own: string): ListEntry[] =>
      all.flatMap(([list, { keys, sorts }]) => {
        const at = keys.indexOf(own);
        return at < 0 ? [] : [[list, sorts[at] ?? 0] as const];
      });
    for (const [own, value] of several ?? [[key, row] as const]) {
      if (rows.length % rowsInTurn === rowsInTurn - 1) await nextTurn();
      const entries = entriesInOrder(entriesOf(own));
      rows.push({ scope, key: own, json: JSON.stringify(value), entries });
    }
  }
  const isUnchanged = partition.checkpoint === checkpoint;
  return isUnchanged ? { checkpoint, rows } : readPartition(partition, Infinity);
};

/**
 * Rows of a scope. Many scopes have a single row (a code, a token), and a Map costs five times the
 * memory of the row's place: `key` and `row` are the first row, and `rows` is created with the second.
 */
type Scope = {
  key: string;
  row: Row;
  rows: Map<string, Row> | null;
  order: Order | null;
  lists: Map<string, Order> | null;
};

/** Keys of rows in rising order of `sort`, then of the key: two arrays with equal indexes. */
type Order = { sorts: number[]; keys: string[] };

type Partition = { checkpoint: Position; scopes: Map<string, Scope> };

/** Read models as objects in memory, lost with the process. Folds and reads copy nothing. */
export const memoryStore = (): LocalStore => {
  const spaces = new Map<Space, Partition[]>();
  const live = new Map<string, Space>();

  const partitionsOf = (space: Space): Partition[] => spaces.get(space) ?? emptyPartitions();

  const scopeOf = (space: Space, scope: string): Scope | undefined =>
    spaces.get(space)?.[partitionOf(scope)]?.scopes.get(scope);

  return {
    checkpoints: async (space) => partitionsOf(space).map(({ checkpoint }) => checkpoint),
    load: async (space, keys, at) => loadRows(spaces.get(space), keys, at),
    commit: async (space, batches) => {
      const partitions = partitionsOf(space);
      spaces.set(space, partitions);
      return batches.map((batch) => commitBatch(partitions, batch));
    },
    async fillPartition(space, number, { position, rows }) {
      const partitions = partitionsOf(space);
      spaces.set(space, partitions);
      const partition: Partition = { checkpoint: position, scopes: new Map() };
      for (const write of rows) apply(partition.scopes, write);
      partitions[number] = partition;
    },
    digest: async (space, number) => {
      const { checkpoint = 0, scopes = new Map() } = spaces.get(space)?.[number] ?? {};
      return { checkpoint, ...digestOfScopes(scopes) };
    },
    partitionRows: (space, number) => readPartition(spaces.get(space)?.[number]),
    count: async (space) => {
      let rows = 0;
      for (const { scopes } of partitionsOf(space))
        for (const scope of scopes.values()) rows += scope.rows?.size ?? 1;
      return rows;
    },
    spaces: async (name) => ({
      live: live.get(name) ?? null,
      all: [...spaces.keys()].filter((space) => space.startsWith(`${name}@`)),
    }),
    goLive: async (space) => {
      if (!spaces.has(space)) spaces.set(space, emptyPartitions());
      live.set(readModelOf(space), space);
    },
    drop: async (space) => {
      spaces.delete(space);
      for (const [name, current] of live) if (current === space) live.delete(name);
    },
    flush: async () => {},
    close: async () => {},
    live: (name) => live.get(name) ?? null,
    peek: (space, name, key) => {
      const scope = scopeOf(space, name);
      return scope && rowOf(scope, key);
    },
    list: (space, query) => {
      const scope = scopeOf(space, query.scope);
      return scope ? listOf(scope, query) : [];
    },
  };
};

const loadRows = (
  partitions: readonly Partition[] | undefined,
  keys: readonly RowKey[],
  at: readonly Position[] | undefined,
): (Row | undefined)[] | undefined => {
  const rows: (Row | undefined)[] = [];
  for (const { scope: name, key } of keys) {
    const number = partitionOf(name);
    const partition = partitions?.[number];
    if (at && (partition?.checkpoint ?? 0) !== at[number]) return undefined;
    const scope = partition?.scopes.get(name);
    rows.push(scope && rowOf(scope, key));
  }
  return rows;
};

const commitBatch = (
  partitions: readonly Partition[],
  batch: PartitionBatch,
): 'committed' | 'stale' => {
  const partition = partitions[batch.partition];
  if (partition?.checkpoint !== batch.from) return 'stale';
  for (const write of batch.writes) apply(partition.scopes, write);
  partition.checkpoint = batch.to;
  return 'committed';
};

const emptyPartitions = (): Partition[] =>
  Array.from({ length: PARTITIONS }, () => ({ checkpoint: 0, scopes: new Map() }));

const rowOf = (scope: Scope, key: string): Row | undefined => {
  if (scope.rows) return scope.rows.get(key);
  return scope.key === key ? scope.row : undefined;
};

const apply = (scopes: Map<string, Scope>, write: RowWrite): void => {
  const { removed = [], added = [], key } = write;
  const before = scopes.get(write.scope);
  for (const [list, sort] of removed) removeInOrder(before?.lists?.get(list), key, sort);
  applyRow(scopes, write);
  if (added.length > 0) addToLists(scopes.get(write.scope), key, added);
};

const addToLists = (scope: Scope | undefined, key: string, added: readonly ListEntry[]): void => {
  if (!scope) return;
  const lists = (scope.lists ??= new Map<string, Order>());
  for (const [list, sort] of added) {
    const order = lists.get(list);
    // Most lists have one row, and an array that grows reserves room for 17.
    if (order) insertInOrder(order, key, sort);
    else lists.set(list, { sorts: [sort], keys: [key] });
  }
};

const applyRow = (scopes: Map<string, Scope>, { scope: name, key, row, sort }: RowWrite): void => {
  const scope = scopes.get(name);
  if (row === null) {
    if (scope && remove(scope, key) === 0) scopes.delete(name);
    return;
  }
  if (!scope) {
    const order = sort === null ? null : { sorts: [sort], keys: [key] };
    scopes.set(name, { key, row, rows: null, order, lists: null });
    return;
  }
  if (!scope.rows) {
    if (scope.key === key) {
      scope.row = row;
      return;
    }
    scope.rows = new Map([[scope.key, scope.row]]);
  }
  const before = scope.rows.size;
  scope.rows.set(key, row);
  if (sort === null || scope.rows.size === before) return;
  scope.order ??= { sorts: [], keys: [] };
  insertInOrder(scope.order, key, sort);
};

/** Removes the row if it exists; returns how many are left. */
const remove = (scope: Scope, key: string): number => {
  const rows = (scope.rows ??= new Map([[scope.key, scope.row]]));
  const at = rows.delete(key) && scope.order ? scope.order.keys.lastIndexOf(key) : -1;
  if (at >= 0) {
    scope.order?.keys.splice(at, 1);
    scope.order?.sorts.splice(at, 1);
  }
  return rows.size;
};

/** New rows nearly always belong at the end. */
const insertInOrder = ({ sorts, keys }: Order, key: string, sort: number): void => {
  const last = sorts.at(-1);
  if (last === undefined || last < sort) {
    sorts.push(sort);
    keys.push(key);
    return;
  }
  const at = countBelow({ sorts, keys }, sort, key);
  sorts.splice(at, 0, sort);
  keys.splice(at, 0, key);
};

const removeInOrder = (order: Order | undefined, key: string, sort: number): void => {
  const at = order ? countBelow(order, sort, key) : 0;
  if (order?.keys[at] !== key || order.sorts[at] !== sort) return;
  order.sorts.splice(at, 1);
  order.keys.splice(at, 1);
};

/** Counts the places that are below `sort`, or at it with a lower key. */
const countBelow = ({ sorts, keys }: Order, sort: number, key = ''): number =>
  lowerBound(sorts.length, (index) => {
    const at = sorts[index] ?? 0;
    return at < sort || (at === sort && (keys[index] ?? '') < key);
  });

const listOf = (scope: Scope, query: ListQuery) => {
  const { list, before = Infinity, beforeKey, downTo = -Infinity, limit, isAscending } = query;
  const rows: { row: Row; sort: number; key: string }[] = [];
  const order = list === undefined ? scope.order : scope.lists?.get(list);
  if (!order) return rows;
  const [first, end] = [countBelow(order, downTo), countBelow(order, before, beforeKey)];
  const step = isAscending ? 1 : -1;
  for (let at = isAscending ? first : end - 1; at >= first && at < end; at += step) {
    if (rows.length >= limit) break;
    const key = order.keys[at] ?? '';
    const row = rowOf(scope, key);
    if (row) rows.push({ row, sort: order.sorts[at] ?? 0, key });
  }
  return rows;
};

const digestOfScopes = (scopes: Map<string, Scope>): { rows: number; digest: string } => {
  const digest = noRows();
  for (const [name, { key, row, rows, order, lists }] of scopes) {
    const sorts = new Map(order?.keys.map((listed, at) => [listed, order.sorts[at] ?? null]));
    for (const [own, value] of rows ?? [[key, row] as const]) {
      digest.rows += 1;
      const sort = sorts.get(own) ?? null;
      addHash(digest, hashOf(rowText({ scope: name, key: own }, sort, JSON.stringify(value))));
    }
    for (const [list, entries] of lists ?? [])
      for (const [at, sort] of entries.sorts.entries())
        addHash(digest, entryHash(name, entries.keys[at] ?? '', [list, sort]));
  }
  return digestText(digest);
};
