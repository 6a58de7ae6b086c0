import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ListQuery,
  type LocalStore,
  PARTITIONS,
  type PartitionBatch,
  partitionOf,
  type Row,
  type RowKey,
  type Space,
} from '#src/ports/read-model.ts';
import type { Position } from '#src/ports/event-log.ts';
import { sqliteCodeOf } from '../failure.ts';
import { noCheckpoints, type SpaceState } from './read-model-spaces.ts';
import { type Cell, changedEntries } from './read-model-buffer.ts';
import type { EntryPlace, RowText } from './read-model-sql.ts';
import { type SqliteStoreOptions, WriteBehind } from './write-behind.ts';

/**
 * Read models that survive the process. A commit changes memory; a moment later SQLite gets all changed
 * rows and checkpoints in one transaction. A crash in between loses both, so a checkpoint in the file is
 * never ahead of its rows.
 */
export const sqliteStore = (options: SqliteStoreOptions): LocalStore => {
  const store = new WriteBehind(options);
  const { buffer, file, spaces } = store;
  return {
    checkpoints: async (space) => [...checkpointsOf(store, space)],
    load: async (space, keys, at) => loadRows(store, space, { keys, at }),
    commit: async (space, batches) => {
      const state = spaces.findOrAdd(space);
      const answers = batches.map((batch) => commitBatch(store, state, batch));
      if (state.moved.size > 0) store.flushSoon();
      return answers;
    },
    digest: async (space, partition) => {
      const state = spaces.find(space);
      if (!state) return { checkpoint: 0, ...digestRows([], []) };
      store.flushPartition(state, partition);
      const digest = file.use((sql) =>
        digestRows(sql.rowsIn(state.id, partition), sql.entriesIn(state.id, partition)),
      );
      return { checkpoint: state.checkpoints[partition] ?? 0, ...digest };
    },
    count: async (space) => {
      store.flush(space);
      const state = spaces.find(space);
      return state ? file.use((sql) => sql.count(state.id)) : 0;
    },
    spaces: async (name) => ({
      live: spaces.live(name),
      all: spaces.all().flatMap(({ space }) => (space.startsWith(`${name}@`) ? [space] : [])),
    }),
    goLive: async (name, space) => {
      store.flush(space);
      spaces.goLive(name, space);
    },
    drop: async (space) => {
      const state = spaces.find(space);
      if (!state) return;
      spaces.remove(state);
      buffer.forget(state.id);
      // One partition per turn: a large space takes seconds, and the process serves meanwhile.
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await nextTurn();
        file.use((sql) => sql.dropRows(state.id, partition));
      }
    },
    flush: async () => store.flush(),
    close: async () => store.close(),
    live: (name) => spaces.live(name),
    peek: (space, scope, key) => store.peek(space, scope, key),
    list: (space, query) => listRows(store, options, { space, query }),
  };
};

const checkpointsOf = ({ spaces }: WriteBehind, space: Space): readonly Position[] =>
  spaces.find(space)?.checkpoints ?? noCheckpoints();

const loadRows = (
  store: WriteBehind,
  space: Space,
  { keys, at }: { keys: readonly RowKey[]; at: readonly Position[] | undefined },
): (Row | undefined)[] | undefined => {
  const checkpoints = checkpointsOf(store, space);
  const hasMoved = (partition: number): boolean =>
    (checkpoints[partition] ?? 0) !== at?.[partition];
  if (at && keys.some(({ scope }) => hasMoved(partitionOf(scope)))) return undefined;
  return keys.map(({ scope, key }) => store.peek(space, scope, key));
};

const commitBatch = (
  { buffer }: WriteBehind,
  state: SpaceState,
  { partition, from, to, writes }: PartitionBatch,
): 'committed' | 'stale' => {
  if (state.checkpoints[partition] !== from) return 'stale';
  for (const { scope, key, row, sort, ...changes } of writes)
    buffer.addDirty({ id: state.id, partition, scope, key, row, sort }, changes);
  state.checkpoints[partition] = to;
  state.moved.add(partition);
  return 'committed';
};

/** Returns false if the file cannot be written. */
const tryFlush = (
  store: WriteBehind,
  state: SpaceState,
  { partition, onFault }: { partition: number; onFault: SqliteStoreOptions['onFault'] },
): boolean => {
  try {
    store.flushPartition(state, partition);
    return true;
  } catch (error) {
    if (sqliteCodeOf(error) === undefined) throw error;
    onFault?.(error);
    return false;
  }
};

const listRows = (
  store: WriteBehind,
  { onFault }: SqliteStoreOptions,
  { space, query }: { space: Space; query: ListQuery },
): ReturnType<LocalStore['list']> => {
  const state = store.spaces.find(space);
  if (!state) return [];
  const { scope } = query;
  const isFlushed = tryFlush(store, state, { partition: partitionOf(scope), onFault });
  const places = isFlushed
    ? store.file.use((sql) => sql.list(state.id, query))
    : listUnflushed(store, state, query);
  const rows: { row: Row; sort: number; key: string }[] = [];
  for (const [key, sort] of places) {
    const row = store.read(state.id, scope, key);
    if (row) rows.push({ row, sort, key });
  }
  return rows;
};

/** If the file cannot be written, merges the changed rows into what the file has. */
const listUnflushed = (
  { buffer, file }: WriteBehind,
  { id }: SpaceState,
  query: ListQuery,
): [key: string, sort: number][] => {
  const cells = buffer.dirtyIn(id, partitionOf(query.scope)).values();
  const changed = cells.filter(({ scope }) => scope === query.scope).toArray();
  const wider = { ...query, limit: query.limit + changed.length };
  const places = new Map(file.use((sql) => sql.list(id, wider)));
  const { list, before = Infinity, beforeKey = '', downTo = -Infinity } = query;
  for (const cell of changed) {
    const sort = changedPlace(cell, list);
    if (sort === undefined) continue;
    const isBelow = sort !== null && (sort < before || (sort === before && cell.key < beforeKey));
    if (isBelow && sort >= downTo) places.set(cell.key, sort);
    else places.delete(cell.key);
  }
  const sorted = [...places].sort(([a, at], [b, other]) => other - at || (a < b ? 1 : -1));
  return (query.isAscending ? sorted.reverse() : sorted).slice(0, query.limit);
};

/** The place of a changed row in a list; null if it has none now, undefined if it did not change. */
const changedPlace = (cell: Cell, list: string | undefined): number | null | undefined => {
  if (list === undefined) return cell.row === null ? null : cell.sort;
  const changes = changedEntries(cell).filter(({ entry }) => entry[0] === list);
  if (changes.length === 0) return undefined;
  return changes.find(({ isAdded }) => isAdded)?.entry[1] ?? null;
};

const digestRows = (
  all: Iterable<RowText>,
  entries: Iterable<EntryPlace>,
): { rows: number; digest: string } => {
  const hash = createHash('sha256');
  let rows = 0;
  for (const { scope, key, text } of all) {
    hash.update(`[${JSON.stringify(scope)},${JSON.stringify(key)},${text}]`);
    rows += 1;
  }
  for (const entry of entries) hash.update(JSON.stringify(entry));
  return { rows, digest: hash.digest('hex') };
};
