import type { Position } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';
import { LruCache } from '#src/stores/lru-cache.ts';

/** What is known of one partition. The number names its rows in the cache; a new one drops them. */
type Known = { checkpoint: Position; number: number };

/**
 * The rows that this process committed last, so that folding the next event of a busy row needs no
 * round trip. A row is handed out once and returns with the commit that Redis confirmed. A partition's
 * rows are valid as long as its checkpoint in Redis is the one that this process set: another process
 * that changes them moves the checkpoint. `partition` is a name that includes the space.
 */
export class WarmRows {
  readonly #rows: LruCache<string, Row>;
  readonly #partitions = new Map<string, Known>();
  #numbers = 0;

  constructor(rowsMax: number) {
    this.#rows = new LruCache(rowsMax);
  }

  /** Removes and returns a row. */
  take(partition: string, field: string): Row | undefined {
    const key = `${this.#partitions.get(partition)?.number}/${field}`;
    const row = this.#rows.get(key);
    this.#rows.delete(key);
    return row;
  }

  /** The last known checkpoint of the partition. */
  checkpoint(partition: string): Position | undefined {
    return this.#partitions.get(partition)?.checkpoint;
  }

  /** Records a confirmed commit. Returns the function that stores one row of it. */
  committed(partition: string, from: Position, to: Position): (field: string, row: Row) => void {
    const current = this.#partitions.get(partition);
    const known = current?.checkpoint === from ? current : this.#begin(partition);
    known.checkpoint = to;
    return (field, row) => this.#rows.set(`${known.number}/${field}`, row, 1);
  }

  /** Drops the partition's rows if Redis has another checkpoint. */
  setCheckpoint(partition: string, checkpoint: Position): void {
    if (this.checkpoint(partition) !== checkpoint) this.#begin(partition).checkpoint = checkpoint;
  }

  forget(partition: string): void {
    this.#partitions.delete(partition);
  }

  #begin(partition: string): Known {
    const known = { checkpoint: 0, number: this.#numbers++ };
    this.#partitions.set(partition, known);
    return known;
  }
}
