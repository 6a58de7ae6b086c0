/** Writes changed rows to views.db in steps between requests, after their commit to the log. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { noRows, RowDamaged } from '#src/stores/row-digest.ts';
import { ReadModelRebuilding, type Space } from '#src/ports/read-model.ts';
import { RowBuffer } from './read-model-buffer.ts';
import { type GuardedFile, openGuarded } from './read-model-file.ts';
import { GuardedRows, SpaceRegistry, type SpaceState } from './read-model-spaces.ts';

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
