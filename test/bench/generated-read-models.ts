/** Writes the read models of a generated log into the files of the service. */
import { join } from 'node:path';
import { rebuildAll } from '#projections/engine/operator.ts';
import { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { fillsInThreads } from '#src/wiring/fill-threads.ts';

export const makeViews = async (directory: string): Promise<void> => {
  const log = sqliteEventLog({ directory });
  const store = sqliteStore({ file: join(directory, 'views.db'), log: log.id });
  const skips = new Skips();
  const inThreads = fillsInThreads({ directory, store, skips, isServing: () => false });
  await rebuildAll({ log, stores: [{ store, projections: PROJECTIONS }], inThreads });
  await store.close();
  await log.close();
};
