/** Writes rows into a file of read models from a thread that fills it; the store of the process reads them when it has ended. */
import { DatabaseSync } from 'node:sqlite';
import { ALL_PARTITIONS, type PartitionFill, type Space } from '#src/ports/read-model.ts';
import { noRows } from '#src/stores/row-digest.ts';
import { inTransaction } from '#src/stores/sqlite/open.ts';
import { partOf, Statements, urlOfCache } from './read-model-file.ts';

/** Another thread may write meanwhile, for as long as a partition takes. */
const BUSY_MS = 600_000;

/** Opens a file that a store has prepared with `beginBuild`. */
export const openBuild = (file: string) => {
  const db = new DatabaseSync(urlOfCache(file), { timeout: BUSY_MS });
  // A cache of the log, which the store has marked as open: no commit waits for the disk.
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096');
  const sql = new Statements(db);
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
      inTransaction(db, () => {
        sql.fill(part(space, partition), rows, digest);
        sql.moveCheckpoint(part(space, partition), { position, ...digest });
      });
    },
    [Symbol.dispose]: () => db.close(),
  };
};
