/** Writes the read models of a generated log into the files of the service. */
import { join } from 'node:path';
import { fill } from '#projections/engine/fill.ts';
import { openTarget } from '#projections/engine/target.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/stores/memory/read-model.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import {
  type ProjectionStore,
  type RowWrite,
  type Space,
  PARTITIONS,
} from '#src/ports/read-model.ts';

type Last = Map<Space, Map<string, RowWrite>[]>;

/** A store in memory that records the last write of each row. */
const remembering = (last: Last): ProjectionStore => {
  const store = memoryStore();
  return {
    ...store,
    async commit(space, batches) {
      const partitions = last.get(space) ?? Array.from({ length: PARTITIONS }, () => new Map());
      last.set(space, partitions);
      for (const { partition, writes } of batches)
        for (const write of writes)
          partitions[partition]?.set(`${write.scope} ${write.key}`, write);
      return store.commit(space, batches);
    },
  };
};

/** Sorts by the primary key, so that the B-tree grows at one end. */
const inOrder = (rows: Map<string, RowWrite>): RowWrite[] =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, write]) => write);

/**
 * Writes each row once, after all events are folded. The service would need minutes to fill its
 * SQLite store from a million events.
 */
export const makeViews = async (directory: string): Promise<number> => {
  const log = sqliteEventLog({ directory });
  const last: Last = new Map();
  const memory = remembering(last);
  const targets = await Promise.all(
    PROJECTIONS.map((one) =>
      openTarget(memory, { projection: one, space: `${one.name}@${one.version}.1` }),
    ),
  );
  const head = await fill({ log, targets });
  const parked = targets.flatMap((target) => [...target.parked.values()])[0];
  if (parked) throw new Error(`parked: ${JSON.stringify(parked)}`);
  const store = sqliteStore({ file: join(directory, 'views.db'), log: log.id });
  for (const { space, projection } of targets) {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const writes = inOrder(last.get(space)?.[partition] ?? new Map()).map((write): RowWrite => {
        const added = write.row ? (projection.lists?.(write.row) ?? []) : [];
        return { ...write, added, removed: [] };
      });
      await store.commit(space, [{ partition, from: 0, to: head, writes }]);
    }
    last.delete(space);
    await store.goLive(space);
  }
  await store.close();
  await log.close();
  return head;
};
