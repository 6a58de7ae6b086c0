/**
 * Rows of read models in SQLite: implements the port of their store. Changed rows are written to views.db in steps between
 * requests, after their commit to the log. A damaged row costs its partition, which is folded again.
 */
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
  readModelOf,
  type RowWrite,
} from '#src/ports/read-model.ts';
import { digestText, noRows, RowDamaged, type RowDigest } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { sqliteCodeOf } from '#src/stores/sqlite/failure.ts';
import { openRows } from './rows-reader.ts';
import {
  type GuardedFile,
  openGuarded,
  type Cell,
  type CellPlace,
  type EntryChange,
  type Statements,
} from './read-model-file.ts';
import { GenerationCache } from '#src/stores/caches.ts';

const addEntries = (cell: Cell, { added = [], removed = [] }: RowWrite): void => {
  for (const entry of removed) changeEntry(cell, { entry, isAdded: false });
  for (const entry of added) changeEntry(cell, { entry, isAdded: true });
};

/** Two opposite changes cancel out. */
const changeEntry = (cell: Cell, change: EntryChange): void => {
  const { entry, isAdded } = change;
  const entries = (cell.entries ??= []);
  const at = entries.findIndex((one) => one.entry[0] === entry[0] && one.entry[1] === entry[1]);
  if (at < 0) entries.push(change);
  else if (entries[at]?.isAdded !== isAdded) entries.splice(at, 1);
};

const NONE: ReadonlyMap<string, Cell> = new Map();

const partitionName = (id: number, partition: number): number => id * PARTITIONS + partition;

const nameOf = (id: number, scope: string, key: string): string => `${id}\n${scope}\n${key}`;

/** Rows in memory in front of the file: those that the file does not have yet, and recent ones. */
export class RowBuffer {
  /** By the number of the partition, then by name. */
  readonly #dirty = new Map<number, Map<string, Cell>>();
  readonly #dirtyRows = new Map<number, number>();
  readonly #clean: GenerationCache<string, Cell>;

  constructor(cleanRowsMax: number) {
    this.#clean = new GenerationCache(cleanRowsMax);
  }

  /** The number of rows in a space that the file does not contain yet. */
  dirtyRows(id: number): number {
    return this.#dirtyRows.get(id) ?? 0;
  }

  get({ id, partition, scope, key }: CellPlace): Cell | undefined {
    const name = nameOf(id, scope, key);
    return this.#dirty.get(partitionName(id, partition))?.get(name) ?? this.#clean.get(name);
  }

  /** Adds changed rows of a partition, which stay until `markClean`. */
  addDirty(id: number, partition: number, writes: readonly RowWrite[]): void {
    const cells = this.#dirty.get(partitionName(id, partition)) ?? new Map<string, Cell>();
    this.#dirty.set(partitionName(id, partition), cells);
    const before = cells.size;
    for (const write of writes) {
      const { scope, key, row, sort } = write;
      const name = nameOf(id, scope, key);
      let cell = cells.get(name);
      if (cell) {
        cell.row = row;
        cell.sort = sort;
      } else {
        // The previous object must not reappear once this one is clean.
        const clean = this.#clean.get(name);
        if (clean) this.#clean.delete(name);
        cell = { id, partition, scope, key, row, sort, stored: clean?.stored };
        cells.set(name, cell);
      }
      addEntries(cell, write);
    }
    this.#count(id, cells.size - before);
  }

  /** Adds a row as the file has it, which stays while it is read. */
  addClean(cell: Cell): void {
    this.#clean.set(nameOf(cell.id, cell.scope, cell.key), cell);
  }

  /** Returns the rows of a partition that the file does not have yet. */
  dirtyIn(id: number, partition: number): Cell[] {
    return [...(this.#dirty.get(partitionName(id, partition))?.values() ?? [])];
  }

  /** The file contains all rows of the partition now. */
  markClean(id: number, partition: number): void {
    for (const [name, cell] of this.#takeDirty(id, partition)) {
      cell.entries = undefined;
      cell.stored = cell.written;
      this.#clean.set(name, cell);
    }
  }

  /** Removes all rows of a partition. */
  forget(id: number, partition: number): void {
    this.#takeDirty(id, partition);
    this.#clean.deleteWhere((cell) => cell.id === id && cell.partition === partition);
  }

  clear(): void {
    for (const cells of [this.#dirty, this.#clean, this.#dirtyRows]) cells.clear();
  }

  #takeDirty(id: number, partition: number): ReadonlyMap<string, Cell> {
    const cells = this.#dirty.get(partitionName(id, partition)) ?? NONE;
    this.#dirty.delete(partitionName(id, partition));
    this.#count(id, -cells.size);
    return cells;
  }

  #count(id: number, rows: number): void {
    this.#dirtyRows.set(id, this.dirtyRows(id) + rows);
  }
}

/** A space and its checkpoints, which are ahead of the file in the partitions of `moved`. */
export type SpaceState = {
  id: number;
  space: Space;
  isLive: boolean;
  checkpoints: Position[];
  moved: Set<number>;
  /** What the file has in each partition. */
  digests: RowDigest[];
  /** Partitions whose rows were damaged and removed, and the position up to which they must be filled again. */
  lost: Map<number, Position>;
};

export const noCheckpoints = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

/** All spaces and which of them are live: few enough to be in memory. */
export class SpaceRegistry {
  readonly #file: GuardedFile;
  readonly #states = new Map<Space, SpaceState>();
  readonly #live = new Map<string, Space>();

  constructor(file: GuardedFile) {
    this.#file = file;
  }

  find(space: Space): SpaceState | undefined {
    return this.#states.get(space);
  }

  findOrAdd(space: Space): SpaceState {
    return (
      this.find(space) ??
      this.#add(
        this.#file.use((sql) => sql.addSpace(space)),
        space,
      )
    );
  }

  remove({ id, space }: SpaceState): void {
    this.#states.delete(space);
    for (const [name, current] of this.#live) if (current === space) this.#live.delete(name);
    this.#file.use((sql) => sql.dropSpace(id, space));
  }

  all(): SpaceState[] {
    return [...this.#states.values()];
  }

  live(name: string): Space | null {
    return this.#live.get(name) ?? null;
  }

  goLive(space: Space): void {
    const name = readModelOf(space);
    this.findOrAdd(space);
    this.#file.use((sql) => sql.goLive(name, space));
    this.#setLive(name, space);
  }

  /** Reads everything from the file. A partition whose checkpoint is damaged is at 0; returns them. */
  load(): { state: SpaceState; partition: number }[] {
    const damaged: { state: SpaceState; partition: number }[] = [];
    this.#file.use((sql) => {
      for (const { id, space } of sql.allSpaces()) {
        const state = this.#add(id, space);
        for (let partition = 0; partition < PARTITIONS; partition++) {
          const record = sql.checkpoint(id, partition);
          if (!record) damaged.push({ state, partition });
          const { position, rows, sum } = record ?? { position: 0, ...noRows() };
          state.checkpoints[partition] = position;
          state.digests[partition] = { rows, sum };
        }
      }
      for (const { name, space } of sql.allLive()) if (this.find(space)) this.#setLive(name, space);
    });
    return damaged;
  }

  clear(): void {
    this.#states.clear();
    this.#live.clear();
  }

  #setLive(name: string, space: Space): void {
    this.#live.set(name, space);
    const isOfName = (state: SpaceState): boolean => state.space.startsWith(`${name}@`);
    for (const state of this.all().filter(isOfName)) state.isLive = state.space === space;
  }

  #add(id: number, space: Space): SpaceState {
    const state: SpaceState = {
      id,
      space,
      isLive: false,
      checkpoints: noCheckpoints(),
      moved: new Set(),
      digests: Array.from({ length: PARTITIONS }, noRows),
      lost: new Map(),
    };
    this.#states.set(space, state);
    return state;
  }
}

/** Reads rows, and loses the partition of a damaged one. */
export class GuardedRows {
  readonly #file: GuardedFile;
  readonly #buffer: RowBuffer;
  readonly #onDiscarded: (reason: string) => void;

  constructor(file: GuardedFile, buffer: RowBuffer, onDiscarded: (reason: string) => void) {
    this.#file = file;
    this.#buffer = buffer;
    this.#onDiscarded = onDiscarded;
  }

  /** Reads a row from memory or the file. Throws ReadModelRebuilding if the row is damaged. */
  read(state: SpaceState, scope: string, key: string): Cell {
    const place = { id: state.id, partition: partitionOf(scope), scope, key };
    const cell = this.#buffer.get(place);
    if (cell) return cell;
    const stored = this.#guarded(state, place.partition, (sql) => sql.row(place)) ?? null;
    const clean = { ...place, row: stored?.row ?? null, sort: stored?.sort ?? null, stored };
    // The buffer bounds the number of rows, not their size, and a reader of large ones copies them.
    if (!stored?.isLarge) this.#buffer.addClean(clean);
    return clean;
  }

  /** Reads each record of a partition. Throws ReadModelRebuilding if one is damaged. */
  check(state: SpaceState, partition: number): void {
    const written = state.digests[partition] ?? noRows();
    this.#guarded(state, partition, (sql) => sql.check(state.id, partition, written));
  }

  /**
   * Removes the rows of a partition, so that the engine finds its checkpoint lower than it was and fills it again.
   * Until then readers get no rows of it.
   */
  lose(state: SpaceState, partition: number, reason: string): void {
    this.#file.use((sql) => sql.dropPartition(state.id, partition));
    // Where its own checkpoint is unknown, the others tell how far the space was filled.
    const reached = state.checkpoints[partition] || Math.max(...state.checkpoints);
    state.lost.set(partition, Math.max(reached, state.lost.get(partition) ?? 0));
    state.checkpoints[partition] = 0;
    state.digests[partition] = noRows();
    state.moved.delete(partition);
    this.#buffer.forget(state.id, partition);
    this.#onDiscarded(`${state.space}, partition ${partition}: ${reason}`);
  }

  /** Throws ReadModelRebuilding while a lost partition is filled again. */
  requireFilled({ space, lost, checkpoints }: SpaceState, partition: number): void {
    const reached = lost.get(partition);
    if (reached === undefined) return;
    if ((checkpoints[partition] ?? 0) < reached)
      throw new ReadModelRebuilding(`partition ${partition} of ${space} is being filled`);
    lost.delete(partition);
  }

  /** Throws ReadModelRebuilding, and removes the partition, if a record of it is damaged. */
  #guarded<T>(state: SpaceState, partition: number, work: (statements: Statements) => T): T {
    try {
      return this.#file.use(work);
    } catch (error) {
      if (!(error instanceof RowDamaged)) throw error;
      this.lose(state, partition, error.message);
      throw new ReadModelRebuilding(error.message, { cause: error });
    }
  }
}

export type SqliteStoreOptions = {
  file: string;
  /** Identity of the log that this is a cache of; a file of another log is deleted. */
  log?: string;
  /** Changed rows in memory before they are written at once. */
  flushRowsMax?: number;
  /** Changed rows in memory of spaces that are being filled, before they are written at once. */
  fillRowsMax?: number;
  /** Approximate number of unchanged rows in memory. */
  cacheRowsMax?: number;
  /** Called before rows are written. */
  beforeWrite?(): void;
  /** Runs `flush` once, a moment later; returns a function that cancels it. */
  schedule?(flush: () => void): () => void;
  /** A flush in the background failed (a full disk); its rows wait for the next one. */
  onFault?(error: unknown): void;
  /** The file was unreadable, damaged or foreign, and its rows are lost: the engine fills it again. */
  onDiscarded?(reason: string): void;
};

const FLUSH_MS = 250;
const FLUSH_ROWS_MAX = 5_000;
const CACHE_ROWS_MAX = 50_000;
/** Changed rows of the spaces that are not live: a few hundred MB. */
const FILL_ROWS_MAX = 25_000;
/** Takes a few milliseconds; a partition with more rows is written whole. */
const ROWS_IN_TURN = 250;

const scheduleOnTimer = (flush: () => void): (() => void) => {
  const timer = setTimeout(flush, FLUSH_MS).unref();
  return () => clearTimeout(timer);
};

/** The unit of atomicity. */
type SpacePartition = { state: SpaceState; partition: number };

/** Collects changes in memory and writes them to the file a moment later, between requests. */
export class WriteBehind {
  readonly buffer: RowBuffer;
  readonly file: GuardedFile;
  readonly spaces: SpaceRegistry;
  readonly rows: GuardedRows;
  readonly #options: SqliteStoreOptions;
  readonly #flushRowsMax: number;
  #cancel: (() => void) | undefined;
  #isClosed = false;
  #isFlushing = false;
  #hasFailed = false;
  #writing: Promise<void> | undefined;
  /** Partitions of spaces that are not live, to be written in this order. */
  #round: SpacePartition[] = [];

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#flushRowsMax = options.flushRowsMax ?? FLUSH_ROWS_MAX;
    this.buffer = new RowBuffer(options.cacheRowsMax ?? CACHE_ROWS_MAX);
    this.file = openGuarded({
      file: options.file,
      log: options.log ?? '',
      onDiscarded: (reason) => options.onDiscarded?.(reason),
      onEmptied: () => {
        this.spaces.clear();
        this.buffer.clear();
      },
    });
    this.spaces = new SpaceRegistry(this.file);
    this.rows = new GuardedRows(this.file, this.buffer, (reason) => options.onDiscarded?.(reason));
    this.#load();
  }

  /** Writes everything that has changed, of one space or of all. */
  flush(space?: Space): void {
    const all = this.#movedPartitions();
    this.#write(space === undefined ? all : all.filter(({ state }) => state.space === space));
  }

  flushPartition(state: SpaceState, partition: number): void {
    if (state.moved.has(partition)) this.#write([{ state, partition }]);
  }

  /** Schedules a flush of live spaces; with very many changed rows, writes some of them now. */
  flushSoon(): void {
    const isMuch = this.#rowsOf(true) >= this.#flushRowsMax && !this.#hasFailed;
    if (isMuch && !this.#isFlushing) void this.#flushInBackground();
    else {
      const { schedule = scheduleOnTimer } = this.#options;
      this.#cancel ??= schedule(() => void this.#flushInBackground());
    }
    if (isMuch && this.#isFarBehind()) this.#catchUp();
  }

  /**
   * Writes spaces that are not live while too many of their rows have changed, because rows that are written at once are
   * compressed together. Writes one partition after the other, so that each has collected its rows since its last turn:
   * twice as many as if all were written at once. Other work gets a turn between the partitions.
   */
  async writeFilling(rowsMax = this.#options.fillRowsMax ?? FILL_ROWS_MAX): Promise<void> {
    while (this.#rowsOf(false) >= rowsMax && !this.#isClosed)
      await (this.#writing ??= this.#writeTurn().finally(() => (this.#writing = undefined)));
  }

  async #writeTurn(): Promise<void> {
    if (this.#round.length === 0) this.#round = this.#movedPartitions(false);
    this.#writeSome(this.#round);
    await nextTurn();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    try {
      this.flush();
    } catch (error) {
      // The next start reads from the log what the file lacks.
      this.#options.onFault?.(error);
    }
    this.file.close();
  }

  #load(): void {
    try {
      for (const { state, partition } of this.spaces.load())
        this.rows.lose(state, partition, 'the hash of its checkpoint does not fit');
    } catch (error) {
      // There is nothing to load from a file that could not be read.
      if (!(error instanceof ReadModelRebuilding)) throw error;
    }
  }

  /** Counts the changed rows of the live spaces, or of the others. */
  #rowsOf(isLive: boolean): number {
    const states = this.spaces.all().filter((state) => state.isLive === isLive);
    return states.reduce((rows, { id }) => rows + this.buffer.dirtyRows(id), 0);
  }

  #movedPartitions(isLive?: boolean): SpacePartition[] {
    const states = this.spaces.all();
    return (
      isLive === undefined ? states : states.filter((state) => state.isLive === isLive)
    ).flatMap((state) => [...state.moved].map((partition) => ({ state, partition })));
  }

  /** Writes rows and checkpoints of the partitions in one transaction. */
  #write(moved: readonly SpacePartition[]): void {
    // The file may have been replaced meanwhile by one that does not contain the space.
    const partitions = moved.filter(({ state }) => this.spaces.find(state.space) === state);
    if (partitions.length === 0) return;
    const digests = partitions.map(({ state, partition }) => ({
      ...(state.digests[partition] ?? noRows()),
    }));
    let writing: SpacePartition | undefined;
    this.#options.beforeWrite?.();
    try {
      this.file.use((sql) =>
        sql.transaction(() => {
          for (const [i, place] of partitions.entries()) {
            writing = place;
            const { state, partition } = place;
            const digest = digests[i] ?? noRows();
            sql.write(
              { id: state.id, partition },
              this.buffer.dirtyIn(state.id, partition),
              digest,
            );
            const position = state.checkpoints[partition] ?? 0;
            sql.moveCheckpoint(state.id, partition, { position, ...digest });
          }
        }),
      );
    } catch (error) {
      if (!(error instanceof RowDamaged) || !writing) throw error;
      // A row that the file would replace is damaged: the others are still to be written.
      this.rows.lose(writing.state, writing.partition, error.message);
      return this.#write(partitions.filter((other) => other !== writing));
    }
    for (const [i, { state, partition }] of partitions.entries()) {
      state.digests[partition] = digests[i] ?? noRows();
      state.moved.delete(partition);
      this.buffer.markClean(state.id, partition);
    }
  }

  /** Removes from `partitions` and writes as many as fit into one turn, and at least one. */
  #writeSome(partitions: SpacePartition[]): void {
    let rows = 0;
    let count = 0;
    while (count < partitions.length && rows < ROWS_IN_TURN) {
      const next = partitions[count];
      rows += 1 + (next ? this.buffer.dirtyIn(next.state.id, next.partition).length : 0);
      count += 1;
    }
    const some = partitions.splice(0, count);
    this.#write(some.filter(({ state, partition }) => state.moved.has(partition)));
  }

  async #flushInBackground(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    try {
      for (const left = this.#movedPartitions(true); left.length > 0 && !this.#isClosed; ) {
        this.#writeSome(left);
        this.#hasFailed = false;
        if (left.length > 0) await nextTurn();
      }
      this.#isFlushing = false;
      if (this.#rowsOf(true) > 0 && !this.#isClosed) this.flushSoon();
    } catch (error) {
      this.#isFlushing = false;
      this.#handleFailure(error);
    }
  }

  #isFarBehind(): boolean {
    return this.#rowsOf(true) >= 2 * this.#flushRowsMax;
  }

  /** Writes now, because rows change faster than they are written between requests. */
  #catchUp(): void {
    try {
      const left = this.#movedPartitions(true);
      while (left.length > 0 && this.#isFarBehind()) this.#writeSome(left);
    } catch (error) {
      this.#handleFailure(error);
    }
  }

  /** Nothing is lost: the rows are in memory and in the log. Tries again, but not at once. */
  #handleFailure(error: unknown): void {
    this.#hasFailed = true;
    this.#options.onFault?.(error);
    this.flushSoon();
  }
}

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
