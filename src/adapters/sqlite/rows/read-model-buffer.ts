import { type ListEntry, PARTITIONS, type Row, type RowWrite } from '#src/ports/read-model.ts';
import { GenerationCache } from '#src/adapters/generation-cache.ts';

/** The place of a row. `id` is the number of its space in the file. */
export type CellPlace = { id: number; partition: number; scope: string; key: string };

/** A row in its place; `row` null: deleted, and the file still has it. */
export type Cell = CellPlace & {
  row: Row | null;
  sort: number | null;
  /** Deleted and created again since the last write to the file: `sort` may have changed. */
  isRenewed?: boolean;
  /** The entries that the file still has to add (true) and to remove (false), by their JSON. */
  entries?: Map<string, boolean> | undefined;
};

const addEntries = (cell: Cell, { added = [], removed = [] }: EntryChanges): void => {
  if (added.length === 0 && removed.length === 0) return;
  const entries = (cell.entries ??= new Map());
  for (const entry of removed) entries.set(JSON.stringify(entry), false);
  for (const entry of added) entries.set(JSON.stringify(entry), true);
};

/** The entries of a row that the file has to add or to remove. */
export const changedEntries = ({ entries }: Cell): { entry: ListEntry; isAdded: boolean }[] =>
  Array.from(entries ?? [], ([json, isAdded]) => ({ entry: JSON.parse(json), isAdded }));

type EntryChanges = Pick<RowWrite, 'added' | 'removed'>;

const NONE: ReadonlyMap<string, Cell> = new Map();

const partitionName = (id: number, partition: number): number => id * PARTITIONS + partition;

const nameOf = (id: number, scope: string, key: string): string => `${id}\n${scope}\n${key}`;

/** Rows in memory in front of the file: those that the file does not have yet, and recent ones. */
export class RowBuffer {
  readonly #dirty = new Map<string, Cell>();
  readonly #dirtyByPartition = new Map<number, Map<string, Cell>>();
  readonly #clean: GenerationCache<string, Cell>;

  constructor(cleanRowsMax: number) {
    this.#clean = new GenerationCache(cleanRowsMax);
  }

  get dirtyRows(): number {
    return this.#dirty.size;
  }

  get(id: number, scope: string, key: string): Cell | undefined {
    const name = nameOf(id, scope, key);
    return this.#dirty.get(name) ?? this.#clean.get(name);
  }

  /** Adds a changed row, which stays until `markClean`. */
  addDirty(cell: Cell, changes: EntryChanges): void {
    const name = nameOf(cell.id, cell.scope, cell.key);
    const before = this.#dirty.get(name);
    if (before && (before.row === null || before.isRenewed)) cell.isRenewed = true;
    cell.entries = before?.entries;
    addEntries(cell, changes);
    this.#dirty.set(name, cell);
    const partition = partitionName(cell.id, cell.partition);
    const cells = this.#dirtyByPartition.get(partition);
    if (cells) cells.set(name, cell);
    else this.#dirtyByPartition.set(partition, new Map([[name, cell]]));
    // The previous object must not reappear once this one is clean.
    this.#clean.delete(name);
  }

  /** Adds a row as the file has it, which stays while it is read. */
  addClean(cell: Cell): void {
    this.#clean.set(nameOf(cell.id, cell.scope, cell.key), cell);
  }

  /** Returns the rows of a partition that the file does not have yet. */
  dirtyIn(id: number, partition: number): ReadonlyMap<string, Cell> {
    return this.#dirtyByPartition.get(partitionName(id, partition)) ?? NONE;
  }

  /** The file has all rows of the partition now. */
  markClean(id: number, partition: number): void {
    for (const [name, cell] of this.dirtyIn(id, partition)) {
      this.#dirty.delete(name);
      cell.entries = undefined;
      if (cell.row !== null) this.#clean.set(name, cell);
    }
    this.#dirtyByPartition.delete(partitionName(id, partition));
  }

  /** Removes all rows of a space. */
  forget(id: number): void {
    for (const [name, cell] of this.#dirty) if (cell.id === id) this.#dirty.delete(name);
    this.#clean.deleteWhere((cell) => cell.id === id);
    for (let partition = 0; partition < PARTITIONS; partition++)
      this.#dirtyByPartition.delete(partitionName(id, partition));
  }

  clear(): void {
    for (const cells of [this.#dirty, this.#dirtyByPartition, this.#clean]) cells.clear();
  }
}
