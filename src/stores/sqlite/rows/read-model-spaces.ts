/**
 * The spaces of read models in views.db, rows of them that are changed in memory and not written yet, and reads of both: a
 * damaged row costs its partition, which is folded again.
 */
import { noRows, RowDamaged, type RowDigest } from '#src/stores/row-digest.ts';
import type { Position } from '#src/ports/event-log.ts';
import {
  PARTITIONS,
  partitionOf,
  readModelOf,
  ReadModelRebuilding,
  type Space,
  type RowWrite,
} from '#src/ports/read-model.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import type { Cell, CellPlace, EntryChange, GuardedFile, Statements } from './read-model-file.ts';

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
