import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import type { CatalogFollower } from './catalog-follower.ts';
import type { Parked, Target } from './target.ts';

export type Progress = { space: Space; position: Position; head: Position };

export type ProjectionStatus = {
  name: string;
  version: number;
  /** What answers; null while the first build is not done. */
  space: Space | null;
  /** Everything up to here is folded, in every partition. */
  checkpoint: Position;
  /** Head of the log minus checkpoint: events where the log numbers them, bytes in EventStoreDB. */
  lagEvents: number;
  parked: Parked[];
  rebuilding?: Progress;
};

/** A partition that is not parked stands where the loop stands, whatever the store has of it. */
export const folded = ({ checkpoints, parked }: Target, position: Position): Position => {
  let found = position;
  for (const { partition } of parked.values()) found = Math.min(found, checkpoints[partition] ?? 0);
  return found;
};

export const targetStatus = (
  target: Target,
  at: { position: Position; head: Position },
  progress: Progress | undefined,
): ProjectionStatus => {
  const { projection, space, parked } = target;
  const checkpoint = folded(target, at.position);
  return {
    name: projection.name,
    version: projection.version,
    space,
    checkpoint,
    lagEvents: Math.max(0, at.head - checkpoint),
    parked: [...parked.values()],
    ...(progress && { rebuilding: progress }),
  };
};

export const catalogStatus = (
  catalog: CatalogFollower,
  at: { position: Position; head: Position },
): ProjectionStatus => {
  const parked = catalog.parked();
  const checkpoint = parked ? catalog.checkpoint() : at.position;
  return {
    name: 'catalog',
    version: 1,
    space: null,
    checkpoint,
    lagEvents: Math.max(0, at.head - checkpoint),
    parked: parked ? [parked] : [],
  };
};
