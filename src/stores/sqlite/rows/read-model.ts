/** Rows of read models in SQLite: implements the port of their store. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ListQuery,
  type LocalStore,
  PARTITIONS,
  type PartitionBatch,
  partitionOf,
  ReadModelRebuilding,
  type Row,
  type RowKey,
  type Space,
} from '#src/ports/read-model.ts';
import { digestText, noRows } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { sqliteCodeOf } from '#src/stores/sqlite/failure.ts';
import { noCheckpoints, type SpaceState } from './read-model-spaces.ts';
import type { Cell } from './read-model-buffer.ts';
import { openRows } from './rows-reader.ts';
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
      if (!state.isLive) await store.writeFilling();
      else if (state.moved.size > 0) store.flushSoon();
      return answers;
    },
    digest: async (space, partition) => {
      const state = spaces.find(space);
      if (!state) return { checkpoint: 0, ...digestText(noRows()) };
      store.flushPartition(state, partition);
      const checkpoint = state.checkpoints[partition] ?? 0;
      return { checkpoint, ...digestText(state.digests[partition] ?? noRows()) };
    },
    check: async (space, partition) => {
      const state = spaces.find(space);
      if (!state) return;
      store.flushPartition(state, partition);
      store.rows.check(state, partition);
    },
    partitionRows: (space, partition) => readPartition(store, options.file, { space, partition }),
    count: async (space) => {
      store.flush(space);
      return (spaces.find(space)?.digests ?? []).reduce((sum, { rows }) => sum + rows, 0);
    },
    spaces: async (name) => ({
      live: spaces.live(name),
      all: spaces.all().flatMap(({ space }) => (space.startsWith(`${name}@`) ? [space] : [])),
    }),
    goLive: async (space) => {
      await store.writeFilling(1);
      store.flush(space);
      spaces.goLive(space);
    },
    drop: async (space) => {
      const state = spaces.find(space);
      if (!state) return;
      spaces.remove(state);
      // One partition per turn: a large space takes seconds, and the process serves meanwhile.
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await nextTurn();
        buffer.forget(state.id, partition);
        file.use((sql) => sql.dropPartition(state.id, partition));
      }
    },
    flush: async () => store.flush(),
    close: async () => store.close(),
    live: (name) => spaces.live(name),
    peek: (space, scope, key) => peekRow(store, space, { scope, key }),
    list: (space, query) => listRows(store, options, { space, query }),
  };
};

const readPartition = async (
  store: WriteBehind,
  file: string,
  { space, partition }: { space: Space; partition: number },
): ReturnType<LocalStore['partitionRows']> => {
  const state = store.spaces.find(space);
  if (state) store.flushPartition(state, partition);
  using rows = openRows(file);
  return await rows.partitionRows(space, partition);
};

const checkpointsOf = ({ spaces }: WriteBehind, space: Space): readonly Position[] =>
  spaces.find(space)?.checkpoints ?? noCheckpoints();

const peekRow = (store: WriteBehind, space: Space, { scope, key }: RowKey): Row | undefined => {
  const state = store.spaces.find(space);
  if (!state) return undefined;
  if (state.lost.size > 0) store.rows.requireFilled(state, partitionOf(scope));
  return store.rows.read(state, scope, key).row ?? undefined;
};

const loadRows = (
  store: WriteBehind,
  space: Space,
  { keys, at }: { keys: readonly RowKey[]; at: readonly Position[] | undefined },
): (Row | undefined)[] | undefined => {
  const checkpoints = checkpointsOf(store, space);
  const hasMoved = (partition: number): boolean =>
    (checkpoints[partition] ?? 0) !== at?.[partition];
  if (at && keys.some(({ scope }) => hasMoved(partitionOf(scope)))) return undefined;
  const state = store.spaces.find(space);
  return keys.map(
    ({ scope, key }) => (state && store.rows.read(state, scope, key).row) ?? undefined,
  );
};

const commitBatch = (
  { buffer }: WriteBehind,
  state: SpaceState,
  { partition, from, to, writes }: PartitionBatch,
): 'committed' | 'stale' => {
  if (state.checkpoints[partition] !== from) return 'stale';
  buffer.addDirty(state.id, partition, writes);
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
  const { scope, list } = query;
  const partition = partitionOf(scope);
  if (state.lost.size > 0) store.rows.requireFilled(state, partition);
  const isFlushed = tryFlush(store, state, { partition, onFault });
  const places = isFlushed
    ? store.file.use((sql) => sql.list(state.id, query))
    : listUnflushed(store, state, query);
  const rows: { row: Row; sort: number; key: string }[] = [];
  for (const [key, sort] of places) {
    const { row, sort: own } = store.rows.read(state, scope, key);
    if (row && (list !== undefined || sort === own)) rows.push({ row, sort, key });
    else {
      store.rows.lose(state, partition, 'a list does not fit its rows');
      throw new ReadModelRebuilding(`partition ${partition} of ${space} is being filled`);
    }
  }
  return rows;
};

/** If the file cannot be written, merges the changed rows into what the file has. */
const listUnflushed = (
  { buffer, file }: WriteBehind,
  { id }: SpaceState,
  query: ListQuery,
): [key: string, sort: number][] => {
  const cells = buffer.dirtyIn(id, partitionOf(query.scope));
  const changed = cells.filter(({ scope }) => scope === query.scope);
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
  const changes = (cell.entries ?? []).filter(({ entry }) => entry[0] === list);
  if (changes.length === 0) return undefined;
  return changes.find(({ isAdded }) => isAdded)?.entry[1] ?? null;
};
