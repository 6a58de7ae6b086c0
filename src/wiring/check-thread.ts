/** A thread that compares the rows of the embedded stores with their log. The service does not wait for it. */
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { platform } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { Skips } from '#projections/engine/fold.ts';
import { filesOf } from '#src/stores/sqlite/rows/read-model-file.ts';
import { openRows } from '#src/stores/sqlite/rows/rows-reader.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { rowCheckOf, type CheckTask, type CheckReport } from './check-rows.ts';

const report = (message: CheckReport): void => parentPort?.postMessage(message);

// Requests are more urgent. Elsewhere this would change the whole process.
if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const { directory, file, rows, skipped } = workerData as CheckTask;

const log = sqliteLogSource(directory);

using store = openRows(filesOf(join(directory, file)));

export const check = rowCheckOf({ log, skips: new Skips(skipped), storeOf: () => store });

report({ check: await check(rows, (position, count) => report({ position, rows: count })) });

await log.close();
