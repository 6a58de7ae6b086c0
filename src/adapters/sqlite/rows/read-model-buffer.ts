import { PARTITIONS, type Row } from '#src/ports/read-model.ts';

/** A row in its place; null: deleted, and the file does not know yet. */
export type Cell = {
  id: number;
  partition: number;
  scope: string;
  key: string;
  row: Row | null;
  sort: number | null;
  /** Deleted and made again since the file last heard: its place may be another. */
  renewed?: boolean;
};

/** Rows in memory in front of the file: those it does not have yet, and the hot ones. */
export type RowBuffer = {
  get(id: number, scope: string, key: string): Cell | undefined;
  /** A changed row; stays until it is clean. */
  put(cell: Cell): void;
  /** An unchanged row; stays while it is asked for. */
  keep(cell: Cell): void;
  /** What the file does not have yet of a partition. */
  dirty(id: number, partition: number): ReadonlyMap<string, Cell>;
  dirtyRows(): number;
  /** The file has all of the partition now. */
  clean(id: number, partition: number): void;
  forget(id: number): void;
  clear(): void;
};

const NONE: ReadonlyMap<string, Cell> = new Map();

const partitionName = (id: number, partition: number): number => id * PARTITIONS + partition;

const nameOf = (id: number, scope: string, key: string): string => `${id}\n${scope}\n${key}`;

/**
 * Clean rows are kept in two generations: what was asked for since the last change of generation
 * lives on, the rest goes at once. As good as an LRU here, and a hit costs no reordering.
 */
export const rowBuffer = (rowsMax: number): RowBuffer => {
  const changed = new Map<string, Cell>();
  const byPartition = new Map<number, Map<string, Cell>>();
  let young = new Map<string, Cell>();
  let old = new Map<string, Cell>();

  const keepAs = (name: string, cell: Cell): void => {
    young.set(name, cell);
    if (young.size * 2 < rowsMax) return;
    old = young;
    young = new Map();
  };

  return {
    get(id, scope, key) {
      const name = nameOf(id, scope, key);
      const found = changed.get(name) ?? young.get(name);
      if (found) return found;
      const aged = old.get(name);
      if (aged) keepAs(name, aged);
      return aged;
    },
    put(cell) {
      const name = nameOf(cell.id, cell.scope, cell.key);
      const before = changed.get(name);
      if (before && (before.row === null || before.renewed)) cell.renewed = true;
      changed.set(name, cell);
      const place = partitionName(cell.id, cell.partition);
      const beside = byPartition.get(place);
      if (beside) beside.set(name, cell);
      else byPartition.set(place, new Map([[name, cell]]));
      // An older object under the same name must not come back once this one is clean.
      young.delete(name);
      old.delete(name);
    },
    keep: (cell) => keepAs(nameOf(cell.id, cell.scope, cell.key), cell),
    dirty: (id, partition) => byPartition.get(partitionName(id, partition)) ?? NONE,
    dirtyRows: () => changed.size,
    clean(id, partition) {
      const place = partitionName(id, partition);
      for (const [name, cell] of byPartition.get(place) ?? NONE) {
        changed.delete(name);
        if (cell.row !== null) keepAs(name, cell);
      }
      byPartition.delete(place);
    },
    forget(id) {
      for (const cells of [changed, young, old])
        for (const [name, cell] of cells) if (cell.id === id) cells.delete(name);
      for (let partition = 0; partition < PARTITIONS; partition++)
        byPartition.delete(partitionName(id, partition));
    },
    clear() {
      for (const cells of [changed, byPartition, young, old]) cells.clear();
    },
  };
};
