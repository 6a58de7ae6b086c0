import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type ProjectionStore, type Space } from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';
import { eventsUpTo, fill } from '../fill.ts';
import { type FoldTarget, openTarget } from '../target.ts';

type Digest = { rows: number; digest: string };

export type RowMismatch = {
  projection: string;
  partition: number;
  /** Both sides are folded up to here. */
  checkpoint: Position;
  live: Digest;
  fresh: Digest;
};

export type ReadModelVerification = {
  partitions: number;
  rows: number;
  mismatches: RowMismatch[];
};

export type VerifyOptions = {
  log: EventLog;
  store: ProjectionStore;
  projections: readonly Projection[];
  /** An empty store for the fresh fold; the caller discards it. */
  fresh: ProjectionStore;
  onProgress?(position: Position): void;
};

type Snapshot = { target: FoldTarget; live: (Digest & { checkpoint: Position })[] };

/**
 * Compares the live rows with a fresh fold of the log. Reads each record, then checkpoint and digest of each partition while
 * the engine may continue, and folds the log up to exactly these checkpoints. Throws ReadModelRebuilding if a record is
 * damaged.
 */
export const verify = async (options: VerifyOptions): Promise<ReadModelVerification> => {
  const { log, store, fresh, projections, onProgress } = options;
  const snapshots: Snapshot[] = [];
  for (const projection of projections) {
    const { live } = await store.spaces(projection.name);
    if (live !== null) snapshots.push(await takeSnapshot(options, projection, live));
  }
  const targets = snapshots.map(({ target }) => target);
  const upTo = Math.max(0, ...targets.flatMap(({ until = [] }) => until));
  await fill({ log, store: fresh, targets, upTo, ...(onProgress && { onProgress }) });
  const result: ReadModelVerification = { partitions: 0, rows: 0, mismatches: [] };
  for (const { target, live } of snapshots)
    for (const [partition, { checkpoint, rows, digest }] of live.entries()) {
      const again = await fresh.digest(target.space, partition);
      result.partitions += 1;
      result.rows += rows;
      if (digest !== again.digest)
        result.mismatches.push({
          projection: target.projection.name,
          partition,
          checkpoint,
          live: { rows, digest },
          fresh: { rows: again.rows, digest: again.digest },
        });
    }
  return result;
};

const takeSnapshot = async (
  { store, fresh }: VerifyOptions,
  projection: Projection,
  space: Space,
): Promise<Snapshot> => {
  const live: Snapshot['live'] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await store.check?.(space, partition);
    live.push(await store.digest(space, partition));
    await turn();
  }
  const until = live.map(({ checkpoint }) => checkpoint);
  return {
    live,
    target: { ...(await openTarget(fresh, { projection, space })), until },
  };
};

const BATCH_EVENTS = 4_000;

/** Compares the catalog, which has one checkpoint, with a fresh fold into an empty catalog. */
export const verifyCatalog = async ({
  log,
  catalog,
  fresh,
  onProgress,
}: Pick<VerifyOptions, 'log' | 'onProgress'> & {
  catalog: Catalog;
  /** Empty; the caller discards it. */
  fresh: Catalog;
}): Promise<ReadModelVerification> => {
  const checkpoint = catalog.checkpoint();
  const live = catalog.digest();
  let after = 0;
  while (after < checkpoint) {
    const events = await log.readFold({ after, limit: BATCH_EVENTS });
    const last = events.at(-1);
    if (!last) break;
    after = Math.min(last.position, checkpoint);
    fresh.apply(eventsUpTo(events, checkpoint), after);
    onProgress?.(after);
    await turn();
  }
  const again = fresh.digest();
  const mismatch = { projection: 'catalog', partition: 0, checkpoint, live, fresh: again };
  const mismatches = live.digest === again.digest ? [] : [mismatch];
  return { partitions: 1, rows: live.rows, mismatches };
};
