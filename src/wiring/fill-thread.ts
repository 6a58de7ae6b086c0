/** A thread that fills partitions of new spaces from the embedded log. The service does not wait for it. */
import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { FillControl, type FillLimits } from '#projections/engine/fill-control.ts';
import { fillPartitions, type FoldedSpace } from '#projections/engine/folded-rows.ts';
import { Skips } from '#projections/engine/fold.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { readModelOf, type Space } from '#src/ports/read-model.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { openBuild } from '#src/stores/sqlite/rows/read-model-file.ts';
import type { FillReport, FillTask } from './fill-threads.ts';

const report = (message: FillReport): void => parentPort?.postMessage(message);

// Requests are more urgent. Elsewhere this would change the whole process.
if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const { directory, file, spaces, skipped, partitions, upTo, rowsMax, limits, turns } =
  workerData as FillTask;

const control = new FillControl(limits);

parentPort?.on('message', (changed: FillLimits) => control.set(changed));

const log = sqliteLogSource(directory);

using build = openBuild(file, turns);

const parked: Extract<FillReport, { parked: unknown }>['parked'][number][] = [];

const projections = new Skips(skipped).over(PROJECTIONS);

const foldOf = (space: Space): FoldedSpace => {
  const projection = projections.find(({ name }) => name === readModelOf(space));
  if (!projection) throw new Error(`there is no read model for ${space}`);
  return { projection, space, partitions: build.emptyPartitions(space) };
};

await fillPartitions({
  log,
  spaces: spaces.map(foldOf),
  partitions,
  upTo,
  rowsMax,
  onProgress: (share) => report({ share }),
  onPage: (events) => control.allow(events.length),
  leavesOutLarge: true,
  async write({ space, partition, ...filled }) {
    if (filled.parked) parked.push({ space, parked: filled.parked });
    build.fillPartition(space, partition, filled);
  },
});

report({ parked });

parentPort?.close();

await log.close();
