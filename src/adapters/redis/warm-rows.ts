import type { Position } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';

/** The rows of one partition as of `checkpoint`, in two generations by last use. */
type Generations = { checkpoint: Position; young: Map<string, Row>; old: Map<string, Row> };

/**
 * The rows that this process committed last, so that folding the next event of a busy row needs no
 * round trip. A row is handed out once and returns with the commit that Redis confirmed. A partition's
 * rows are valid as long as its checkpoint in Redis is the one that this process set: another process
 * that changes them moves the checkpoint. Evicts like an LRU cache, at less cost. `partition` is a name
 * that includes the space.
 */
export class WarmRows {
  readonly #rowsMax: number;
  readonly #partitions = new Map<string, Generations>();
  /** Rows in the young generation of all partitions. */
  #young = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  /** Removes and returns a row. */
  take(partition: string, field: string): Row | undefined {
    const rows = this.#partitions.get(partition);
    const row = rows?.young.get(field) ?? rows?.old.get(field);
    if (!rows || !row) return undefined;
    if (rows.young.delete(field)) this.#young -= 1;
    else rows.old.delete(field);
    return row;
  }

  /** The last known checkpoint of the partition. */
  checkpoint(partition: string): Position | undefined {
    return this.#partitions.get(partition)?.checkpoint;
  }

  /** Records a confirmed commit. Returns the function that stores one row of it. */
  committed(partition: string, from: Position, to: Position): (field: string, row: Row) => void {
    const current = this.#partitions.get(partition);
    const rows = current?.checkpoint === from ? current : this.#begin(partition, to);
    rows.checkpoint = to;
    return (field, row) => {
      rows.old.delete(field);
      const before = rows.young.size;
      rows.young.set(field, row);
      this.#young += rows.young.size - before;
      if (this.#young * 2 >= this.#rowsMax) this.#age();
    };
  }

  /** Drops the partition's rows if Redis has another checkpoint. */
  setCheckpoint(partition: string, checkpoint: Position): void {
    if (this.checkpoint(partition) !== checkpoint) this.#begin(partition, checkpoint);
  }

  forget(partition: string): void {
    this.#young -= this.#partitions.get(partition)?.young.size ?? 0;
    this.#partitions.delete(partition);
  }

  #begin(partition: string, checkpoint: Position): Generations {
    this.forget(partition);
    const rows = { checkpoint, young: new Map(), old: new Map() };
    this.#partitions.set(partition, rows);
    return rows;
  }

  #age(): void {
    this.#young = 0;
    for (const rows of this.#partitions.values()) {
      rows.old = rows.young;
      rows.young = new Map();
    }
  }
}
