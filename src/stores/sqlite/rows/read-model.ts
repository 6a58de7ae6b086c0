/**
 * Rows of read models in SQLite: implements the port of their store. A commit writes rows, entries of lists and checkpoint
 * in the transaction of this turn of the event loop. A damaged row costs its partition, which is folded again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ListQuery,
  type LocalStore,
  PARTITIONS,
  type PartitionBatch,
  type PartitionFill,
  partitionOf,
  ReadModelRebuilding,
  type Row,
  type RowKey,
  RowsUnwritable,
  type Space,
  readModelOf,
  type RowWrite,
} from '#src/ports/read-model.ts';
import { digestText, noRows, RowDamaged, type RowDigest } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import {
  checkPartition,
  filledRows,
  filesOf,
  nextFileOf,
  partOf,
  RowsFile,
  type Statements,
  type StoredRow,
} from './read-model-file.ts';
import { openRows } from './rows-reader.ts';

/** A space, with what its file has of each partition. */
type SpaceState = {
  file: RowsFile;
  /** The number of the space in its file. */
  id: number;
  space: Space;
  /** Whether a commit that the file does not take stays in memory. */
  isKept: boolean;
  checkpoints: Position[];
  digests: RowDigest[];
  /** Partitions whose rows were damaged and removed, and the position up to which they must be filled again. */
  lost: Map<number, Position>;
};

const noCheckpoints = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

/** What the file did not take of a partition. */
type Kept = { state: SpaceState; partition: number };

type Known = Pick<StoredRow, 'row' | 'sort'>;

const nameOf = (space: Space, { scope, key }: RowKey): string => `${space}\n${scope}\n${key}`;

export type SqliteStoreOptions = {
  file: string;
  /** Identity of the log that this is a cache of; a file of another log is deleted. */
  log?: string;
  /**
   * Read models that follow the log in memory while the file takes no writes, so that a full disk delays no revocation. They
   * have no lists.
   */
  kept?: readonly string[];
  /** Approximate number of rows in memory. */
  cacheRowsMax?: number;
  /** Called before rows are written. */
  beforeWrite?(): void;
  /** The file was unreadable, damaged or foreign, and its rows are lost: the engine fills it again. */
  onDiscarded?(reason: string): void;
};

/** Takes a few milliseconds. */
const ROWS_IN_TURN = 250;
const CACHE_ROWS_MAX = 50_000;
/** A reader of larger rows copies them: the cache bounds the number of rows, not their size. */
const CACHED_CHARS_MAX = 32_768;

export type SqliteStore = LocalStore & Pick<SqliteRows, 'beginBuild' | 'endBuild'>;

/**
 * Read models that survive the process. A kill loses the rows and the checkpoint of the last turn together, so a checkpoint
 * in the file is never ahead of its rows.
 *
 * @example
 * const store = sqliteStore({ file: 'data/views.db', log: log.id, kept: ['credentials'] });
 * await store.commit('leads@1.1', [{ partition: partitionOf('acme'), from: 0, to: 7, writes }]);
 */
export const sqliteStore = (options: SqliteStoreOptions): SqliteStore => {
  const store = new SqliteRows(options);
  return {
    checkpoints: async (space) => [...store.checkpointsOf(space)],
    load: async (space, keys, at) => store.load(space, keys, at),
    commit: (space, batches) => store.commit(space, batches),
    digest: async (space, partition) => store.digest(space, partition),
    check: async (space, partition) => store.check(space, partition),
    async partitionRows(space, partition) {
      store.flush();
      using rows = openRows(filesOf(options.file));
      return await rows.partitionRows(space, partition);
    },
    count: async (space) => store.count(space),
    spaces: async (name) => store.spacesOf(name),
    fillPartition: (space, partition, filled) => store.fillPartition(space, partition, filled),
    beginBuild: (spaces) => store.beginBuild(spaces),
    endBuild: (file) => store.endBuild(file),
    goLive: (space) => store.goLive(space),
    drop: (space) => store.drop(space),
    flush: async () => store.flush(),
    close: async () => store.close(),
    live: (name) => store.live(name),
    peek: (space, scope, key) => store.peek(space, { scope, key }),
    list: (space, query) => store.list(space, query),
  };
};

class SqliteRows {
  readonly #options: SqliteStoreOptions;
  /** The files that have spaces; the first one gets new spaces. A build that is filled at once has a file of its own. */
  readonly #files: RowsFile[] = [];
  readonly #spaces = new Map<Space, SpaceState>();
  readonly #live = new Map<string, Space>();
  /** Rows as the file has them. */
  readonly #cache: GenerationCache<string, StoredRow>;
  /** What the file did not take of the read models in `kept`, by the name of the row and by the partition. */
  readonly #keptRows = new Map<string, Kept & { write: RowWrite }>();
  readonly #keptCheckpoints = new Map<string, Kept & { position: Position }>();

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#cache = new GenerationCache(options.cacheRowsMax ?? CACHE_ROWS_MAX);
    for (const path of filesOf(options.file)) this.#openFile(path);
    if (this.#files.length === 0) this.#openFile(options.file);
    this.#removeEmptyFiles();
  }

  checkpointsOf(space: Space): readonly Position[] {
    return this.#spaces.get(space)?.checkpoints ?? noCheckpoints();
  }

  live(name: string): Space | null {
    return this.#live.get(name) ?? null;
  }

  spacesOf(name: string): { live: Space | null; all: Space[] } {
    const all = [...this.#spaces.keys()].filter((space) => readModelOf(space) === name);
    return { live: this.live(name), all };
  }

  count(space: Space): number {
    const digests = this.#spaces.get(space)?.digests ?? [];
    return digests.reduce((sum, { rows }) => sum + rows, 0);
  }

  digest(space: Space, partition: number) {
    const state = this.#spaces.get(space);
    const checkpoint = state?.checkpoints[partition] ?? 0;
    return { checkpoint, ...digestText(state?.digests[partition] ?? noRows()) };
  }

  /** Reads each record of a partition. Throws ReadModelRebuilding if one is damaged. */
  check(space: Space, partition: number): void {
    const state = this.#spaces.get(space);
    if (!state) return;
    const written = state.digests[partition] ?? noRows();
    this.#guarded(state, partition, () =>
      state.file.read((_sql, db) => checkPartition(db, partOf(state.id, partition), written)),
    );
  }

  load(
    space: Space,
    keys: readonly RowKey[],
    at: readonly Position[] | undefined,
  ): (Row | undefined)[] | undefined {
    const checkpoints = this.checkpointsOf(space);
    const hasMoved = (partition: number): boolean =>
      (checkpoints[partition] ?? 0) !== at?.[partition];
    if (at && keys.some(({ scope }) => hasMoved(partitionOf(scope)))) return undefined;
    const state = this.#spaces.get(space);
    return keys.map((key) => {
      const row = state && this.#read(state, key);
      // The caller may change it, and the change may never be committed.
      if (row) this.#cache.delete(nameOf(state.space, key));
      return row?.row;
    });
  }

  async commit(
    space: Space,
    batches: readonly PartitionBatch[],
  ): Promise<('committed' | 'stale')[]> {
    if (batches.length === 0) return [];
    try {
      const state = this.#findOrAdd(space);
      const answers = state.file.write((sql) =>
        batches.map((batch) => this.#commitBatch(sql, state, batch)),
      );
      await state.file.committed();
      return answers;
    } catch (error) {
      const state = this.#spaces.get(space);
      if (!(error instanceof RowsUnwritable) || !state?.isKept) throw error;
      return batches.map((batch) => this.#keep(state, batch));
    }
  }

  async goLive(space: Space): Promise<void> {
    const name = readModelOf(space);
    const { file } = this.#findOrAdd(space);
    // A kill in between leaves none live, and the next start completes the space and switches to it.
    for (const other of this.#files) if (other !== file) other.write((sql) => sql.noneLive(name));
    await Promise.all(this.#files.map((one) => one.committed()));
    file.write((sql) => sql.goLive(name, space));
    await file.committed();
    this.#live.set(name, space);
  }

  async drop(space: Space): Promise<void> {
    const state = this.#spaces.get(space);
    if (!state) return;
    const { file, id } = state;
    file.write((sql) => sql.dropSpace(id, space));
    await file.committed();
    this.#forget(state);
    const live = new Set(this.#live.values());
    // The rows of a file without a live space go with the file, when its last space does.
    const isUsed = this.#statesIn(file).some((other) => live.has(other.space));
    if (this.#removeEmptyFiles() || !isUsed) return;
    // One partition per turn: a large space takes seconds, and the process serves meanwhile.
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await nextTurn();
      file.write((sql) => sql.dropPartition(partOf(id, partition)));
    }
  }

  /** Writes rows of a partition that has no checkpoint, and its checkpoint with the last of them. */
  async fillPartition(
    space: Space,
    partition: number,
    { position, rows }: PartitionFill,
  ): Promise<void> {
    const state = this.#findOrAdd(space);
    const part = partOf(state.id, partition);
    const digest = noRows();
    state.file.write((sql) => sql.dropPartition(part));
    for (let from = 0; from < rows.length; from += ROWS_IN_TURN) {
      const some = filledRows(rows.slice(from, from + ROWS_IN_TURN), digest);
      state.file.write((sql) => sql.fill(part, some));
      await state.file.committed();
    }
    state.file.write((sql) => sql.moveCheckpoint(part, { position, ...digest }));
    await state.file.committed();
    state.checkpoints[partition] = position;
    state.digests[partition] = digest;
    this.#cache.clear();
  }

  /**
   * Prepares a file in which another thread fills these spaces, which are new or were begun there before. Returns undefined if
   * they have to be filled where they are.
   */
  beginBuild(spaces: readonly Space[]): string | undefined {
    const known = spaces.map((space) => this.#spaces.get(space)?.file);
    const [first] = known;
    if (known.some((file) => file !== first)) return undefined;
    if (first) {
      const live = new Set(this.#live.values());
      const isUsed = [...this.#spaces.values()].some(
        ({ file, space }) => file === first && live.has(space),
      );
      return isUsed ? undefined : first.path;
    }
    const file = this.#openFile(nextFileOf(this.#options.file, this.#files));
    for (const space of spaces)
      this.#add(
        file,
        file.write((sql) => sql.addSpace(space)),
        space,
      );
    file.commit();
    return file.path;
  }

  /** Reads again what a file has, after another thread wrote it. A file without spaces is not needed any more. */
  endBuild(path: string): void {
    for (const file of this.#files) if (file.path === path) this.#load(file);
    this.#removeEmptyFiles();
  }

  peek(space: Space, place: RowKey): Row | undefined {
    const state = this.#readable(space, partitionOf(place.scope));
    return state && this.#read(state, place)?.row;
  }

  list(space: Space, query: ListQuery): ReturnType<LocalStore['list']> {
    const { scope, list } = query;
    const partition = partitionOf(scope);
    const state = this.#readable(space, partition);
    if (!state) return [];
    const rows: { row: Row; sort: number; key: string }[] = [];
    for (const [key, sort] of state.file.read((sql) => sql.list(state.id, query))) {
      const stored = this.#read(state, { scope, key });
      if (stored && (list !== undefined || sort === stored.sort))
        rows.push({ row: stored.row, sort, key });
      else {
        this.#lose(state, partition, 'a list does not fit its rows');
        throw fillingOf(state, partition);
      }
    }
    return rows;
  }

  flush(): void {
    for (const file of this.#files) file.commit();
  }

  close(): void {
    try {
      this.flush();
    } catch {
      // The next start reads from the log what the file lacks.
    }
    for (const file of this.#files) file.close();
  }

  #openFile(path: string): RowsFile {
    const file = new RowsFile({
      path,
      log: this.#options.log ?? '',
      onDiscarded: (reason) => this.#options.onDiscarded?.(reason),
      onEmptied: () => {
        for (const state of this.#statesIn(file)) this.#forget(state);
      },
      onBegin: (sql) => {
        this.#options.beforeWrite?.();
        this.#writeKept(file, sql);
      },
      onEnd: (isCommitted) => this.#onEnd(file, isCommitted),
    });
    this.#files.push(file);
    this.#load(file);
    return file;
  }

  /** Removes the files that have no space, except one for new spaces. Returns whether there were any. */
  #removeEmptyFiles(): boolean {
    const unused = this.#files.filter((file) => this.#statesIn(file).length === 0);
    if (unused.length === this.#files.length) unused.shift();
    for (const file of unused) {
      this.#files.splice(this.#files.indexOf(file), 1);
      file.remove();
    }
    return unused.length > 0;
  }

  #statesIn(file: RowsFile): SpaceState[] {
    return [...this.#spaces.values()].filter((state) => state.file === file);
  }

  /** Reads what a file has into memory. A partition whose checkpoint is damaged is lost. */
  #load(file: RowsFile): void {
    try {
      const damaged: [state: SpaceState, partition: number][] = [];
      file.read((sql) => {
        const stored = sql.allSpaces();
        const names = new Set(stored.map(({ space }) => space));
        for (const state of this.#statesIn(file)) if (!names.has(state.space)) this.#forget(state);
        for (const { id, space } of stored) {
          const state = this.#spaces.get(space) ?? this.#add(file, id, space);
          for (let partition = 0; partition < PARTITIONS; partition++) {
            const record = sql.checkpoint(partOf(id, partition));
            if (!record) damaged.push([state, partition]);
            const { position, rows, sum } = record ?? { position: 0, ...noRows() };
            state.checkpoints[partition] = position;
            state.digests[partition] = { rows, sum };
          }
        }
        for (const { name, space } of sql.allLive())
          if (this.#spaces.has(space)) this.#live.set(name, space);
      });
      for (const [state, partition] of damaged)
        this.#lose(state, partition, 'the hash of its checkpoint does not fit');
    } catch (error) {
      // There is nothing to load from a file that could not be read.
      if (!(error instanceof ReadModelRebuilding)) throw error;
    }
  }

  #findOrAdd(space: Space): SpaceState {
    const state = this.#spaces.get(space);
    if (state) return state;
    const [file] = this.#files;
    if (!file) throw new Error('the store has no file');
    return this.#add(
      file,
      file.write((sql) => sql.addSpace(space)),
      space,
    );
  }

  #add(file: RowsFile, id: number, space: Space): SpaceState {
    const state: SpaceState = {
      file,
      id,
      space,
      isKept: this.#options.kept?.includes(readModelOf(space)) === true,
      checkpoints: noCheckpoints(),
      digests: Array.from({ length: PARTITIONS }, noRows),
      lost: new Map(),
    };
    this.#spaces.set(space, state);
    return state;
  }

  #forget(state: SpaceState): void {
    this.#spaces.delete(state.space);
    this.#cache.clear();
    for (const [name, space] of this.#live) if (space === state.space) this.#live.delete(name);
    for (const memory of [this.#keptRows, this.#keptCheckpoints])
      for (const [name, kept] of memory) if (kept.state === state) memory.delete(name);
  }

  /** Returns a row as it was written last, if there is one. Throws ReadModelRebuilding if it is damaged. */
  #read(state: SpaceState, { scope, key }: RowKey): Known | undefined {
    const name = nameOf(state.space, { scope, key });
    const kept = this.#keptRows.get(name)?.write;
    if (kept) return kept.row === null ? undefined : { row: kept.row, sort: kept.sort };
    const cached = this.#cache.get(name);
    if (cached) return cached;
    const partition = partitionOf(scope);
    const part = partOf(state.id, partition);
    const stored = this.#guarded(state, partition, () =>
      state.file.read((sql) => sql.read(part, scope, key)),
    );
    if (stored && stored.chars < CACHED_CHARS_MAX) this.#cache.set(name, stored);
    return stored;
  }

  #commitBatch(
    sql: Statements,
    state: SpaceState,
    { partition, from, to, writes }: PartitionBatch,
  ): 'committed' | 'stale' {
    if (state.checkpoints[partition] !== from) return 'stale';
    const part = partOf(state.id, partition);
    const digest = { ...(state.digests[partition] ?? noRows()) };
    for (const write of writes) this.#writeRow(sql, { state, part, digest, write });
    sql.moveCheckpoint(part, { position: to, ...digest });
    state.checkpoints[partition] = to;
    state.digests[partition] = digest;
    return 'committed';
  }

  #writeRow(
    sql: Statements,
    place: { state: SpaceState; part: number; digest: RowDigest; write: RowWrite },
  ): void {
    const { state, part, digest, write } = place;
    const name = nameOf(state.space, write);
    const after = sql.write(part, write, digest);
    if (after && write.row && after.chars < CACHED_CHARS_MAX)
      this.#cache.set(name, { row: write.row, ...after });
    else this.#cache.delete(name);
  }

  /** Has a commit in memory that the file did not take. */
  #keep(state: SpaceState, { partition, from, to, writes }: PartitionBatch): 'committed' | 'stale' {
    if (state.checkpoints[partition] !== from) return 'stale';
    for (const write of writes)
      this.#keptRows.set(nameOf(state.space, write), { state, partition, write });
    const name = `${state.space}\n${partition}`;
    this.#keptCheckpoints.set(name, { state, partition, position: to });
    state.checkpoints[partition] = to;
    return 'committed';
  }

  /** The file takes writes again: begins with what it did not take. */
  #writeKept(file: RowsFile, sql: Statements): void {
    for (const { state, partition, position } of this.#keptCheckpoints.values()) {
      if (state.file !== file) continue;
      const part = partOf(state.id, partition);
      const digest = { ...(state.digests[partition] ?? noRows()) };
      for (const kept of this.#keptRows.values())
        if (kept.state === state && kept.partition === partition)
          this.#writeRow(sql, { state, part, digest, write: kept.write });
      sql.moveCheckpoint(part, { position, ...digest });
      state.digests[partition] = digest;
    }
  }

  #onEnd(file: RowsFile, isCommitted: boolean): void {
    const isOfFile = ({ state }: Kept): boolean => state.file === file;
    if (isCommitted) {
      for (const memory of [this.#keptRows, this.#keptCheckpoints])
        for (const [name, kept] of memory) if (isOfFile(kept)) memory.delete(name);
      return;
    }
    // Rows of the turn are in the cache, and checkpoints and digests of the turn in the states.
    this.#cache.clear();
    this.#load(file);
    for (const { state, partition, position } of this.#keptCheckpoints.values())
      state.checkpoints[partition] = position;
  }

  /** Throws ReadModelRebuilding while the partition cannot be read, or the file lacks rows. */
  #readable(space: Space, partition: number): SpaceState | undefined {
    const state = this.#spaces.get(space);
    if (!state) return undefined;
    if (state.file.isUnwritable && !state.isKept)
      throw new ReadModelRebuilding('the file of the read models cannot be written');
    const reached = state.lost.get(partition);
    if (reached === undefined) return state;
    if ((state.checkpoints[partition] ?? 0) < reached) throw fillingOf(state, partition);
    state.lost.delete(partition);
    return state;
  }

  /** Throws ReadModelRebuilding, and removes the partition, if a record of it is damaged. */
  #guarded<T>(state: SpaceState, partition: number, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof RowDamaged)) throw error;
      this.#lose(state, partition, error.message);
      throw new ReadModelRebuilding(error.message, { cause: error });
    }
  }

  /**
   * Removes the rows of a partition, so that the engine finds its checkpoint lower than it was and fills it again. Until then
   * readers get no rows of it.
   */
  #lose(state: SpaceState, partition: number, reason: string): void {
    // Where its own checkpoint is unknown, the others tell how far the space was filled.
    const reached = state.checkpoints[partition] || Math.max(...state.checkpoints);
    state.lost.set(partition, Math.max(reached, state.lost.get(partition) ?? 0));
    try {
      state.file.write((sql) => sql.dropPartition(partOf(state.id, partition)));
    } catch (error) {
      // The next reader finds it again.
      if (error instanceof RowsUnwritable) return;
      throw error;
    }
    state.checkpoints[partition] = 0;
    state.digests[partition] = noRows();
    this.#cache.clear();
    this.#options.onDiscarded?.(`${state.space}, partition ${partition}: ${reason}`);
  }
}

const fillingOf = ({ space }: SpaceState, partition: number): ReadModelRebuilding =>
  new ReadModelRebuilding(`partition ${partition} of ${space} is being filled`);
