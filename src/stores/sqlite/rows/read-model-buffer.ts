/** Rows that are changed in memory and not written yet. */
import { type ListEntry, PARTITIONS, type Row, type RowWrite } from '#src/ports/read-model.ts';
import { GenerationCache } from '#src/stores/caches.ts';

/** The place of a row. `id` is the number of its space in the file. */
export type CellPlace = { id: number; partition: number; scope: string; key: string };

/** The hash and the sort key that the file has of a row. */
export type StoredRow = { hash: number; sort: number | null };

type EntryChange = { entry: ListEntry; isAdded: boolean };

/** A row in its place; `row` null: it does not exist. */
export type Cell = CellPlace & {
  row: Row | null;
  sort: number | null;
  /** What the file has of the row; null: nothing, undefined: unknown. */
  stored?: StoredRow | null | undefined;
  /** What the file has of it once the current transaction is committed. */
  written?: StoredRow | null;
  /** The entries that the file still has to add or to remove. */
  entries?: EntryChange[] | undefined;
};

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
