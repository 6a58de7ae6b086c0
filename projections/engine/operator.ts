/** What operators do with read models: rebuild and verify. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Projection } from '#projections/projection.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { ALL_PARTITIONS, type ProjectionStore, type Space } from '#src/ports/read-model.ts';
import { type Engine, observe } from './engine.ts';
import { FillControl } from './fill-control.ts';
import { fill, eventsUpTo, type FillOptions } from './fill.ts';
import { compareWithLog, differenceText } from './row-check.ts';
import type { Skips } from './fold.ts';
import {
  findObsolete,
  isOfVersion,
  listBuilds,
  lowestPosition,
  nextSpace,
  type FoldTarget,
  openTarget,
} from './target.ts';

/** A store, those of its read models that are rebuilt, and the engine of this process, which adopts the new spaces. */
type RebuiltStore = {
  store: ProjectionStore;
  projections: readonly Projection[];
  engine?: Pick<Engine, 'adopt' | 'reportFill'>;
};

type RebuildOptions = {
  log: Pick<EventLog, 'head' | 'readFold'>;
  stores: readonly RebuiltStore[];
  /** Also receives what is read, before the next batch is. */
  onBatch?: FillOptions['onBatch'] | undefined;
  inThreads?: FillOptions['inThreads'];
  signal?: AbortSignal;
  batchEvents?: number;
  /** Lets operators pause and slow the fill. */
  control?: FillControl | undefined;
};

type RebuildResult = {
  projection: string;
  space: Space;
  previous: Space | null;
  rows: number;
  /** Why the new space was dropped, and the live one stayed live. */
  refusal?: string;
};

type Build = { target: FoldTarget; engine: RebuiltStore['engine'] };

/**
 * Fills a new build of each projection beside the live one, in one reading of the log, and switches to each one that is
 * right when all are complete. An aborted rebuild leaves the live spaces unchanged; the next rebuild continues its
 * incomplete spaces from what they have committed.
 */
export const rebuildAll = async (options: RebuildOptions): Promise<RebuildResult[]> => {
  const { control = new FillControl() } = options;
  const head = (await options.log.head()).position;
  const builds: Build[] = [];
  for (const { store, projections, engine } of options.stores)
    for (const projection of projections)
      builds.push({ target: await openBuild(store, projection, head), engine });
  const targets = builds.map(({ target }) => target);
  const begins = targets.map((target) => lowestPosition([target]));
  const onProgress = (read: Position): void => {
    for (const [i, { target, engine }] of builds.entries()) {
      const position = Math.max(read, begins[i] ?? 0);
      engine?.reportFill(target.projection.name, { space: target.space, position, head });
    }
  };
  try {
    await control.run(async () => {
      onProgress(0);
      await readAgain(options, Math.min(...begins));
      await fill({ ...options, control, targets, onProgress });
    });
    for (const target of targets) await observe(target, { is: 'rebuilt' });
    const results = await Promise.all(builds.map(switchTo));
    for (const { store } of options.stores) await store.flush();
    return results;
  } finally {
    for (const { target, engine } of builds) engine?.reportFill(target.projection.name, undefined);
  }
};

/** Returns the build to fill: the newest one that an earlier rebuild left incomplete, otherwise a new one. */
const openBuild = async (
  store: ProjectionStore,
  projection: Projection,
  head: Position,
): Promise<FoldTarget> => {
  const { live, all } = await store.spaces(projection.name);
  const builds = listBuilds(all, projection);
  // Without a live build of this version the engine fills the newest one itself.
  const incomplete = isOfVersion(live, projection) ? builds.slice(builds.indexOf(live) + 1) : [];
  let left: FoldTarget | undefined;
  for (const space of incomplete) {
    const target = await openTarget(store, { projection, space });
    const isOfLog = Math.max(...target.checkpoints) <= head;
    if (isOfLog && space === incomplete.at(-1)) left = target;
    else await store.drop(space);
  }
  return left ?? openTarget(store, { projection, space: nextSpace(all, projection) });
};

const BATCH_EVENTS = 4_000;

/** Reads what the builds have already, for the other receiver of what is read. */
const readAgain = async (
  { log, onBatch, signal, control }: RebuildOptions,
  upTo: Position,
): Promise<void> => {
  if (!onBatch) return;
  for (let after = 0; after < upTo; ) {
    signal?.throwIfAborted();
    const events = await log.readFold({ after, limit: BATCH_EVENTS });
    after = Math.min(events.at(-1)?.position ?? upTo, upTo);
    await onBatch(eventsUpTo(events, upTo), after);
    await control?.allow(events.length, signal);
  }
};

/** No process follows the build yet, so no position is pending. */
const FILLED = { is: 'filled', upTo: 0, isWhole: true, returnsAt: Infinity } as const;

/** Makes a filled build the live one, or drops it. */
const switchTo = async ({ target, engine }: Build): Promise<RebuildResult> => {
  const { projection, store, space } = target;
  const { live: previous } = await store.spaces(projection.name);
  const rows = await store.count(space);
  const result = { projection: projection.name, space, previous, rows };
  const refusal = await findRefusal(target, { live: previous, rows });
  if (refusal !== undefined) {
    await observe(target, { is: 'refused' });
    return { ...result, refusal: `${space} ${refusal}` };
  }
  if (engine) await engine.adopt(target);
  else await observe(target, FILLED);
  for (const other of await findObsolete(store, projection, [space, previous]))
    await store.drop(other);
  return result;
};

/** Returns why a build must not go live: it parked before the live one's checkpoint, or has no rows. */
export const findRefusal = async (
  { store, parked }: FoldTarget,
  { live, rows }: { live: Space | null; rows: number },
): Promise<string | undefined> => {
  if (live === null) return undefined;
  const checkpoints = await store.checkpoints(live);
  for (const { partition, position, reason } of parked.values())
    if ((checkpoints[partition] ?? 0) >= position)
      return `stopped before position ${position} in partition ${partition}: ${reason}`;
  return rows === 0 && (await store.count(live)) > 0 ? `is empty and ${live} is not` : undefined;
};

type RowMismatch = {
  projection: string;
  partition: number;
  /** Both sides are folded up to here. */
  checkpoint: Position;
  /** The row that differs, for the first of them. */
  detail: string;
};

export type ReadModelVerification = {
  partitions: number;
  rows: number;
  mismatches: RowMismatch[];
};

type VerifyOptions = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  store: ProjectionStore;
  projections: readonly Projection[];
  onProgress?(position: Position): void;
};

/**
 * Reads each record of the live rows, and compares them with a fold of the log while the engine may continue. Throws
 * ReadModelRebuilding if a record is damaged.
 */
export const verify = async (options: VerifyOptions): Promise<ReadModelVerification> => {
  const { log, store, projections, onProgress } = options;
  for (const { name } of projections) {
    const { live } = await store.spaces(name);
    for (const partition of live === null ? [] : ALL_PARTITIONS) {
      await store.check?.(live ?? '', partition);
      await turn();
    }
  }
  const found = await compareWithLog({
    log,
    storeOf: () => store,
    projections,
    partitions: ALL_PARTITIONS,
    onProgress: (position) => onProgress?.(position),
  });
  const { partitions, rows, differing, difference } = found;
  const mismatches = differing.map(({ readModel, partition, checkpoint }, index) => ({
    projection: readModel,
    partition,
    checkpoint,
    detail: index === 0 && difference ? differenceText(difference) : 'its rows differ',
  }));
  return { partitions, rows, mismatches };
};

/** Compares the catalog, which has one checkpoint, with a fresh fold into an empty catalog. */
export const verifyCatalog = async ({
  log,
  catalog,
  skips,
  fresh,
  onProgress,
}: Pick<VerifyOptions, 'log' | 'onProgress'> & {
  catalog: Catalog;
  skips: Skips;
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
    fresh.apply(skips.without('catalog', eventsUpTo(events, checkpoint)), after);
    onProgress?.(after);
    await turn();
  }
  const again = fresh.digest();
  const detail = `${live.rows} products live, ${again.rows} in the log, and digests differ`;
  const mismatch = { projection: 'catalog', partition: 0, checkpoint, detail };
  const mismatches = live.digest === again.digest ? [] : [mismatch];
  return { partitions: 1, rows: live.rows, mismatches };
};
