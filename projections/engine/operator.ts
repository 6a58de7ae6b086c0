/** What operators do with read models: rebuild and verify. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Projection } from '#projections/projection.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { type ProjectionStore, type Space, PARTITIONS } from '#src/ports/read-model.ts';
import { type Engine, observe } from './engine.ts';
import { fill, eventsUpTo } from './fill.ts';
import { findObsolete, listBuilds, nextSpace, type FoldTarget, openTarget } from './target.ts';

/** A build that must not go live; the live space stays live. */
class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

type RebuildOptions = {
  log: EventLog;
  store: ProjectionStore;
  /** The engine of this process, if there is one: it adopts the new spaces. */
  engine?: Pick<Engine, 'adopt' | 'reportFill'>;
  signal?: AbortSignal;
  batchEvents?: number;
};

type RebuildResult = {
  projection: string;
  space: Space;
  previous: Space | null;
  rows: number;
};

/**
 * Fills a new build of each projection beside the live one, in one reading of the log, and switches
 * when all are complete. An aborted rebuild leaves the live spaces unchanged; the next rebuild drops
 * its incomplete spaces.
 */
export const rebuildAll = async (
  options: RebuildOptions & { projections: readonly Projection[] },
): Promise<RebuildResult[]> => {
  const { store, projections } = options;
  const targets: FoldTarget[] = [];
  for (const projection of projections) {
    const { live, all } = await store.spaces(projection.name);
    const builds = listBuilds(all, projection);
    const incomplete = live === null ? [] : builds.slice(builds.indexOf(live) + 1);
    for (const space of incomplete) await store.drop(space);
    targets.push(await openTarget(store, { projection, space: nextSpace(all, projection) }));
  }
  return fillAndSwitch(options, targets);
};

export const rebuild = async ({
  projection,
  ...options
}: RebuildOptions & { projection: Projection }): Promise<RebuildResult | undefined> =>
  (await rebuildAll({ ...options, projections: [projection] }))[0];

/** No process follows the build yet, so no position is pending. */
const FILLED = { is: 'filled', upTo: 0, isWhole: true, returnsAt: Infinity } as const;

const fillAndSwitch = async (
  options: RebuildOptions,
  targets: readonly FoldTarget[],
): Promise<RebuildResult[]> => {
  const { log, store, engine } = options;
  const head = (await log.head()).position;
  const onProgress = (position: Position): void => {
    for (const { projection, space } of targets)
      engine?.reportFill(projection.name, { space, position, head });
  };
  try {
    await fill({ ...options, targets, onProgress });
    const results: RebuildResult[] = [];
    for (const target of targets) await observe(store, target, { is: 'rebuilt' });
    for (const target of targets) results.push(await checkBuild(store, target));
    for (const target of targets) {
      if (engine) await engine.adopt(target);
      else await observe(store, target, FILLED);
    }
    for (const [i, { projection, space }] of targets.entries()) {
      const retained = [space, results[i]?.previous ?? null];
      for (const other of await findObsolete(store, projection, retained)) await store.drop(other);
    }
    await store.flush();
    return results;
  } finally {
    for (const { projection } of targets) engine?.reportFill(projection.name, undefined);
  }
};

/** Throws RebuildRefused, and drops the build, if it parked before the live one's checkpoint, or has no rows. */
const checkBuild = async (store: ProjectionStore, target: FoldTarget): Promise<RebuildResult> => {
  const { projection, space, parked } = target;
  const { live } = await store.spaces(projection.name);
  const refuse = async (reason: string): Promise<never> => {
    await observe(store, target, { is: 'refused' });
    throw new RebuildRefused(`${space} ${reason}`);
  };
  const checkpoints = live === null ? [] : await store.checkpoints(live);
  for (const { partition, position, reason } of parked.values())
    if ((checkpoints[partition] ?? 0) >= position)
      await refuse(`stopped before position ${position} in partition ${partition}: ${reason}`);
  const rows = await store.count(space);
  if (rows === 0 && live !== null && (await store.count(live)) > 0)
    await refuse(`is empty and ${live} is not`);
  return { projection: projection.name, space, previous: live, rows };
};

type Digest = { rows: number; digest: string };

type RowMismatch = {
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

type VerifyOptions = {
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
