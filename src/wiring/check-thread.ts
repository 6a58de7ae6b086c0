/** A thread that compares the rows of the embedded stores with their log. The service does not wait for it. */
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { platform } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import type { RowCheck } from '#projections/row-check/difference.ts';
import { UPCASTS } from '#src/stores/event-codec.ts';
import { openRows } from '#src/stores/sqlite/rows/rows-reader.ts';
import type { CheckedRows } from '#src/reading/projection-desk.ts';
import type { Position } from '#src/ports/event-log.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/log-open.ts';
import { rowCheckOf } from './check-rows.ts';

/** `file` in the directory has the rows. */
export type CheckTask = { directory: string; file: string; rows: CheckedRows };
export type CheckReport = { position: Position; rows: number } | { check: RowCheck };

const report = (message: CheckReport): void => parentPort?.postMessage(message);

// Requests are more urgent. Elsewhere this would change the whole process.
if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
const { directory, file, rows } = workerData as CheckTask;
const log = sqliteLogSource(directory, UPCASTS);
using store = openRows(join(directory, file));
const check = rowCheckOf({ log, storeOf: () => store });
report({ check: await check(rows, (position, count) => report({ position, rows: count })) });
await log.close();
