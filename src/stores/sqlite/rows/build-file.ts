/** Writes rows into a file of read models from a thread that fills it; the store of the process reads them when it has ended. */
import { DatabaseSync } from 'node:sqlite';
import { ALL_PARTITIONS, type PartitionFill, type Space } from '#src/ports/read-model.ts';
import { noRows } from '#src/stores/row-digest.ts';
import { inTransaction } from '#src/stores/sqlite/open.ts';
import { filledRows, partOf, Statements, urlOfCache } from './read-model-file.ts';

/** Lets one of several threads write at a time. SQLite's own waiting sleeps, and wakes late. */
class Turns {
  readonly #word: Int32Array;

  constructor(shared: SharedArrayBuffer) {
    this.#word = new Int32Array(shared);
  }

  take<T>(work: () => T): T {
    while (Atomics.compareExchange(this.#word, 0, 0, 1) !== 0) Atomics.wait(this.#word, 0, 1);
    try {
      return work();
    } finally {
      Atomics.store(this.#word, 0, 0);
      Atomics.notify(this.#word, 0, 1);
    }
  }
}

/** Opens a file that a store has prepared with `beginBuild`. `shared`: four bytes that all threads that write it share. */
export const openBuild = (file: string, shared: SharedArrayBuffer) => {
  const db = new DatabaseSync(urlOfCache(file));
  // A cache of the log, which the store has marked as open: no commit waits for the disk.
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096');
  const sql = new Statements(db);
  const turns = new Turns(shared);
  const ids = new Map(sql.allSpaces().map(({ id, space }) => [space, id]));
  const part = (space: Space, partition: number): number => partOf(ids.get(space) ?? -1, partition);
  return {
    /** The partitions that no fill has completed. */
    emptyPartitions: (space: Space): ReadonlySet<number> =>
      new Set(
        ALL_PARTITIONS.filter((partition) => !sql.checkpoint(part(space, partition))?.position),
      ),
    /** Writes a partition with its checkpoint in one transaction. */
    fillPartition(space: Space, partition: number, { position, rows }: PartitionFill): void {
      const digest = noRows();
      const filled = filledRows(rows, digest);
      const write = (): void => {
        sql.fill(part(space, partition), filled);
        sql.moveCheckpoint(part(space, partition), { position, ...digest });
      };
      turns.take(() => inTransaction(db, write));
    },
    [Symbol.dispose]: () => db.close(),
  };
};
