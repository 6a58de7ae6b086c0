/** Read models of a made log for the service to find, at the speed of memory. */
import { join } from 'node:path';
import { fill } from '#projections/engine/fill.ts';
import { openTarget } from '#projections/engine/target.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/adapters/sqlite/rows/read-model.ts';
import type { ProjectionStore, RowWrite, Space } from '#src/ports/read-model.ts';
import { PARTITIONS } from '#src/ports/read-model.ts';

type Last = Map<Space, Map<string, RowWrite>[]>;

/** A store in memory that knows what each row was written as last. */
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

/** In the order of the file's key, so that its B-tree grows at one end. */
const inOrder = (rows: Map<string, RowWrite>): RowWrite[] =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, write]) => write);

/**
 * As the service fills its SQLite store, a million events take minutes; here each row is written
 * once, after all is folded.
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
  const head = await fill({ log, store: memory, targets });
  const parked = targets.flatMap((target) => [...target.parked.values()])[0];
  if (parked) throw new Error(`parked: ${JSON.stringify(parked)}`);
  const store = sqliteStore({ file: join(directory, 'views.db'), log: log.id });
  for (const { space, projection } of targets) {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const writes = inOrder(last.get(space)?.[partition] ?? new Map());
      await store.commit(space, [{ partition, from: 0, to: head, writes }]);
    }
    last.delete(space);
    await store.goLive(projection.name, space);
  }
  await store.close();
  await log.close();
  return head;
};
