import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import type { Projection } from '../../projection.ts';
import type { Engine } from '../engine.ts';
import { fill } from '../fill.ts';
import { observe } from '../lifecycle.ts';
import { findObsolete, listBuilds, nextSpace } from '../spaces.ts';
import { type FoldTarget, openTarget } from '../target.ts';

/** A build that must not go live; the live space stays live. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

export type RebuildOptions = {
  log: EventLog;
  store: ProjectionStore;
  /** The engine of this process, if there is one: it adopts the new spaces. */
  engine?: Pick<Engine, 'adopt' | 'reportFill'>;
  signal?: AbortSignal;
  batchEvents?: number;
};

export type RebuildResult = {
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
