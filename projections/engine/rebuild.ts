import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';
import { fill } from './fill.ts';
import type { Engine } from './run.ts';
import { builds, dropOthers, nextSpace } from './spaces.ts';
import { openTarget, type Parked, type Target } from './target.ts';

/** A build that must not go live: the spaces that answer go on answering. */
export class RebuildRefused extends Error {
  override readonly name = 'RebuildRefused';
}

export type RebuildOptions = {
  log: EventLog;
  store: ProjectionStore;
  /** The engine that follows the log in this process, if one does: it takes the new spaces over. */
  engine?: Pick<Engine, 'adopt' | 'progress'>;
  onProgress?(at: { position: Position; head: Position }): void;
  signal?: AbortSignal;
  batchEvents?: number;
};

export type Rebuilt = { projection: string; space: Space; previous: Space | null; rows: number };

/**
 * Fills the next build of each projection beside the live one, in one reading of the log, and
 * switches when all is done. Stopped half-way it leaves the live spaces alone; the next run drops
 * what it left.
 */
export const rebuildAll = async (
  options: RebuildOptions & { projections: readonly Projection[] },
): Promise<Rebuilt[]> => {
  const { store, projections } = options;
  const targets: Target[] = [];
  for (const projection of projections) {
    const { live, all } = await store.spaces(projection.name);
    const space = nextSpace(all, projection);
    for (const left of builds(all, projection))
      if (isNewer(all, projection, left, live)) await store.drop(left);
    targets.push(await openTarget(store, projection, space));
  }
  return switchTo(options, targets);
};

export const rebuild = async ({
  projection,
  ...options
}: RebuildOptions & { projection: Projection }): Promise<Rebuilt | undefined> =>
  (await rebuildAll({ ...options, projections: [projection] }))[0];

/** Back to the space before the live one, once it has caught up. */
export const rollback = async ({
  projection,
  ...options
}: RebuildOptions & { projection: Projection }): Promise<Rebuilt | undefined> => {
  const { live, all } = await options.store.spaces(projection.name);
  const known = builds(all, projection);
  const previous = live === null ? undefined : known[known.indexOf(live) - 1];
  if (previous === undefined)
    throw new RebuildRefused(`${projection.name} has no earlier space to go back to`);
  const target = await openTarget(options.store, projection, previous);
  return (await switchTo(options, [target]))[0];
};

const switchTo = async (options: RebuildOptions, targets: Target[]): Promise<Rebuilt[]> => {
  const { log, store, engine, onProgress } = options;
  const head = (await log.head()).position;
  const report = (position: Position): void => {
    for (const { projection, space } of targets)
      engine?.progress(projection.name, { space, position, head });
    onProgress?.({ position, head });
  };
  try {
    await fill({ ...options, targets, onProgress: report });
    const rebuilt: Rebuilt[] = [];
    for (const target of targets) rebuilt.push(await examine(store, target));
    for (const target of targets) {
      if (engine) await engine.adopt(target);
      else await store.goLive(target.projection.name, target.space);
    }
    for (const [i, { projection, space }] of targets.entries())
      await dropOthers(store, projection, [space, rebuilt[i]?.previous ?? null]);
    await store.flush();
    return rebuilt;
  } finally {
    for (const { projection } of targets) engine?.progress(projection.name, undefined);
  }
};

/** Throws when the build cannot be right: it parked where the live one did not, or has no rows. */
const examine = async (store: ProjectionStore, target: Target): Promise<Rebuilt> => {
  const { projection, space, parked } = target;
  const { live } = await store.spaces(projection.name);
  const reached = live === null ? [] : await store.checkpoints(live);
  const worse = [...parked.values()].find(
    ({ partition, position }) => (reached[partition] ?? 0) >= position,
  );
  if (worse) throw new RebuildRefused(`${space} stopped before ${told(worse)}`);
  const rows = await store.count(space);
  if (rows === 0 && live !== null && (await store.count(live)) > 0)
    throw new RebuildRefused(`${space} is empty and ${live} is not`);
  return { projection: projection.name, space, previous: live, rows };
};

const told = ({ partition, position, reason }: Parked): string =>
  `position ${position} in partition ${partition}: ${reason}`;

const isNewer = (
  all: readonly Space[],
  projection: Projection,
  space: Space,
  live: Space | null,
): boolean => {
  const known = builds(all, projection);
  return live !== null && known.indexOf(space) > known.indexOf(live);
};
