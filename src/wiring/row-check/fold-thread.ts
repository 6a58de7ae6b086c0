/** A thread that folds an embedded log beside the service, which does not wait for it. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  digestFold,
  type FoldedDigests,
  type FoldOrder,
} from '#projections/row-check/fold-digests.ts';
import { UPCASTS } from '#src/adapters/event-codec.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { sqliteLogSource } from '#src/adapters/sqlite/log/log-source.ts';
import type { Position } from '#src/ports/event-log.ts';

export type FoldTask = { directory: string; order: FoldOrder };
export type FoldReport = { position: Position } | { digests: FoldedDigests };

const report = (message: FoldReport): void => parentPort?.postMessage(message);

const { directory, order } = workerData as FoldTask;
const log = sqliteLogSource(directory, UPCASTS);
const fold = digestFold(log, memoryStore);
report({ digests: await fold(order, (position) => report({ position })) });
await log.close();
