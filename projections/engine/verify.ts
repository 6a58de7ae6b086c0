import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type ProjectionStore, type Space } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import { fill } from './fill.ts';
import { openTarget, type Target } from './target.ts';

type Found = { rows: number; digest: string };

export type Mismatch = {
  projection: string;
  partition: number;
  /** Up to where both were folded. */
  checkpoint: Position;
  live: Found;
  fresh: Found;
};

export type Verification = { partitions: number; rows: number; mismatches: Mismatch[] };

export type VerifyOptions = {
  log: EventLog;
  store: ProjectionStore;
  projections: readonly Projection[];
  /** An empty store for the fresh fold, thrown away after. */
  fresh: ProjectionStore;
  onProgress?(at: { position: Position; head: Position }): void;
  signal?: AbortSignal;
};

type Taken = { target: Target; live: (Found & { checkpoint: Position })[] };

/**
 * Are the rows that answer what the log says? Takes checkpoint and digest of each partition, while
 * the engine may go on, and folds the log afresh up to exactly these places.
 */
export const verify = async (options: VerifyOptions): Promise<Verification> => {
  const { log, store, fresh, projections, onProgress, signal } = options;
  const taken: Taken[] = [];
  for (const projection of projections) {
    const { live } = await store.spaces(projection.name);
    if (live !== null) taken.push(await take(options, projection, live));
  }
  const head = Math.max(
    0,
    ...taken.flatMap(({ live }) => live.map(({ checkpoint }) => checkpoint)),
  );
  const targets = taken.map(({ target }) => target);
  await fill({
    log,
    store: fresh,
    targets,
    upTo: head,
    ...(signal && { signal }),
    ...(onProgress && { onProgress: (position) => onProgress({ position, head }) }),
  });
  const result: Verification = { partitions: 0, rows: 0, mismatches: [] };
  for (const { target, live } of taken)
    for (const [partition, was] of live.entries()) {
      const now = await fresh.digest(target.space, partition);
      result.partitions += 1;
      result.rows += was.rows;
      if (was.digest !== now.digest)
        result.mismatches.push({
          projection: target.projection.name,
          partition,
          checkpoint: was.checkpoint,
          live: { rows: was.rows, digest: was.digest },
          fresh: { rows: now.rows, digest: now.digest },
        });
    }
  return result;
};

const take = async (
  { store, fresh }: VerifyOptions,
  projection: Projection,
  space: Space,
): Promise<Taken> => {
  const live: Taken['live'] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    live.push(await store.digest(space, partition));
    await turn();
  }
  const until = live.map(({ checkpoint }) => checkpoint);
  const target = { ...(await openTarget(fresh, projection, space)), until };
  return { target, live };
};

const BATCH_EVENTS = 4_000;

/** The same for the catalog, which is one index with one checkpoint. */
export const verifyCatalog = async ({
  log,
  catalog,
  fresh,
  onProgress,
}: {
  log: EventLog;
  catalog: Catalog;
  /** An empty one, thrown away after. */
  fresh: Catalog;
  onProgress?(at: { position: Position; head: Position }): void;
}): Promise<Verification> => {
  const checkpoint = catalog.checkpoint();
  const live = catalog.digest();
  let after = 0;
  while (after < checkpoint) {
    const events = await log.readFold({ after, limit: BATCH_EVENTS });
    const last = events.at(-1);
    if (!last) break;
    after = Math.min(last.position, checkpoint);
    fresh.apply(
      events.filter(({ position }) => position <= checkpoint),
      after,
    );
    onProgress?.({ position: after, head: checkpoint });
    await turn();
  }
  const again = fresh.digest();
  const mismatch = { projection: 'catalog', partition: 0, checkpoint, live, fresh: again };
  const mismatches = live.digest === again.digest ? [] : [mismatch];
  return { partitions: 1, rows: live.rows, mismatches };
};
